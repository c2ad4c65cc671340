"""Lifting to zero and rounding: done to noisy values, before arithmetic, with intervals that hold."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sanql.answer.display import AS_THEY_ARE, Display, check_display, widened_half_width
from sanql.answer.post_process import show
from sanql.errors import Refused
from sanql.mechanisms import ExactSampler
from sanql.noise.cells import add_noise
from sanql.options.values import parse_nonnegative, parse_other, parse_rounded
from sanql.plan.accuracy import half_width
from sanql.plan.level import Level
from support.one_level import plan_of

Planned = Callable[..., Level]
CONFIDENCE = Fraction(9, 10)
SQL = (
    "SELECT age, score, COUNT(*) AS n, SUM(age) AS s, SUM(score) AS t, SUM(income) AS i, "
    "AVG(age) AS a, COUNT(*) - 5 AS less, 2 * COUNT(*) AS twice FROM visits GROUP BY age, score"
)
NUMBERS = np.random.default_rng(11)


def noisy(plan: Level) -> tuple[Any, Any]:
    """Return exact cells for every key, mostly empty, and the same with real noise."""
    ages, scores = np.divmod(np.arange(121 * 41), 41)
    columns: dict[str, Any] = {"k0": ages, "k1": scores - 10}
    for index in range(len(plan.measurements)):
        columns[f"m{index}"] = NUMBERS.integers(0, 30, ages.size) * (ages % 3 == 0)
    exact = pa.table(columns)
    return exact, add_noise(plan, exact, ExactSampler())


@pytest.fixture(scope="module")
def cells(planned: Planned) -> tuple[Level, Any, Any]:
    """Return a plan, its noisy cells, and what they show as they are."""
    plan = planned(SQL, "0.5")
    _, found = noisy(plan)
    return plan, found, show(plan, found, CONFIDENCE)


def column(shown: Any, name: str) -> np.ndarray:
    return np.asarray(shown.table.column(name).to_numpy())


def test_counts_and_sums_that_cannot_be_negative_are_lifted(cells: Any) -> None:
    plan, found, plain = cells
    lifted = show(plan, found, CONFIDENCE, Display(nonnegative=True))
    for name in ("n", "s"):
        before, after = column(plain, name), column(lifted, name)
        assert (before < 0).any()
        assert (after == np.maximum(before, 0)).all()
        for end, raised in zip(plain.intervals[name], lifted.intervals[name], strict=True):
            assert (raised == np.maximum(end, 0)).all()
    for name in ("t", "i", "a"):  # may be negative, or is no count or sum
        assert np.array_equal(column(plain, name), column(lifted, name), equal_nan=True)
    # arithmetic runs on lifted values
    assert (column(lifted, "less") == column(lifted, "n") - 5).all()
    assert (lifted.intervals["less"][0] == lifted.intervals["n"][0] - 5).all()


@pytest.mark.parametrize("typed", ["10", "7", "0.5", "250"])
def test_counts_and_sums_are_shown_to_the_nearest_multiple(cells: Any, typed: str) -> None:
    plan, found, plain = cells
    step = Fraction(typed)
    rounded = show(plan, found, CONFIDENCE, Display(rounded=step))
    for name in ("n", "s", "t", "i"):
        whole = name != "i"
        size = 1 if whole and step < 1 else step
        for before, after in zip(
            column(plain, name)[:500], column(rounded, name)[:500], strict=True
        ):
            expected = math.floor(Fraction(float(before)) / size + Fraction(1, 2)) * size
            assert after == pytest.approx(float(expected), abs=1e-9)
        assert column(rounded, name).dtype == column(plain, name).dtype
    assert np.array_equal(column(plain, "a"), column(rounded, "a"), equal_nan=True)
    assert (column(rounded, "twice") == 2 * column(rounded, "n")).all()


@pytest.mark.parametrize("finish", [Display(rounded=Fraction(10)), Display(rounded=Fraction("0.3")), Display(nonnegative=True, rounded=Fraction(25)), Display(nonnegative=True)])  # fmt: skip
def test_intervals_hold_whatever_they_held_before(planned: Planned, finish: Display) -> None:
    plan = planned("SELECT age, score, SUM(age + 0.0) AS s FROM visits GROUP BY age, score", "0.5")
    _, found = noisy(plan)
    plain, finished = (show(plan, found, CONFIDENCE, each) for each in (AS_THEY_ARE, finish))
    (low, high), (lower, higher) = plain.intervals["s"], finished.intervals["s"]
    if finish.nonnegative:  # an exact value is never below zero here
        assert (lower <= np.maximum(low, 0)).all() and (higher >= high).all() and lower.min() >= 0
    else:
        assert (lower <= low).all() and (higher >= high).all()
    if finish.rounded is not None:
        size = float(finish.rounded)
        assert (lower > low - 1.000001 * size)[low > 0].all()
        assert (higher < np.maximum(high, 0) + 1.000001 * size).all()
        ends = np.concatenate([lower, higher]) / size
        assert np.allclose(ends, np.round(ends))
    values = column(finished, "s")
    assert (lower <= values).all() and (values <= higher).all()


@pytest.mark.parametrize("typed", ["1", "10", "7", "0.3", "1000"])
def test_the_width_explained_beforehand_is_never_exceeded(planned: Planned, typed: str) -> None:
    plan = planned("SELECT age, score, SUM(income) AS s FROM visits GROUP BY age, score", "0.5")
    finish = Display(rounded=Fraction(typed))
    width = half_width(plan, 0, CONFIDENCE)
    assert width is not None
    most = float(widened_half_width(plan, 0, finish, width))
    _, found = noisy(plan)
    shown = show(plan, found, CONFIDENCE, finish)
    low, high = shown.intervals["s"]
    away = np.maximum(column(shown, "s") - low, high - column(shown, "s"))
    assert away.max() <= most * (1 + 1e-9)
    assert away.max() >= float(width)


def test_a_whole_number_at_the_end_of_its_range_is_rounded_without_wrapping(
    planned: Planned, silent: Any
) -> None:
    plan = planned("SELECT COUNT(*) AS n FROM rows")
    for exact in (2**62, -(2**62), 2**62 - 3):
        cells = add_noise(plan, pa.table({"m0": pa.array([exact], pa.int64())}), silent)
        shown = show(plan, cells, CONFIDENCE, Display(rounded=Fraction(10**12)))
        value = shown.table.column("n")[0].as_py()
        assert value % 10**12 == 0 and abs(value - exact) <= 10**12 // 2


def test_a_multiple_that_is_no_whole_number_suits_no_count(planned: Planned) -> None:
    plan = planned("SELECT COUNT(*), SUM(income) FROM rows")
    for typed in ("2.5", "0.3"):
        with pytest.raises(Refused) as caught:
            check_display(plan_of(plan), Display(rounded=Fraction(typed)))
        assert caught.value.code == "rounded_invalid"
        assert "COUNT(*)" in caught.value.message
    for typed in ("0.5", "0.01", "3"):
        check_display(plan_of(plan), Display(rounded=Fraction(typed)))
    check_display(
        plan_of(planned("SELECT SUM(income), AVG(age) FROM rows")), Display(rounded=Fraction("2.5"))
    )


@pytest.mark.parametrize("typed", [0, -1, "ten", "1e-9", "1e13", "nan", True, "", "1/3", float("inf")])  # fmt: skip
def test_what_is_no_multiple_is_refused_by_name(typed: object) -> None:
    with pytest.raises(Refused) as caught:
        parse_rounded(typed)
    assert caught.value.code == "rounded_invalid"


@pytest.mark.parametrize("typed", ["", "x" * 101, 5, True, "a\nb", "a\x00"])
def test_what_cannot_name_a_row_is_refused_by_name(typed: object) -> None:
    with pytest.raises(Refused) as caught:
        parse_other(typed)
    assert caught.value.code == "other_invalid"


@pytest.mark.parametrize("typed", ["YES", "1", ""])
def test_what_is_neither_true_nor_false_is_refused_by_name(typed: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_nonnegative(typed)
    assert caught.value.code == "nonnegative_invalid"
