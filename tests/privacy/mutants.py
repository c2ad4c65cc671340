"""Rules that keep units private, how each can be broken, and the test that sees it.

`python -m privacy.mutants` (in `tests/`) breaks a copy of the source rule by rule and runs the test
named for it; a rule whose test stays green is printed as alive, and some words after the command choose
the rules that have one of them. `test_mutants.py` holds the tables to the source.
"""

from __future__ import annotations

import sys

from privacy.mutants_of_accounts import ACCOUNTS
from privacy.mutants_of_engine import ENGINE
from privacy.mutants_of_limits import LIMITS
from privacy.mutants_of_norms import BY_NORM
from privacy.mutants_of_relations import RELATIONS
from privacy.mutants_of_release import RELEASE
from privacy.mutants_of_terms import TERMS_AND_SCRATCH

MUTANTS = (*RELATIONS, *LIMITS, *BY_NORM, *ENGINE, *ACCOUNTS, *RELEASE, *TERMS_AND_SCRATCH)


def main(wanted: list[str]) -> int:
    """Break the rules that contain one of the words, or all; return how many stay alive."""
    alive = 0
    for mutant in MUTANTS:
        if wanted and not any(word in mutant.rule for word in wanted):
            continue
        seen = mutant.is_seen()
        alive += not seen
        print(f"{'seen ' if seen else 'ALIVE'}  {mutant.rule}", flush=True)
    return alive


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
