"""`python -m bench.refusals`: how long it takes to plan a question, and to refuse a hostile text.

Everything is asked through San as an analyst would, with `explain`, which reads no row: parsing,
planning, pricing and writing the statement; of what is refused, up to and including the search for the
nearest question that would be answered. Each text is asked once to warm up and then nine times; the
tables have the middle and the worst of these by the clock, and the middle of the processor's time. The
promises are that a question of TPC-H is planned within 50 ms, and that no text keeps San for more than
100 ms before it is refused; aimed at are 60 ms of the processor's time. Writes bench/REFUSALS.md.
"""

from __future__ import annotations

import gc
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import sanql
from bench.hostile import hostile, large
from bench.tpch.__main__ import HERE as TPCH
from bench.tpch.__main__ import generate, questions
from sanql.errors import SanqlError

RESULTS = Path(__file__).with_name("REFUSALS.md")
REPEATS = 9
PLANNED = 50  # milliseconds
PROMISED = 100
AIMED = 60  # of the processor's time


@dataclass(frozen=True)
class Row:
    """A text, what became of it, and in how many milliseconds."""

    name: str
    letters: int
    verdict: str
    middle: float
    worst: float
    processor: float

    def __str__(self) -> str:
        return (
            f"| {self.name} | {self.letters:,} | {self.verdict} | {self.processor:.1f} | "
            f"{self.middle:.1f} | {self.worst:.1f} |"
        )


def main() -> None:
    """Measure and write the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "data", "0.01")
        shutil.copy(TPCH / "policy.toml", folder / "policy.toml")
        with sanql.open(folder / "policy.toml") as san:
            asked = [measured(san, name, text) for name, text in questions().items()]
            long = [measured(san, name, text) for name, text in large().items()]
            refused = [measured(san, name, text) for name, text in hostile().items()]
    parts = [_head(), _table("TPC-H", asked), _table("Long questions", long)]
    parts += [_table("Hostile texts", refused)]
    text = "\n\n".join(parts) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    sys.exit("\n".join(_broken(asked, refused)) or None)


def measured(san: sanql.San, name: str, text: str) -> Row:
    """Return a text's verdict and times."""
    verdict = ""
    clock, processor = [], []
    for _ in range(REPEATS + 1):
        gc.collect()
        started = time.perf_counter(), time.process_time()
        verdict = _verdict(san, text)
        clock.append(1000 * (time.perf_counter() - started[0]))
        processor.append(1000 * (time.process_time() - started[1]))
    middle, worst = statistics.median(clock[1:]), max(clock[1:])
    return Row(name, len(text), verdict, middle, worst, statistics.median(processor[1:]))


def _verdict(san: sanql.San, text: str) -> str:
    try:
        san.explain(text, epsilon=1)
    except SanqlError as error:
        shown = ", with a question" if getattr(error, "nearest", "") else ""
        return f"`{error.code}`{shown}"
    return "answered"


def _broken(asked: list[Row], refused: list[Row]) -> list[str]:
    """Return which promises do not hold, by the middle of the times."""
    slow = [row for row in asked if row.middle > PLANNED]
    slow += [row for row in refused if row.middle > PROMISED or row.processor > AIMED]
    return [f"too slow: {row.name}, {row.middle:.0f} ms" for row in slow]


def _head() -> str:
    words = (__doc__ or "").split("\n\n", 1)[1].strip()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    load = f"{os.getloadavg()[1]:.1f} processes were waiting for them on average"
    return f"# Planning and refusing\n\n{words}\n\n{machine}; {load}."


def _table(title: str, rows: list[Row]) -> str:
    head = "| what | letters | verdict | processor, ms | clock, ms | worst, ms |"
    return "\n".join([f"## {title}", "", head, "|---|---:|---|---:|---:|---:|", *map(str, rows)])


if __name__ == "__main__":
    main()
