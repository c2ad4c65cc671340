"""Rényi curves against series summed in high precision and brute force over splits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from sanql.account.accountants.divergences import (
    ORDERS,
    ORDERS_SHARP,
    UNIT_BITS,
    conversion_sharp_upper,
    conversion_upper,
    curve,
    laplace_renyi_upper,
    renyi_units_upper,
    response_renyi_upper,
)
from sanql.account.events import GaussianEvent, LaplaceEvent, SelectionEvent

pytestmark = pytest.mark.slow

mpmath.mp.dps = 80


def exact(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


@cache
def laplace_moment_series(scale: Fraction, shift: int, order: float) -> mpf:
    """ln of the sum of P^a Q^(1-a), term by term until terms no longer count."""
    t = mpmath.exp(-1 / exact(scale))
    a, tail = mpf(order), int(60 * scale * 3) + 50
    terms = (t ** (a * abs(k) + (1 - a) * abs(k - shift)) for k in range(-tail, tail + shift + 1))
    return mpmath.log((1 - t) / (1 + t) * mpmath.fsum(terms)) / (a - 1)


def laplace_closed_form(scale: Fraction, shift: int, order: float) -> mpf:
    a, t = mpf(order), mpmath.exp(-1 / exact(scale))
    c2 = (1 - t) / (1 + t) * (1 / (1 - t) + 1 / (t ** (1 - 2 * a) - 1))
    moment = (1 - c2) * t ** (a * shift) + c2 * t ** ((1 - a) * shift)
    return mpmath.log(moment) / (a - 1)


@pytest.mark.parametrize("scale", [Fraction(1, 7), Fraction(1), Fraction(10, 3), Fraction(12)])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("order", [1.25, 2.0, 3.5, 17.0])
def test_the_laplace_formula_equals_the_series(scale: Fraction, shift: int, order: float) -> None:
    series, formula = (
        laplace_moment_series(scale, shift, order),
        laplace_closed_form(scale, shift, order),
    )
    assert abs(series - formula) < mpf(10) ** -20
    assert series <= laplace_renyi_upper(scale, shift, order) <= series * (1 + mpf(10) ** -10)


@settings(max_examples=120, deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 2000), max_value=10**9),
    st.integers(1, 10**6),
    st.sampled_from(ORDERS),
)
def test_the_laplace_curve_is_an_upper_bound_and_a_tight_one(
    scale: Fraction, shift: int, order: float
) -> None:
    true, upper = laplace_closed_form(scale, shift, order), laplace_renyi_upper(scale, shift, order)
    assert true <= upper <= true + exact(shift / scale) * mpf(2) ** -42


@settings(max_examples=120, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**4), st.sampled_from(ORDERS))
def test_the_randomised_response_curve_is_an_upper_bound_and_a_tight_one(
    epsilon: Fraction, order: float
) -> None:
    a, truth = mpf(order), 1 / (1 + mpmath.exp(-exact(epsilon)))
    lie = 1 / (1 + mpmath.exp(exact(epsilon)))
    true = mpmath.log(truth**a * lie ** (1 - a) + lie**a * truth ** (1 - a)) / (a - 1)
    upper = response_renyi_upper(epsilon, order)
    assert true <= upper <= true + exact(epsilon) * mpf(2) ** -42


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from([*ORDERS, 1e6, 1e12]),
    st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(99, 100)),
)
def test_the_conversion_is_an_upper_bound_and_a_tight_one(order: float, delta: Fraction) -> None:
    a = mpf(order)
    true = (mpmath.log((1 / a) * (1 - 1 / a) ** (a - 1)) - mpmath.log(exact(delta))) / (a - 1)
    upper = conversion_upper(order, delta)
    size = (abs(true) * (a - 1) + 200) / (a - 1)
    assert true <= upper <= true + size * mpf(2) ** -40


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.floats(*ORDERS_SHARP),
        st.floats(-10, 40).map(lambda octave: min(1 + 2.0**octave, ORDERS_SHARP[1])),
    ),
    st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(99, 100)),
    st.sampled_from([1, 3**700, 7**30]),
)
def test_the_sharp_conversion_loses_less_than_a_third_of_its_slack(
    order: float, delta: Fraction, finer: int
) -> None:
    """Also of deltas whose numerator and denominator no float can hold."""
    delta = (delta * finer + Fraction(1, 11)) / (finer + 1)
    a = mpf(order)
    shrink = (a - 1) * mpmath.log(1 - 1 / a)
    true = (shrink - mpmath.log(a) - mpmath.log(exact(delta))) / (a - 1)
    logs = mpmath.log(delta.numerator) + mpmath.log(delta.denominator)
    size = (mpmath.log(a) - shrink + logs + 1) / (a - 1)
    rounding = (conversion_sharp_upper(order, delta) - true) / size * mpf(2) ** 53 - 64
    assert -20 <= rounding <= 20


def test_the_sharp_conversion_takes_no_order_whose_rounding_is_not_bounded() -> None:
    for order in (1 + 2.0**-11, 2.0**41, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="not bounded"):
            conversion_sharp_upper(order, Fraction(1, 10**6))


def splits(total: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as a sum of parts of at most `most`."""
    if total == 0:
        yield ()
    for part in range(min(total, most), 0, -1):
        for rest in splits(total - part, part):
            yield (part, *rest)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(40)])
@pytest.mark.parametrize(("l1", "linf"), [(1, 1), (5, 2), (7, 3), (8, 8), (9, 4), (3, 10)])
def test_the_split_of_the_move_over_cells_is_the_worst_one(
    scale: Fraction, l1: int, linf: int
) -> None:
    for order in (1.25, 2.0, 9.0, 65.0):
        worst = max(
            mpmath.fsum(laplace_closed_form(scale, shift, order) for shift in split)
            for split in splits(l1, linf)
        )
        priced = mpf(renyi_units_upper((LaplaceEvent(scale, l1, linf),), order)) / 2**UNIT_BITS
        assert worst <= priced <= worst * (1 + mpf(10) ** -9)


def test_the_laplace_curve_is_convex_in_the_shift() -> None:
    for order in (1.25, 2.0, 9.0):
        curve = [laplace_closed_form(Fraction(5, 2), shift, order) for shift in range(12)]
        steps = [after - before for before, after in pairwise(curve)]
        assert curve[0] == 0
        assert steps == sorted(steps)


def test_a_selection_costs_its_cells_and_a_gaussian_its_order_times_rho() -> None:
    one = renyi_units_upper((SelectionEvent(Fraction(1, 3), Fraction(1, 10**9), 1),), 4.0)
    five = renyi_units_upper((SelectionEvent(Fraction(1, 3), Fraction(1, 10**9), 5),), 4.0)
    assert five == 5 * one
    event = GaussianEvent(Fraction(32), Fraction(1))
    assert renyi_units_upper((event,), 4.0) == 4 * 2**UNIT_BITS // 64


SLACK = 2.0**-44
"""What the module adds for rounding, relative to the pure epsilon."""


def one_upper(pure: float, weight: float, exponent: float, order: float) -> float:
    saved = math.log1p(weight * math.expm1(-exponent)) / (order - 1)
    return max(0.0, (pure + saved if saved < 0 else pure) + pure * SLACK)


def one_laplace(scale: Fraction, shift: int, order: float) -> float:
    """The formula at one order alone, in the same steps."""
    pure, rate = shift * scale.denominator / scale.numerator, scale.denominator / scale.numerator
    if rate > 600:
        return pure * (1 + SLACK)
    ratio, inner = math.exp(-rate), (2 * order - 1) * rate
    tail = 1 / math.expm1(inner) if inner < 600 else 0.0
    near = (ratio + math.expm1(-rate) * tail) / (1 + ratio)
    return one_upper(pure, near, (2 * order - 1) * pure, order) if shift else 0.0


def one_response(epsilon: Fraction, order: float) -> float:
    pure = float(epsilon)
    lie = math.exp(-pure) / (1 + math.exp(-pure))
    return one_upper(pure, lie, 2 * (order - 1) * pure, order) if epsilon else 0.0


def units(value: float) -> int:
    return math.ceil(math.ldexp(value, UNIT_BITS))


@given(
    st.fractions(min_value=Fraction(1, 2000), max_value=10**6),
    st.integers(0, 40),
    st.integers(1, 12),
)
@settings(deadline=None)
def test_a_curve_has_at_each_order_the_very_number_of_that_order_alone(
    size: Fraction, l1: int, linf: int
) -> None:
    full, rest = divmod(l1, min(l1, linf)) if l1 else (0, 0)
    assert curve([LaplaceEvent(size, l1, linf)]) == tuple(
        full * units(one_laplace(size, min(l1, linf), order))
        + units(one_laplace(size, rest, order))
        for order in ORDERS
    )
    epsilon = min(size, Fraction(10**4))
    assert curve([SelectionEvent(epsilon, Fraction(0), linf)]) == tuple(
        linf * units(one_response(epsilon, order)) for order in ORDERS
    )
