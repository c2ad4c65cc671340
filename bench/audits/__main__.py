"""`python -m bench.audits sound` and `… faults`: audits of a sound system, and of one with each fault.

Each writes its page, SOUND.md and FAULTS.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.audits.faults import FAULTS
from bench.audits.running import audits_at_once
from sanql.audit import ALPHA, AttackFound

HERE = Path(__file__).parent
HOW = (
    "The server runs in the process that plants the fault, with the in-process engine; each audit asks"
    f" all its questions over HTTP and the wire, at a level of {ALPHA:g} for all attacks together."
)


def main() -> None:
    """Run all audits of one part and write its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["sound", "faults"])
    parser.add_argument("--runs", type=int, help="of the sound system (200); of each fault (10)")
    parser.add_argument("--people", help="canaries (500); of faults sizes with commas")
    arguments = parser.parse_args()
    with TemporaryDirectory() as home:
        os.environ["XDG_DATA_HOME"] = home
        if arguments.part == "sound":
            lines = _sound(arguments.runs or 200, int(arguments.people or 500))
        else:
            sizes = [int(each) for each in (arguments.people or "250,1000,5000").split(",")]
            lines = _faults(arguments.runs or 10, sizes)
        text = "\n".join([*lines, ""])
    (HERE / f"{arguments.part.upper()}.md").write_text(text, encoding="utf-8")


def _sound(runs: int, people: int) -> Iterator[str]:
    started = time.monotonic()
    refuted: list[AttackFound] = []
    for made, found in enumerate(audits_at_once("", [people] * runs), 1):
        refuted += found.refuted
        print(f"{made} of {runs}: {len(refuted)} refuted", flush=True)
    seconds = time.monotonic() - started
    yield "# Audits of a sound system"
    yield ""
    yield f"Written by `python -m bench.audits sound` on {datetime.now(UTC):%Y-%m-%d}. {HOW}"
    yield ""
    yield (
        f"{runs} audits with {people:,} canaries each: **{len(refuted)} attacks refuted the claim**."
        f" That any does has a probability of at most {runs * ALPHA:g} ({seconds:,.0f} s)."
    )


def _faults(runs: int, sizes: list[int]) -> Iterator[str]:
    yield "# Audits of systems with planted faults"
    yield ""
    yield f"Written by `python -m bench.audits faults` on {datetime.now(UTC):%Y-%m-%d}. {HOW}"
    yield ""
    yield (
        f"In how many of {runs} audits a fault ([faults.py](faults.py)) is found, by the number of"
        " canaries; the attack that finds it most often, and how many questions that attack asks."
    )
    yield ""
    yield (
        "| fault | "
        + " | ".join(f"{size:,} canaries" for size in sizes)
        + " | found by | questions |"
    )
    yield "|---|" + "---|" * (len(sizes) + 2)
    for fault in FAULTS:
        found: dict[int, int] = {}
        by: Counter[tuple[str, int]] = Counter()
        for size in sizes:
            audits = list(audits_at_once(fault, [size] * runs))
            print(f"{fault}, {size}: {sum(bool(each.refuted) for each in audits)}", flush=True)
            found[size] = sum(bool(each.refuted) for each in audits)
            by.update((f.attack, f.questions) for each in audits for f in each.refuted)
        first = by.most_common(1)[0][0] if by else ("", 0)
        cells = " | ".join(str(found[size]) for size in sizes)
        yield f"| {fault} | {cells} | {first[0]} | {first[1] or ''} |"


if __name__ == "__main__":
    main()
