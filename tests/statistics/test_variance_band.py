"""Intervals of variances: how often they hold, exactly, by the law of all noise on tiny tables."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np
import pyarrow as pa
import pytest

from sanql.answer.estimates import band_of
from sanql.measurements import NoisyCells
from sanql.measurements.measurement import Measured
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, Noise, NoNoise, reaches_of_sums
from sanql.plan.level import Level
from sanql.policy import Neighbours
from support.by_hand import TABLES as POLICY
from support.cells import priced

CONFIDENCE = Fraction(95, 100)
BEYOND = 1e-4  # of one noise: so much is not looked at, and taken to be missed


def law(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    match noise:
        case DiscreteLaplace(scale):
            reach = int(np.ceil(-np.log(BEYOND) * float(scale))) + 1
            masses = np.exp(-np.abs(np.arange(-5000, 5001)) / float(scale))
        case DiscreteGaussian(sigma2):
            reach = int(np.ceil(4 * np.sqrt(float(sigma2)))) + 1
            masses = np.exp(-(np.arange(-5000, 5001) ** 2) / float(2 * sigma2))
        case _:
            return np.zeros(1, dtype=np.int64), np.ones(1)
    return np.arange(-reach, reach + 1), (masses / masses.sum())[5000 - reach : 5001 + reach]


def exact(plan: Level, values: list[int]) -> list[int]:
    """Return the exact cell of each measurement."""
    cells = []
    for part in plan.measurements:
        if part.kind is not Measured.SUM:
            cells.append(len(values) * part.scale)
            continue
        square = part is not next(p for p in plan.measurements if p.kind is Measured.SUM)
        middle = plan.measurements[0].centre * plan.measurements[0].grid
        steps = [(x - middle) ** 2 / part.grid if square else x / part.grid for x in values]
        assert all(step.denominator == 1 for step in steps)
        cells.append(sum(int(step) - part.centre for step in steps) * part.scale)
    return cells


def missed(plan: Level, values: list[int], truth: float) -> float:
    """Return the chance of missing the truth, all noise looked at."""
    laws = [law(noise) for noise in plan.noises]
    chances = reduce(np.multiply.outer, [masses for _, masses in laws]).ravel()
    drawn = [each.ravel() for each in np.meshgrid(*(places for places, _ in laws), indexing="ij")]
    cells = {
        f"m{index}": own + noise
        for index, (own, noise) in enumerate(zip(exact(plan, values), drawn, strict=True))
    }
    band = band_of(plan, NoisyCells(pa.table(cells)), 0, CONFIDENCE, None)
    assert band is not None and (band.low <= band.high).all()
    slack = 1e-9 * (1 + truth)
    held = (band.low <= truth + slack) & (band.high >= truth - slack)
    return 1 - float(chances[held].sum())


SKEWED = [-2] * 2900 + [0, 1] * 50
TABLES = [
    [0, 1],
    [1] * 3,
    [-2, 1] * 20,
    [-2] * 30 + [0, 1],
    [1] * 4000,
    SKEWED,
    [-2, 1] * 1500,
]


@pytest.mark.slow
@pytest.mark.parametrize("values", TABLES, ids=lambda values: f"{len(values)} rows")
@pytest.mark.parametrize(
    ("table", "epsilon", "delta", "neighbours"),
    [
        ("rows", "3", "0", "change-one"),
        ("rows", "0.5", "0.3", "change-one"),
        ("visits", "0.5", "0.3", "add-remove"),
    ],
)
@pytest.mark.parametrize("name", ["VAR_POP", "STDDEV_SAMP"])
def test_intervals_hold_in_95_of_100_whatever_the_rows_are(
    values: list[int], table: str, epsilon: str, delta: str, neighbours: Neighbours, name: str
) -> None:
    x = "CASE WHEN score > 9 THEN 1 WHEN score > 5 THEN -2 ELSE 0 END"
    sql = f"SELECT {name}({x}) AS v FROM {table}"
    (plan,) = priced(sql, POLICY, neighbours, epsilon=epsilon, delta=delta).levels
    kind = DiscreteGaussian if float(delta) else DiscreteLaplace
    assert all(isinstance(noise, kind | NoNoise) for noise in plan.noises)
    spread = float(np.var(values)) if name == "VAR_POP" else float(np.std(values, ddof=1))
    found = missed(plan, values, spread)
    assert found <= 0.05
    if values == SKEWED:  # neither least nor largest; noise is on a coarse grid
        assert found >= 0.015


def fitting(plan: Level, seen: tuple[int, int, int], less: int) -> tuple[float, float]:
    """Return the least and largest variance that fits what is seen with some mean, all looked at."""
    first, second, count = plan.noises
    total, squares, rows = seen
    part, middle = plan.measurements[0], float(plan.measurements[1].centre)
    u, v = (
        side.ravel()
        for side in np.meshgrid(
            np.linspace(float(part.low), float(part.high), 601), np.linspace(0, 4.5, 901)
        )
    )
    one = np.ones(u.size)
    near = reaches_of_sums([first, count], [one, u], 1 - (1 - CONFIDENCE) / 12)
    far = reaches_of_sums(
        [second, first, count], [one, 2 * u, u * u + middle - v], 1 - (1 - CONFIDENCE) * 11 / 12
    )
    assert near is not None and far is not None
    fits = np.abs(total - u * rows) <= near
    fits &= np.abs(squares - 2 * u * total + (u * u + middle) * rows - (rows - less) * v) <= far
    return float(v[fits].min()), float(v[fits].max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["VAR_POP", "VAR_SAMP"])
def test_an_interval_has_all_that_fits_with_some_mean_and_little_else(name: str) -> None:
    x = "CASE WHEN score > 9 THEN 1 WHEN score > 5 THEN -2 ELSE 0 END"
    sql = f"SELECT {name}({x}) AS v FROM visits"
    (plan,) = priced(sql, POLICY, "add-remove", epsilon="0.5", delta="0.3").levels
    assert all(isinstance(noise, DiscreteGaussian) for noise in plan.noises)
    less, numbers = int(name == "VAR_SAMP"), np.random.default_rng(4)
    for size in (300, 800, 2000):
        values = numbers.choice([-2, 0, 1], size, p=[0.5, 0.2, 0.3]).tolist()
        seen = exact(plan, values)
        cells = pa.table({f"m{place}": [cell] for place, cell in enumerate(seen)})
        band = band_of(plan, NoisyCells(cells), 0, CONFIDENCE, None)
        assert band is not None
        low, high = fitting(plan, (seen[0], seen[1], seen[2]), less)
        most = 2.25 * (1 + less)
        step = 0.005
        assert band.low[0] <= low + step and band.high[0] >= min(high, most) - step
        assert band.high[0] - band.low[0] <= 1.15 * (min(high, most) - low) + 2 * step, size


@pytest.mark.parametrize(("name", "less"), [("VAR_POP", 0), ("VAR_SAMP", 1)])
def test_of_public_rows_the_interval_is_the_variance(name: str, less: int) -> None:
    x = "CASE WHEN score > 9 THEN 1 WHEN score > 5 THEN -2 ELSE 0 END"
    (plan,) = priced(f"SELECT {name}({x}) AS v FROM open", POLICY, "add-remove").levels
    values = [-2, 0, 1, 1]
    cells = pa.table({f"m{place}": [cell] for place, cell in enumerate(exact(plan, values))})
    band = band_of(plan, NoisyCells(cells), 0, CONFIDENCE, None)
    assert band is not None
    assert [band.low[0], band.high[0]] == pytest.approx([np.var(values, ddof=less)] * 2)
