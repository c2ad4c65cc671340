"""Variances, covariances and correlations: what they are without noise, and that intervals hold.

Real rows are drawn, their exact cells computed by plain arithmetic from the plan's own description of
its measurements, and real noise added. If an interval holds with the stated confidence or more, the
number of misses is at most binomial; the limit is passed with probability at most 1e-9.
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
from sanql.question.expressions import Call, ColumnRef, Expr
from support.exact_cells import cell_of

pytestmark = pytest.mark.slow

Planned = Callable[..., Level]
FALSE_ALARM = 1e-9
CELLS = 121
SQL = (
    "SELECT age, VAR_POP(income) AS vp, VAR_SAMP(income) AS vs, STDDEV_POP(income) AS sp, "
    "STDDEV(income) AS ss, COVAR_POP(income, score) AS cp, COVAR_SAMP(income, score) AS cs, "
    "CORR(income, score) AS r FROM rows GROUP BY age"
)


def rows_of(shape: str, numbers: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return incomes and scores of every group: spread out, at one end, or hardly varying."""
    groups = []
    for _ in range(CELLS):
        size = int(numbers.integers(3, 4000))
        base = {"spread": numbers.uniform(-50, 150, size), "end": numbers.exponential(4, size) - 50}
        income = base.get(shape, 20 + numbers.normal(0, 1, size))
        income = np.round(np.clip(income, -50, 150), 2)
        score = np.clip(np.round(income / 10 + numbers.normal(0, 5, size)), -10, 30)
        groups.append((income, score))
    return groups


def exact_cells(plan: Level, groups: list[tuple[np.ndarray, np.ndarray]]) -> pa.Table:
    """Return the exact cells of the groups' rows, by plain arithmetic."""
    columns: dict[str, list[int]] = {"k0": list(range(CELLS))}
    for index, part in enumerate(plan.computed):
        cells = []
        for income, score in groups:
            total = 0
            if part.kind in (Measured.SUM, Measured.BELOW):
                assert part.expression is not None
                values = evaluated(part.expression, {"income": income, "score": score})
                steps = np.floor(values / float(part.grid) + 0.5).astype(np.int64)
                assert (steps - part.centre).min() >= part.low
                assert (steps - part.centre).max() <= part.high
                total = int(steps.sum())
            cells.append(cell_of(part, total, len(income)))
        columns[f"m{index}"] = cells
    return pa.table(columns)


def evaluated(expression: Expr, row: dict[str, np.ndarray]) -> np.ndarray:
    """Return the values of an expression over rows without NULLs."""
    match expression:
        case ColumnRef(name):
            return row[name]
        case Call("case", args):
            return evaluated(args[1], row)
        case Call("power", args):
            return evaluated(args[0], row) ** 2
        case Call("subtract", args):
            return evaluated(args[0], row) - float(args[1].value)  # type: ignore[union-attr, arg-type]
        case Call("multiply", args):
            return evaluated(args[0], row) * evaluated(args[1], row)
        case _:
            raise AssertionError(expression)


def truth(groups: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return what numpy says."""
    covariances = np.array([np.cov(income, score, ddof=0)[0, 1] for income, score in groups])
    sizes = np.array([len(income) for income, _ in groups])
    return {
        "vp": np.array([np.var(income) for income, _ in groups]),
        "vs": np.array([np.var(income, ddof=1) for income, _ in groups]),
        "sp": np.array([np.std(income) for income, _ in groups]),
        "ss": np.array([np.std(income, ddof=1) for income, _ in groups]),
        "cp": covariances,
        "cs": covariances * sizes / (sizes - 1),
        "r": np.array([np.corrcoef(income, score)[0, 1] for income, score in groups]),
    }


SHAPES = ["spread", "end", "narrow"]


@pytest.mark.parametrize("shape", SHAPES)
def test_without_noise_they_are_what_numpy_says(
    planned: Planned, silent: object, shape: str
) -> None:
    plan = planned(SQL)
    groups = rows_of(shape, np.random.default_rng(3))
    shown = show(plan, add_noise(plan, exact_cells(plan, groups), silent), Fraction(1, 2))  # type: ignore[arg-type]
    for name, expected in truth(groups).items():
        found = shown.table.column(name).to_numpy()
        known = ~np.isnan(found)  # a correlation of values that hardly vary is not told
        assert known.all() or (name == "r" and shape != "spread")
        np.testing.assert_allclose(found[known], expected[known], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0"), ("2", "1e-4"), ("50", "0")])
def test_intervals_hold_as_often_as_they_say(
    planned: Planned, shape: str, epsilon: str, delta: str
) -> None:
    plan = planned(SQL, epsilon, delta)
    groups = rows_of(shape, np.random.default_rng(5))
    exact, expected = exact_cells(plan, groups), truth(groups)
    confidence, repeats = Fraction(8, 10), 10
    missed = dict.fromkeys(expected, 0)
    for _ in range(repeats):
        shown = show(plan, add_noise(plan, exact, ExactSampler()), confidence)
        for name, (low, high) in shown.intervals.items():
            slack = 1e-3 * (1 + np.abs(expected[name]))  # the squares' grid rounds
            outside = (low > expected[name] + slack) | (high < expected[name] - slack)
            missed[name] += int(outside.sum())
    # groups of one answer are independent, and so are the answers
    allowed = binom.isf(FALSE_ALARM / len(missed), CELLS * repeats, float(1 - confidence))
    assert max(missed.values()) <= allowed, missed


def test_intervals_are_narrow_where_there_is_much_to_see(planned: Planned) -> None:
    plan = planned(SQL, "50")
    groups = rows_of("spread", np.random.default_rng(5))
    shown = show(plan, add_noise(plan, exact_cells(plan, groups), ExactSampler()), Fraction(19, 20))
    low, high = shown.intervals["sp"]
    large = np.array([len(income) > 1000 for income, _ in groups])
    assert (high - low)[large].max() < 10  # of about 58
    assert (low > 0)[large].all()


def test_values_stay_possible_however_large_the_noise(planned: Planned) -> None:
    plan = planned(SQL, "0.001")
    groups = rows_of("narrow", np.random.default_rng(5))
    shown = show(plan, add_noise(plan, exact_cells(plan, groups), ExactSampler()), Fraction(19, 20))
    for name, most in {"vp": 1e4, "sp": 1e2, "r": 1.0, "cp": 2000.0}.items():
        found = shown.table.column(name).to_numpy()
        found = found[~np.isnan(found)]
        assert found.size > 0 and np.abs(found).max() <= most
    assert np.nanmin(shown.table.column("vp").to_numpy()) >= 0


@pytest.mark.parametrize(
    "statistic", ["VAR_POP(income)", "STDDEV_POP(income)", "COVAR_POP(income, score)"]
)
def test_the_width_told_beforehand_covers_the_error(planned: Planned, statistic: str) -> None:
    plan = planned(f"SELECT age, {statistic} AS s FROM rows GROUP BY age", "5")
    numbers = np.random.default_rng(9)
    groups = [
        (
            np.round(numbers.uniform(-50, 150, 2000), 2),
            numbers.integers(-10, 31, 2000).astype(float),
        )
        for _ in range(CELLS)
    ]
    confidence = Fraction(9, 10)
    width = half_width(plan, 0, confidence, 2000)
    assert width is not None
    name = {"V": "vp", "S": "sp", "C": "cp"}[statistic[0]]
    expected = truth(groups)[name]
    missed = 0
    for _ in range(10):
        shown = show(plan, add_noise(plan, exact_cells(plan, groups), ExactSampler()), confidence)
        found = shown.table.column("s").to_numpy()
        missed += int((np.abs(found - expected) > float(width) + 1e-3).sum())
    assert missed <= binom.isf(FALSE_ALARM, CELLS * 10, 0.1)
