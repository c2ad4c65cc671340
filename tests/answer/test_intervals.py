"""Intervals hold as often as they say, measured with the real sampler.

Each test adds real noise to thousands of cells whose exact values are known and counts how often the
interval holds the truth. If intervals hold with the stated confidence or more, the count of misses is at
most binomial, and the limit below is passed with probability at most 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from sanql.answer.post_process import show
from sanql.measurements.measurement import Measured
from sanql.mechanisms import ExactSampler
from sanql.noise.cells import add_noise
from sanql.plan.accuracy import half_width
from sanql.plan.level import Level
from support.exact_cells import cell_of

pytestmark = pytest.mark.slow

Planned = Callable[..., Level]
FALSE_ALARM = 1e-9
CELLS = 121 * 41
GRID = 0.01


def exact_cells(plan: Level, small: bool) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Return cells for every key, with their row counts and sums of income in grid steps."""
    numbers = np.random.default_rng(7)
    rows = numbers.integers(1, 4 if small else 3000, CELLS)
    part = next(m for m in plan.computed if m.kind is Measured.SUM)
    centred = np.array([numbers.integers(part.low * n, part.high * n + 1) for n in rows])
    ages, scores = np.divmod(np.arange(CELLS), 41)
    columns = {"k0": ages, "k1": scores - 10}
    steps = centred + part.centre * rows
    for index, measurement in enumerate(plan.computed):
        columns[f"m{index}"] = cell_of(measurement, steps, rows)
    return pa.table(columns), rows, steps


def misses(plan: Level, small: bool, confidence: Fraction) -> dict[str, int]:
    """Return how many cells' intervals miss the truth, by column."""
    exact, rows, steps = exact_cells(plan, small)
    shown = show(plan, add_noise(plan, exact, ExactSampler()), confidence)
    truth = {
        "n": rows,
        "total": steps * GRID,
        "mean": steps * GRID / rows,
        "ratio": steps * GRID / rows,
        "mixed": 2 * steps * GRID - 3 * rows,
        "share": rows / 7,
        "root": np.sqrt(rows),
    }
    found = {}
    for name, (lows, highs) in shown.intervals.items():
        slack = 1e-9 * (1 + np.abs(truth[name]))  # the truth, too, is computed in doubles
        below = np.array(lows, dtype=float) > truth[name] + slack
        above = np.array(highs, dtype=float) < truth[name] - slack
        found[name] = int((below | above).sum())
    return found


SQL = (
    "SELECT age, score, COUNT(income) AS n, SUM(income) AS total, AVG(income) AS mean, "
    "SUM(income) / COUNT(income) AS ratio, 2 * SUM(income) - 3 * COUNT(income) AS mixed, "
    "COUNT(income) / 7 AS share, SQRT(COUNT(income)) AS root FROM {} GROUP BY age, score"
)
PLAIN = "SELECT age, score, SUM(income) AS total FROM {} GROUP BY age, score"


@pytest.mark.parametrize("small", [True, False], ids=["few rows", "many rows"])
@pytest.mark.parametrize("sql", [SQL.format("rows"), SQL.format("visits"), PLAIN.format("visits")])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0"), ("1", "1e-3"), ("20", "0")])
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(95, 100)])
def test_intervals_hold_as_often_as_they_say(
    planned: Planned, sql: str, epsilon: str, delta: str, confidence: Fraction, small: bool
) -> None:
    plan = planned(sql, epsilon, delta)
    allowed = binom.isf(FALSE_ALARM / 8, CELLS, float(1 - confidence))
    for name, count in misses(plan, small, confidence).items():
        assert count <= allowed, name


def test_the_interval_of_a_count_is_no_wider_than_it_must_be(planned: Planned) -> None:
    plan = planned("SELECT age, score, COUNT(*) AS n FROM rows GROUP BY age, score", "0.1")
    confidence = Fraction(9, 10)
    width = plan.noises[0].half_width(confidence)
    assert half_width(plan, 0, confidence) == width
    noise = ExactSampler().sample(plan.noises[0], 200_000)
    # one step narrower would hold too rarely: the share is below 0.9 for sure (false alarm 1e-9)
    held = int((np.abs(noise) <= width - 1).sum())
    assert held <= binom.isf(FALSE_ALARM, noise.size, 0.9)
    assert held > binom.ppf(FALSE_ALARM, noise.size, 0.85)  # but only just


def test_a_public_value_has_a_point_for_an_interval(planned: Planned) -> None:
    plan = planned("SELECT COUNT(*) AS n FROM rows", neighbours="change-one")
    shown = show(plan, add_noise(plan, pa.table({"m0": [17]}), ExactSampler()), Fraction(19, 20))
    assert shown.table.to_pydict() == {"n": [17]}
    assert shown.intervals == {"n": ([17.0], [17.0])}


def test_an_average_stays_within_its_bounds_however_small_the_group(planned: Planned) -> None:
    plan = planned("SELECT age, score, AVG(income) AS mean FROM rows GROUP BY age, score", "0.01")
    empty = {
        f"m{index}": np.zeros(CELLS, dtype=np.int64) for index in range(len(plan.measurements))
    }
    ages, scores = np.divmod(np.arange(CELLS), 41)
    exact = pa.table({"k0": ages, "k1": scores - 10, **empty})
    shown = show(plan, add_noise(plan, exact, ExactSampler()), Fraction(19, 20))
    means = shown.table.column("mean").to_numpy()
    assert 0 < np.isnan(means).sum() < CELLS  # NULL where the noisy count says nobody is there
    assert np.nanmin(means) >= -50 and np.nanmax(means) <= 150
    lows, highs = (np.array(ends) for ends in shown.intervals["mean"])
    assert lows.min() >= -50 and highs.max() <= 150
    there = ~np.isnan(means)
    assert (lows <= means)[there].all() and (means <= highs)[there].all()
