"""How long a ledger with many charges takes to open: `python -m bench.ledger_opening`.

Each charge is for a question of its own, at one of a hundred epsilons, and is answered. The same ledger
is opened from its newest checkpoint, and read in full as where there is none.
"""

from __future__ import annotations

import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from sanql.account import NOTHING_SAID, Charge, LaplaceEvent, Ledger, Reservation
from sanql.policy import Budget, EngineLimits, Policy

CHARGES = 50_000
TURNS = 5
_TERMS = {"neighbours": "add-remove"}


def main() -> None:
    """Fill a ledger, open it in turns, write what it took."""
    charges = int(sys.argv[1]) if len(sys.argv) > 1 else CHARGES
    with tempfile.TemporaryDirectory() as folder:
        policy = _policy(Path(folder))
        _fill(policy, charges)
        print(f"{charges:,} charges, each answered; best of {TURNS} turns")
        print(f"from its newest checkpoint: {_best(lambda: _open(policy))}")
        with closing(sqlite3.connect(policy.ledger)) as connection, connection:
            connection.execute("DELETE FROM note WHERE kind = 'checkpoint'")
        print(f"read in full:               {_best(lambda: _open(policy))}")


def _policy(folder: Path) -> Policy:
    return Policy(
        path=folder / "policy.toml",
        name="town",
        source="data/",
        ledger=folder / "town.ledger",
        neighbours="add-remove",
        budget=Budget(Fraction(10**9), Fraction(1, 10**6)),
        accounting="renyi",
        tables={},
        analysts={},
        coalitions={},
        engine=EngineLimits(memory_bytes=2**30, deadline_seconds=30.0, workers=1),
        delta_per_query=None,
        failures_max=3,
    )


def _fill(policy: Policy, charges: int) -> None:
    """Charge and answer, many in one transaction: it is not the disk that is measured."""
    with Ledger.open(policy, _TERMS) as ledger:
        for first in range(0, charges, 500):
            with ledger._journal.writing():
                for number in range(first, min(first + 500, charges)):
                    epsilon = Fraction(1 + number % 100, 1000)
                    charge = Charge((LaplaceEvent(1 / epsilon, 1, 1),), epsilon, Fraction(0))
                    analyst, question = f"analyst {number % 7}", f"{number:064x}"
                    made = ledger._reserve(analyst, question, charge, NOTHING_SAID)
                    reserved = Reservation(made.sequence, analyst, question, charge)
                    ledger._spend(reserved, f"answer {number}".encode(), b"")
            ledger._journal.pin()


def _open(policy: Policy) -> None:
    with Ledger.open(policy, _TERMS) as ledger:
        assert ledger.balances()


def _best(act: Callable[[], None]) -> str:
    took = []
    for _ in range(TURNS):
        wall, before = time.perf_counter(), _cpu()
        act()
        took.append((_cpu() - before, time.perf_counter() - wall))
    cpu, wall = min(took)
    return f"{cpu:.3f} s of a processor, {wall:.3f} s"


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
