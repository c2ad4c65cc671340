"""`python -m bench.accuracy.coverage`: how often intervals of 95 % hold, and how wide they are.

Writes bench/accuracy/COVERAGE.md. Questions go through the planner and the engine once; noise is drawn
anew for every answer, and intervals are those of the answer.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import sanql
from sanql.answer.post_process import show
from sanql.ask import plan_request, read_request
from sanql.compile.statement import compile_plan
from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExactSampler,
    NoNoise,
    SummedNoise,
)
from sanql.noise.cells import add_noise
from sanql.parse import QuestionText

RESULTS = Path(__file__).with_name("COVERAGE.md")
CONFIDENCE = Fraction(95, 100)
GROUPS = 200
STATISTICS = ("COUNT(*)", "SUM(x)", "AVG(x)", "VAR_SAMP(x)", "STDDEV(x)")
POLICY = """
[dataset]
name = "c"
source = "data.duckdb"
neighbours = "{neighbours}"
budget = {{ epsilon = 1000000, delta = 0.1 }}
accounting = "renyi"
[analyst.a]
[table.t]
{unit}
[table.t.column]
g = {{ type = "integer", bounds = [0, 199] }}
x = {{ type = "decimal", bounds = [0, 1000], precision = 0.01, nullable = false }}
"""
ROW = 'privacy_unit = "row"'
PERSON = f'privacy_unit = "p"\nrows_per_group_max = 1\ngroups_per_unit_max = {GROUPS}'
NOTES = """\
Values are costs, exponential with a mean of 80 in bounds of [0, 1000], in cents. With *Laplace* noise
units are rows, epsilon is 1 and delta 0; with *Gaussian* noise they are people with a row in each of
200 groups, epsilon is 4 and delta 1e-6: limits cut nothing, so that the truth is plain. *Rows off* is
the deviation of COUNT; *low* and *high* are how many of 100 intervals lie above the truth and below it.

- COUNT has noise on whole numbers, and an interval ends at one: it holds as often as the law of the noise
  allows, and one that ended a row earlier would hold in fewer than 95.
- Of a variance, what the mean is off by enters squared, and an interval allows for the most it can be
  (statistics/variance_band.py, variance_around.py): where noise is a few of 100 rows, or there are some
  hundreds of rows in all, it holds more often. So does that of a standard deviation, its root."""


@dataclass(frozen=True)
class Case:
    """Whose rows they are, how many there are in a group, and the price."""

    noise: str
    neighbours: str
    rows: int
    epsilon: float
    grouped: bool = True

    @property
    def delta(self) -> str:
        """The delta of the price."""
        return "0" if self.noise == "Laplace" else "1e-6"


CASES = [
    *(Case("Laplace", neighbours, rows, 1.0) for neighbours in ("add-remove", "change-one")
      for rows in (100, 2000)),
    *(Case("Gaussian", neighbours, rows, 4.0) for neighbours in ("add-remove", "change-one")
      for rows in (2000, 10_000)),
    *(Case("Laplace", "change-one", rows, 1.0, grouped=False) for rows in (300, 1000, 10_000)),
]  # fmt: skip


def main() -> None:
    """Count misses and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--intervals", type=int, default=20_000)
    intervals = parser.parse_args().intervals
    lines = []
    for case in CASES:
        for line in _covered(case, intervals):
            print(line, flush=True)
            lines.append(line)
    header = [
        "noise", "neighbours", "rows of a group", "rows off", "statistic", "held", "low", "high", "width",
    ]  # fmt: skip
    text = [
        "# How often intervals hold",
        "",
        f"Written by `python -m bench.accuracy.coverage` on {datetime.now(UTC):%Y-%m-%d}: of "
        f"{intervals:,} intervals at 95 %. Chance is off by 0.15 (one deviation).",
        "",
        NOTES,
        "",
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(each) + " |" for each in lines),
    ]
    RESULTS.write_text("\n".join(text) + "\n", encoding="utf-8")


def _covered(case: Case, intervals: int) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        values = _write(Path(folder), case)
        san = sanql.open(Path(folder) / "policy.toml", analyst="a")
        off = 0.0
        for statistic in STATISTICS:
            truth = _truth(statistic, values)
            below, above, width, count = _misses(san, case, statistic, truth, intervals)
            if statistic == "COUNT(*)":
                off = count
            if statistic == "COUNT(*)" and not case.grouped:
                continue  # it is public
            place = f"{case.rows:,}" + ("" if case.grouped else ", all in one")
            yield [
                case.noise, case.neighbours, place, f"{off:.1f}", statistic,
                *(f"{100 * share:.2f}" for share in (1 - below - above, above, below)), f"{width:,.4g}",
            ]  # fmt: skip
        san.close()


def _write(folder: Path, case: Case) -> np.ndarray:
    """Write a table and its policy; return the values of every group."""
    numbers = np.random.default_rng(7)
    groups = GROUPS if case.grouped else 1
    values = np.clip(np.round(numbers.exponential(80, (groups, case.rows)), 2), 0, 1000)
    table = pa.table(
        {
            "p": np.tile(np.arange(case.rows), groups),
            "g": np.repeat(np.arange(groups), case.rows),
            "x": values.ravel(),
        }
    )
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.register("incoming", table)
        connection.execute("CREATE TABLE t AS FROM incoming")
    unit = ROW if case.noise == "Laplace" else PERSON
    policy = POLICY.format(neighbours=case.neighbours, unit=unit)
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    return values


def _truth(statistic: str, values: np.ndarray) -> np.ndarray:
    match statistic:
        case "COUNT(*)":
            return np.full(len(values), values.shape[1])
        case "SUM(x)":
            return values.sum(axis=1)
        case "AVG(x)":
            return values.mean(axis=1)
        case "VAR_SAMP(x)":
            return values.var(axis=1, ddof=1)
        case _:
            return values.std(axis=1, ddof=1)


def _misses(
    san: sanql.San, case: Case, statistic: str, truth: np.ndarray, intervals: int
) -> tuple[float, float, float, float]:
    """Return how often intervals are below and above the truth, how wide they are, and the noise."""
    by = ("g, ", " GROUP BY g") if case.grouped else ("", "")
    sql = f"SELECT {by[0]}{statistic} AS s FROM t{by[1]}"
    options = {"epsilon": case.epsilon, "delta": case.delta}
    request = read_request(QuestionText(sql), san.analyst, options)
    (level,) = plan_request(san.session, request).levels
    data = san.session.data.open()
    exact = data.workers.run(compile_plan(level, data.source, ExactSampler().secret()))
    below, above, width, slack = 0, 0, 0.0, 1e-9 * (1 + np.abs(truth))
    times = -(-intervals // len(truth))
    for _ in range(times):
        shown = show(level, add_noise(level, exact, ExactSampler()), CONFIDENCE)
        low, high = (np.array(ends, dtype=np.float64) for ends in shown.intervals["s"])
        below += int((high < truth - slack).sum())
        above += int((low > truth + slack).sum())
        width += float(np.mean(high - low))
    first, kind = (
        level.measurements[0],
        DiscreteLaplace if case.noise == "Laplace" else DiscreteGaussian,
    )
    assert all(isinstance(noise, kind | NoNoise | SummedNoise) for noise in level.noises)
    noise = level.noises[0].standard_deviation / first.scale
    return below / (times * len(truth)), above / (times * len(truth)), width / times, noise


if __name__ == "__main__":
    main()
