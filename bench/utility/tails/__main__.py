"""`python -m bench.utility.tails`: answers about tables with few large units, or few values, and peers.

Writes bench/utility/tails/RESULTS.md: San with a profile and without, and OpenDP, at the same epsilon,
delta, unit and bounds. Every run of San has a profile of its own, so that what noise hides of a table
differs from run to run as it does from owner to owner.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb

import sanql
from bench.utility.score import Score, surely_ahead
from bench.utility.tails.asked import Asked
from bench.utility.tails.opendp_answers import Answer, answer
from bench.utility.tails.shapes import SHAPES, Shape

RESULTS = Path(__file__).with_name("RESULTS.md")
EPSILONS = ["0.1", "0.5", "1"]
DELTA = "1e-8"
PROFILE_EPSILON = "2"
SYSTEMS = ["San", "San without a profile", "OpenDP"]

Errors = dict[tuple[str, str, str, str], list[float]]
"""By shape, question, epsilon and system: the median relative error of a cell, run by run."""


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12, help="each with a profile of its own")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_DATA_HOME"] = name
        found = {
            key: errors
            for shape in SHAPES
            for key, errors in measure(shape, Path(name), runs).items()
        }
    text = "\n".join(page(found, runs)) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


def measure(name: str, folder: Path, runs: int) -> Errors:
    """Return the errors of all systems about one shape."""
    shape, found = SHAPES[name](), Errors()
    for run in range(runs):
        policy = shape.write(folder / f"{name}-{run}")
        data = policy.parent / "data" / "events.parquet"
        asking = {
            "OpenDP": lambda asked, epsilon, data=data, run=run: answer(
                asked, data, shape.rows_max, float(epsilon), run
            )
        }
        with sanql.open(policy) as san:
            answers = lambda asked, epsilon, san=san: _told(  # noqa: E731
                san.query(asked.sql, epsilon=epsilon, delta=DELTA, fresh=True).rows, asked
            )
            _ask(found, name, shape, data, {SYSTEMS[1]: answers, **asking})
            san.profile("events", epsilon=PROFILE_EPSILON, columns=shape.profiled)
            _ask(found, name, shape, data, {SYSTEMS[0]: answers})
    return found


def _ask(
    found: Errors,
    name: str,
    shape: Shape,
    data: Path,
    asking: dict[str, Callable[[Asked, str], Answer]],
) -> None:
    for asked in shape.asked:
        true = truth(asked, data)
        for epsilon in EPSILONS:
            for system, ask in asking.items():
                error = _error(true, ask(asked, epsilon))
                found.setdefault((name, asked.title, epsilon, system), []).append(error)


def truth(asked: Asked, data: Path) -> Answer:
    """Return what plain SQL says of all rows."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW events AS FROM '{data}'")
        return _told(connection.execute(asked.sql).fetchall(), asked)


def _told(rows: list[tuple[object, ...]], asked: Asked) -> Answer:
    return {str(row[0]) if asked.key else "all": _number(row[-1]) for row in rows}


def _number(shown: object) -> float:
    return math.nan if shown is None else float(str(shown))


def _error(true: Answer, shown: Answer) -> float:
    return statistics.median(
        abs(shown[key] - value) / abs(value) if key in shown and math.isfinite(shown[key]) else 1.0
        for key, value in true.items()
    )


def page(found: Errors, runs: int) -> Iterator[str]:
    """Yield the lines of the page of results."""
    yield from NOTES.format(
        day=f"{datetime.now(UTC):%Y-%m-%d}", runs=runs, profile=PROFILE_EPSILON, delta=DELTA
    ).splitlines()
    yield "| | epsilon | " + " | ".join(SYSTEMS) + " | surely nearer than San |"
    yield "|" + "---|" * (len(SYSTEMS) + 3)
    for shape, title, epsilon, _ in {(*key[:3], ""): None for key in found}:
        scores = {s: _score(found[shape, title, epsilon, s]) for s in SYSTEMS}
        ahead = [s for s in SYSTEMS[1:] if surely_ahead(scores[SYSTEMS[0]], scores[s])]
        shown = " | ".join(f"{100 * float(scores[s].error or 0):.2g}" for s in SYSTEMS)
        yield f"| {shape}: {title} | {epsilon} | {shown} | {', '.join(ahead)} |"


def _score(runs: list[float]) -> Score:
    return Score(statistics.median(runs), by_run=tuple(runs))


NOTES = """\
# Few large units, and values that most rows lack

Written by `python -m bench.utility.tails` on {day}: {runs} runs, delta {delta}. The tables are made by
[shapes.py](shapes.py), the same every time. Constants of the planner were set by
[flights](../RESULTS.md), and those of `profile/hidden.py` by tables simulated much like the first two
here, of which their numbers may be the better. *purchases*: 30 of 3,000 customers have three tenths of
all rows, and 400 rows of each may count. *clicks*: rows as a power law has them, of which 500 may count.
*visits*: one row in 25 has a fee. In percent, the median over runs of the median
relative error of a cell; what limits leave out is an error too.

*San* has a profile at an epsilon of {profile}, taken anew in each run. *OpenDP* leaves out rows at random
beyond the policy's limit, and has the same epsilon, unit and bounds
([opendp_answers.py](opendp_answers.py)). Surely nearer is who has smaller errors by rank at a level of
5 %: one row in twenty says so by chance where nobody is. So few runs tell a factor of two, and not much
less. Of one total of a small table, where noise of the limit is little, a profile gains little.

"""


if __name__ == "__main__":
    main()
