"""`python -m bench.accuracy`: mean absolute errors over 200 runs, San beside OpenDP and diffprivlib.

Of quantiles: `python -m bench.accuracy.quantiles`.

Writes bench/accuracy/RESULTS.md. diffprivlib is not a dependency of ours; its column stays empty unless
it is installed besides.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Collection, Iterator
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
PARTS = ("variance", "distinct")
RELATIONS = ("add-remove", "change-one")
NOTES = """\
*San* is a whole question through the planner: its epsilon also pays for the interval of every number.
The others give none, and under change-one both take the number of rows to be public and no value to be
missing. Errors are mean absolute errors over the runs; *best peer / San* above 1 means that San is
nearer. Quantiles are [apart](QUANTILES.md).

Where San is behind, these are the reasons:

- *variance under change-one*: one row moves n times the variance by up to the square of how far the
  further bound is from the mean: 0.42 of the squared width for *ages*, 0.86 for *incomes*, 0.94 for
  *costs*, where OpenDP has noise for all of it. San finds the mean first, with a fourteenth of epsilon,
  and with the rest has noise for just that: 0.45, 0.93 and 1.01 of OpenDP's. A smaller part would do
  for these 10,000 rows, and not for 1,000, as what the mean is off by enters squared.
- *distinct values, 5 rows a person*: how many values of a person count is chosen privately, for two
  fifths of epsilon, unless the question says it. That pays where people have the same values (*ages*);
  where all differ (*incomes*) all five must count, and whoever says so has what OpenDP's user has said.
  Three fifths of epsilon are five thirds of the noise, 0.6 of what OpenDP has. That no public rule is as
  good on both kinds of data, and no share: docs/distinct_values.md and [by share](CHOOSING.md).

Distinct values are counted with noise of the same scale in both, and what differs by less than 5 % is
chance.
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
        self.session, self.analyst = self._san.session, self._san.analyst

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


def measure(epsilon: float, repeats: int, parts: Collection[str]) -> Iterator[list[str]]:
    """Yield a line for each statistic of these parts, shape and neighbour relation."""
    many = 5 * repeats  # where a ratio is next to one, chance shows
    for shape in shapes():
        for neighbours in RELATIONS:
            asked = QuestionText(shape, neighbours)
            if "variance" in parts:
                truth = [float(np.var(shape.values, ddof=1))]
                ours = error(asked.run("SELECT VAR_SAMP(x) FROM t", epsilon), truth, many)
                theirs = [
                    error(make(shape, epsilon, neighbours), truth, many)
                    for make in (peers.opendp_variance, peers.diffprivlib_variance)
                ]
                yield line(shape, "variance", neighbours, ours, theirs)
            asked.close()
        for rows in (1, 5) if "distinct" in parts else ():
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
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    lines = {tuple(each[:3]): each for each in written()}
    for each in measure(arguments.epsilon, arguments.repeats, arguments.parts):
        print(each, flush=True)
        lines[tuple(each[:3])] = each
        write(list(lines.values()), arguments.epsilon, arguments.repeats)


def written() -> list[list[str]]:
    """Return the lines that were written down before, which stand until they are measured again."""
    if not RESULTS.exists():
        return []
    text = RESULTS.read_text(encoding="utf-8")
    rows = [row.strip("| ") for row in text.splitlines() if row.startswith("| ")]
    return [
        [cell.strip() for cell in row.split(" | ")] + [""] * (6 - row.count(" | "))
        for row in rows[1:]
    ]


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
