"""`python -m bench.accuracy`: mean absolute errors over 200 runs, San beside OpenDP and diffprivlib.

Writes bench/accuracy/RESULTS.md. diffprivlib is not a dependency of ours; its column stays empty unless
it is installed besides.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import duckdb
import numpy as np

from bench.accuracy import peers
from bench.accuracy.shapes import Shape, shapes
from sanql.answer.estimates import value_of
from sanql.ask import plan_request, read_request
from sanql.compile.statement import compile_plan
from sanql.mechanisms import ExactSampler
from sanql.noise.cells import add_noise
from sanql.parse import QuestionText as Text
from sanql.policy import load
from sanql.san import San

RESULTS = Path(__file__).with_name("RESULTS.md")
QUANTILES = {
    "median": [0.5],
    "0.9-quantile": [0.9],
    "quartiles": [0.25, 0.5, 0.75],
    "deciles": [number / 10 for number in range(1, 10)],
}
RELATIONS = ("add-remove", "change-one")
NOTES = """\
*San* is a whole question through the planner: its epsilon also pays for the interval of every number,
about a seventh of it for quantiles. *OpenDP* is handed candidates and *diffprivlib* exact gaps between
rows; neither gives an interval, and under change-one both take the number of rows to be public and no
value to be missing. Errors are mean absolute errors over the runs, averaged over the quantiles of a row;
*best peer / San* above 1 means that San is nearer.

OpenDP's candidates are a thousand evenly spaced values, coarse for wide bounds: much of its error on
*incomes* is their distance. With as many candidates as San has places, its error of one quantile would be
about six sevenths of San's, by the first reason below.

Where San is behind, these are the reasons:

- *one quantile*: the others spend all of epsilon on it, San six sevenths, because it also pays for the
  interval. The chance of a wrong whole number (*ages*) falls exponentially in epsilon, so the seventh
  shows there, on an error that is small for all.
- *several quantiles of costs*: after the first pick, which is the spike, its rows are shared out between
  the two sides in 64 parts; the rounding of a spike of 6,000 rows moves the later picks by up to 50 rows.
- *variance under change-one*: San protects whether a value is missing, so it counts values with noise and
  measures three sums where OpenDP, dividing by a public number, measures one; far from the middle of the
  bounds (*costs*) the noise of the mean and of the count counts most.

Elsewhere San is ahead where several quantiles are asked for, because they are picked level by level and
share rows instead of epsilon. Distinct values are counted with noise of the same scale in both.
"""


class QuestionText:
    """One question to San: planned and run once without noise, then made noisy again and again."""

    def __init__(self, shape: Shape, neighbours: str, rows: int = 1) -> None:
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        people = np.arange(len(shape.values)) // rows
        with duckdb.connect(str(folder / "data.duckdb")) as connection:
            connection.execute("CREATE TABLE t AS SELECT unnest(?) AS p, unnest(?) AS x",
                               [people.tolist(), shape.values.tolist()])  # fmt: skip
        kind = "integer" if shape.precision == 1 else "decimal"
        step = "" if kind == "integer" else f", precision = {shape.precision}"
        if kind == "integer":
            with duckdb.connect(str(folder / "data.duckdb")) as connection:
                connection.execute("ALTER TABLE t ALTER x TYPE BIGINT")
        # the others take no value to be missing where they take the number of rows to be public
        step += ", nullable = false" if neighbours == "change-one" else ""
        unit = '"row"' if rows == 1 else '"p"'
        limit = "" if rows == 1 else f"rows_per_unit_max = {rows}\n"
        (folder / "policy.toml").write_text(
            f'[dataset]\nname = "b"\nsource = "data.duckdb"\nneighbours = "{neighbours}"\n'
            'budget = { epsilon = 1000000, delta = 0.1 }\naccounting = "renyi"\n[analyst.a]\n'
            f"[table.t]\nprivacy_unit = {unit}\n{limit}[table.t.column]\n"
            f'x = {{ type = "{kind}", bounds = [{shape.low:g}, {shape.high:.0f}]{step} }}\n'
        )
        self._san = San(load(folder / "policy.toml"))

    def run(self, sql: str, epsilon: float, **options: int) -> Callable[[], list[float]]:
        """Return one noisy answer's numbers, drawn anew each time."""
        request = read_request(Text(sql), self._san.analyst, {"epsilon": epsilon, **options})
        (planned,) = plan_request(self._san.session, request).levels
        sent = compile_plan(planned, self._san.session.data.open().source, ExactSampler().secret())
        exact = self._san.session.data.open().workers.run(sent)

        def once() -> list[float]:
            noisy = add_noise(planned, exact, ExactSampler())
            places = range(len(planned.estimates))
            return [float(value_of(planned, noisy, place)[0]) for place in places]

        return once

    def close(self) -> None:
        """Stop the engine."""
        self._san.close()
        self._folder.cleanup()


def error(run: Callable[[], list[float]] | None, truth: list[float], repeats: int) -> float | None:
    """Return the mean absolute error of repeated runs."""
    if run is None:
        return None
    found = np.array([run() for _ in range(repeats)])
    return float(np.abs(found - np.array(truth)).mean())


def measure(epsilon: float, repeats: int) -> Iterator[list[str]]:
    """Yield a line for each statistic, shape and neighbour relation."""
    many = 5 * repeats  # where a ratio is next to one, chance shows
    for shape in shapes():
        for neighbours in RELATIONS:
            asked = QuestionText(shape, neighbours)
            for name, fractions in QUANTILES.items():
                truth = np.quantile(shape.values, fractions).tolist()
                sql = ", ".join(f"QUANTILE_CONT(x, {each:g})" for each in fractions)
                ours = error(asked.run(f"SELECT {sql} FROM t", epsilon), truth, repeats)
                theirs = [
                    error(make(shape, fractions, epsilon, neighbours), truth, repeats)
                    for make in (peers.opendp_quantiles, peers.diffprivlib_quantiles)
                ]
                yield line(shape, name, neighbours, ours, theirs)
            truth = [float(np.var(shape.values, ddof=1))]
            ours = error(asked.run("SELECT VAR_SAMP(x) FROM t", epsilon), truth, many)
            theirs = [
                error(make(shape, epsilon, neighbours), truth, many)
                for make in (peers.opendp_variance, peers.diffprivlib_variance)
            ]
            yield line(shape, "variance", neighbours, ours, theirs)
            asked.close()
        for rows in (1, 5):
            asked = QuestionText(shape, "add-remove", rows)
            truth = [float(len(set(shape.values.tolist())))]
            theirs = [error(peers.opendp_distinct(shape, epsilon, rows), truth, many), None]
            for told in [{}] if rows == 1 else [{}, {"max_values_contributed": rows}]:
                asking = asked.run("SELECT COUNT(DISTINCT x) FROM t", epsilon, **told)
                what = f"distinct values, {rows} row{'s' * (rows > 1)} a person"
                what += ", as many said to count" * bool(told)
                yield line(shape, what, "add-remove", error(asking, truth, many), theirs)
            asked.close()


def line(
    shape: Shape, name: str, neighbours: str, ours: float | None, theirs: list[float | None]
) -> list[str]:
    """Return the cells of one line; the last is how much nearer San is than the best of the others."""
    known = [each for each in theirs if each is not None]
    ratio = f"{min(known) / ours:.2f}" if known and ours else "" if not known else "equal"
    shown = [f"{each:,.3g}" if each is not None else "" for each in (ours, *theirs)]
    return [shape.name, name, neighbours, *shown, ratio]


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--epsilon", type=float, default=1.0)
    arguments = parser.parse_args()
    lines = []
    for each in measure(arguments.epsilon, arguments.repeats):
        print(each, flush=True)
        lines.append(each)
        write(lines, arguments.epsilon, arguments.repeats)


def write(lines: list[list[str]], epsilon: float, repeats: int) -> None:
    """Write down what has been measured so far."""
    try:
        library = f"diffprivlib {version('diffprivlib')}"
    except PackageNotFoundError:
        library = "diffprivlib (not installed)"
    header = ["data", "statistic", "neighbours", "San", "OpenDP", "diffprivlib", "best peer / San"]
    text = [
        "# Errors side by side",
        "",
        f"Written by `python -m bench.accuracy` on {datetime.now(UTC):%Y-%m-%d}: epsilon "
        f"{epsilon:g}, unit one row unless said otherwise, {repeats} runs, OpenDP "
        f"{version('opendp')}, {library}.",
        "",
        NOTES,
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(each) + " |" for each in lines),
    ]
    RESULTS.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
