"""One table in three layouts beside plain DuckDB: `python -m bench.layouts`, written to bench/LAYOUTS.md.

The eight questions are asked of the table as it is, of its copy, and of a copy in which rows are added
up by four columns and amounts are in order, in turns with the questions themselves and with the fastest
SQL that bounds contributions (`bench/queries.py`), none of which is private.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from bench.data import write_events
from bench.peers.__main__ import _copying, _introduction, _table
from bench.peers.contestants import QUERIES, Contestant, Plain, SanItself, Took
from bench.queries import QUESTIONS

RESULTS = Path(__file__).with_name("LAYOUTS.md")
RAW, BY_HAND, ORIGINAL, COPY, ADDED_UP = "raw", "by hand", "San", "San, copy", "San, added up"
SUMMARIES = (
    'summaries = { by = ["category", "city", "item", "age"], of = ["amount"], '
    'quantiles_of = ["amount"] }\n'
)

MISSED = """## What is missed of 10,000,000 rows, and why

*0.6 × by hand from a copy*: by item, and COUNT with WHERE. Of the statement by item, 2.7 s where it is
timed by itself, finding the 8.9 million pairs of units and items takes 0.8 s as it is done now, in
blocks (1.2 s at once); and, reckoned from a fifth of the rows, adding up four numbers by item 0.46 s,
and joining units to pairs with what they weigh 0.15 s. COUNT with WHERE takes the engine 9 ms to read
and 19 ms more to group a million rows by unit, where the SQL by hand takes 38 ms in the same run; San's
own process takes 10 ms besides, and the worker 5 ms.

*2 × raw + 30 ms from rows added up*: by category. 3.5 of 4.0 million pairs are of units that
are short enough to be added up one by one, which takes 66 ms; without leaving out what is no public key
it would be 41.

*Preparing at 3 × a copy by DuckDB*: rows of a `.duckdb` file were written twice when the table above was
made. They get their places from where they are now, which takes 3.0 to 3.1 times a copy (three turns on
a busy machine: 6.19, 6.07 and 5.97 s beside 2.02, 2.01 and 1.91 s). The two statements that place them
take 2.3 times: 1.1 s sort, and 0.7 s count the rows of each unit. The rest is the command itself, which
takes 1.2 s for a table of 1,000 rows on that machine."""


def main() -> None:
    """Measure and write down, after each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    parts = [_page()]
    for rows in arguments.rows:
        parts += _measured(rows, arguments.turns)
        RESULTS.write_text("\n\n".join([*parts, MISSED]) + "\n", encoding="utf-8")
    print("\n\n".join(parts))


def _page() -> str:
    machine = _introduction().partition("at ")[2].partition(". Processor")[0]
    return f"""# One table in three layouts

Written by `python -m bench.layouts` at {machine}; other work ran on them. Processor seconds
of everything that worked on an answer, the least of some turns; those who are compared take turns in one
run, so ratios are what to read. 1M people, limits as in `bench/queries.py`, epsilon 1, delta 1e-6.

*San* reads the DuckDB file as it is; its *copy* is what `sanql prepare` makes, and *added up* a copy of a
policy with
`{SUMMARIES.strip()}`.
Names of cities have at most 100 bytes. *By hand* is the fastest SQL that bounds contributions, *raw* is
the question itself without any: neither is private.

Of Q7 in a copy a third of the time gathers the values of each unit, a third sorts them (three quarters of
the rows are of units with more than may count) and a third picks and counts. With `quantiles_of` only the
last is left. It is of no use to groups and conditions, which leave some of a unit's rows."""


def _measured(rows: int, turns: int) -> list[str]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        names = ("original", "copy", "added_up")
        for name in names:
            (folder / name).mkdir()
        file = folder / "original" / "events.duckdb"
        write_events(file, rows)
        for name in names[1:]:
            shutil.copy(file, folder / name)
        copying = _copying(file, folder / "copy.duckdb")
        copy = SanItself(COPY, folder / "copy", turns, prepared=True)
        added_up = SanItself(ADDED_UP, folder / "added_up", turns, prepared=True, more=SUMMARIES)
        contestants: list[Contestant] = [
            Plain(RAW, file, [question for question, _ in QUERIES]),
            Plain(BY_HAND, file, [statement for _, statement in QUERIES]),
            SanItself(ORIGINAL, folder / "original", turns, prepared=False),
            copy,
            added_up,
        ]
        least = {each.name: [float("inf")] * len(QUERIES) for each in contestants}
        for turn in range(turns):
            for number in range(len(QUERIES)):
                for each in contestants:
                    took = each.ask(number, turn)
                    assert isinstance(took, Took)
                    least[each.name][number] = min(least[each.name][number], took.cpu)
        for each in contestants:
            each.close()
    preparing = (
        f"`sanql prepare` took {copy.preparing:.2f} s, {copy.preparing / copying:.1f} times what DuckDB "
        f"takes to copy the table ({copying:.2f} s); {added_up.preparing:.2f} s where rows are added up."
    )
    return [f"## {rows:,} rows, {turns} turns", _seconds(least), _ratios(least), preparing]


def _seconds(least: dict[str, list[float]]) -> str:
    cells = [[f"{least[name][n]:.3f}" for name in least] for n in range(len(QUERIES))]
    return _table(list(least), list(QUESTIONS), cells)


def _ratios(least: dict[str, list[float]]) -> str:
    """Return ratios, and what is beyond a multiple in milliseconds."""
    raw, hand = least[RAW], least[BY_HAND]
    columns = {
        "San / by hand": [f"{s / h:.2f}" for s, h in zip(least[ORIGINAL], hand, strict=True)],
        "San beyond 1.15 × by hand, ms": _beyond(least[ORIGINAL], hand, 1.15),
        "copy / by hand": [f"{s / h:.2f}" for s, h in zip(least[COPY], hand, strict=True)],
        "added up / by hand": [f"{s / h:.2f}" for s, h in zip(least[ADDED_UP], hand, strict=True)],
        "added up beyond 2 × raw, ms": _beyond(least[ADDED_UP], raw, 2),
    }
    cells = [[column[n] for column in columns.values()] for n in range(len(QUERIES))]
    return _table(list(columns), list(QUESTIONS), cells)


def _beyond(taken: list[float], others: list[float], times: float) -> list[str]:
    return [f"{1000 * (one - times * other):.0f}" for one, other in zip(taken, others, strict=True)]


if __name__ == "__main__":
    main()
