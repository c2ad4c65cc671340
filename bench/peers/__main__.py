"""San beside its peers: the eight questions through each, in turns, in one run.

`python -m bench.peers --rows 1000000 10000000` writes bench/peers/RESULTS.md. Of whatever takes
long for one answer one turn is enough.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from bench.__main__ import _machine
from bench.data import write_events
from bench.peers.contestants import (
    QUERIES,
    Contestant,
    Plain,
    SanItself,
    Took,
    libraries,
)
from bench.queries import QUESTIONS

RESULTS = Path(__file__).with_name("RESULTS.md")
LONG = 20.0  # seconds by the clock
ORIGINAL, PREPARED, BY_HAND = "San", "San, prepared", "by hand"
RATIOS = (
    ("OpenDP", ORIGINAL),
    ("OpenDP", PREPARED),
    ("SmartNoise", PREPARED),
    (PREPARED, BY_HAND),
    (ORIGINAL, BY_HAND),
)

Taken = dict[str, list[list[Took | str]]]


@dataclass(frozen=True)
class Measured:
    """What every answer took, by contestant and question, and what preparing and copying took."""

    taken: Taken
    turns: int
    preparing: float
    copying: float


def main() -> None:
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    parts = [_introduction()]
    for rows in arguments.rows:
        shown: list[str] = []
        for measured in _measured(
            rows, arguments.turns
        ):  # one that is interrupted has written some
            shown = _page(rows, measured)
            RESULTS.write_text("\n\n".join(parts + shown) + "\n", encoding="utf-8")
        parts += shown
    print("\n\n".join(parts))


def _measured(rows: int, turns: int) -> Iterator[Measured]:
    """Yield what everything has taken, after each turn."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in ("original", "prepared"):
            (folder / name).mkdir()
        file = folder / "original" / "events.duckdb"
        write_events(file, rows)
        shutil.copy(file, folder / "prepared")
        with duckdb.connect(str(file), read_only=True) as connection:
            connection.execute(f"COPY events TO '{folder / 'events.parquet'}'")
        copying = _copying(file, folder / "copy.duckdb")
        prepared = SanItself(PREPARED, folder / "prepared", turns, prepared=True)
        contestants: list[Contestant] = [
            Plain("raw DuckDB", file, [question for question, _ in QUERIES]),
            Plain(BY_HAND, file, [statement for _, statement in QUERIES]),
            SanItself(ORIGINAL, folder / "original", turns, prepared=False),
            prepared,
            *libraries(folder, rows),
        ]
        taken: Taken = {each.name: [[] for _ in QUERIES] for each in contestants}
        for turn in range(turns):
            for number in range(len(QUERIES)):
                for each in contestants:
                    before = taken[each.name][number]
                    if not before or (isinstance(before[0], Took) and before[0].wall < LONG):
                        before.append(each.ask(number, turn))
                        print(rows, turn, number + 1, each.name, before[-1], flush=True)
            yield Measured(taken, turn + 1, prepared.preparing, copying)
        for each in contestants:
            each.close()


def _copying(file: Path, copy: Path) -> float:
    """Return the processor seconds of copying the table with DuckDB alone."""
    with duckdb.connect(str(copy)) as connection:
        connection.execute(f"ATTACH '{file}' AS source (READ_ONLY)")
        used = time.process_time()
        connection.execute("CREATE TABLE events AS FROM source.events")
        connection.execute("CHECKPOINT")
        return time.process_time() - used


def _introduction() -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    machine = _machine().partition("`make bench`")[2].partition(". Times")[0]
    return f"""# Beside the peers

Written by `python -m bench.peers` at {commit}{machine}. Processor seconds of everything
that worked on an answer, the least of some turns (one, where an answer takes over {LONG:.0f} s);
whoever is compared takes turns in one run, so ratios are what to read, and how busy the machine
was matters less. 1M people; 4 groups a person, 10 rows a person and group, amounts within [0, 500],
epsilon 1, delta 1e-6.

*San* reads the DuckDB file as it is, *prepared* is after `sanql prepare`; both include the durable
charge, exact noise, intervals and the certificate. *By hand* is the fastest SQL that bounds
contributions (`bench/queries.py`), *raw* is the question itself without any: neither is private.
OpenDP runs lazily over Parquet, and its measurements are made beforehand; SmartNoise has the table in
memory, limits the rows of a person in all, and spends epsilon on each column."""


def _page(rows: int, measured: Measured) -> list[str]:
    taken = measured.taken
    names = list(taken)
    least = {
        name: [min((t.cpu for t in q if isinstance(t, Took)), default=None) for q in questions]
        for name, questions in taken.items()
    }
    clock = {
        name: [min((t.wall for t in q if isinstance(t, Took)), default=None) for q in questions]
        for name, questions in taken.items()
    }
    titles = list(QUESTIONS)
    ratios = [pair for pair in RATIOS if set(pair) <= set(names)]
    refused = sorted(
        f"{name} does not answer {titles[number].split()[0]} ({each})"
        for name, questions in taken.items()
        for number, answers in enumerate(questions)
        for each in answers[:1]
        if isinstance(each, str)
    )
    return [
        f"## {rows:,} rows: processor seconds, {measured.turns} turns",
        _table(
            names, titles, [[_shown(least[name][n]) for name in names] for n in range(len(titles))]
        ),
        f"## {rows:,} rows: ratios of processor seconds",
        _table(
            [f"{over} / {under}" for over, under in ratios],
            titles,
            [
                [_quotient(least[over][n], least[under][n]) for over, under in ratios]
                for n in range(len(titles))
            ],
        ),
        f"## {rows:,} rows: seconds by the clock",
        _table(
            names, titles, [[_shown(clock[name][n]) for name in names] for n in range(len(titles))]
        ),
        *(["; ".join(refused) + "."] if refused else []),
        f"`sanql prepare` took {measured.preparing:.2f} s of processors, all of the command; copying the "
        f"table with DuckDB {measured.copying:.2f} s: {measured.preparing / measured.copying:.1f} times.",
    ]


def _table(columns: list[str], titles: list[str], cells: list[list[str]]) -> str:
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {title} | {' | '.join(row)} |" for title, row in zip(titles, cells, strict=True)]
    return "\n".join(lines)


def _quotient(over: float | None, under: float | None) -> str:
    return "–" if over is None or under is None else f"{over / under:.2f}"


def _shown(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.3f}"


if __name__ == "__main__":
    main()
