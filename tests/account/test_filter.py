"""The filter against exact adversaries, Google's privacy-loss distributions and high precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import pytest
from dp_accounting import dp_event
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from sanql.account import (
    Charge,
    FailureEvent,
    Filter,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    Totals,
)
from sanql.account.filter import order_limits, order_weights
from sanql.account.renyi import ORDERS, UNIT_BITS
from sanql.policy.model import Accounting, Budget

Laplace = Callable[[str], Charge]
Gaussian = Callable[[str, str], Charge]


def budget(epsilon: str, delta: str) -> Budget:
    return Budget(Fraction(epsilon), Fraction(delta))


def fill(rule: Filter, charge: Charge, most: int = 10_000) -> tuple[int, Totals]:
    """How many times a charge fits, and the totals then."""
    totals = Totals()
    for count in range(most):
        if not rule.fits(totals, charge):
            return count, totals
        totals = totals.add(charge)
    raise AssertionError("the budget never ends")


def test_ten_tenths_fit_one_and_an_eleventh_does_not(laplace: Laplace) -> None:
    for accounting in ("pure", "renyi"):
        count, _ = fill(Filter(budget("1", "0"), accounting), laplace("0.1"))
        assert count == 10


def test_without_a_delta_renyi_accounting_takes_no_gaussian(gaussian: Gaussian) -> None:
    assert not Filter(budget("10", "0"), "renyi").fits(Totals(), gaussian("0.1", "1e-9"))


def test_pure_accounting_adds_claims_of_delta_too(gaussian: Gaussian) -> None:
    rule = Filter(budget("100", "1e-6"), "pure")
    assert fill(rule, gaussian("0.1", "1e-7"))[0] == 10


def test_leaks_take_at_most_half_of_delta() -> None:
    leaky = Charge((FailureEvent(Fraction(1, 10**7)),), Fraction(0), Fraction(1, 10**7))
    assert fill(Filter(budget("1", "1e-6"), "renyi"), leaky)[0] == 5


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=20),
    st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 100)),
)
@settings(max_examples=25, deadline=None)
def test_the_orders_limits_solve_their_equation_with_weights_that_add_up_to_one(
    epsilon: Fraction, delta: Fraction
) -> None:
    mpmath.mp.dps = 50
    weights, limits = (f(Budget(epsilon, delta)) for f in (order_weights, order_limits))
    assert sum(weights) == 1
    assert sorted(weights)[-1] == Fraction(1, 2)
    spent = mpf(0)
    for order, limit in zip(ORDERS, limits, strict=True):
        a, b = mpf(order), mpf(limit) / 2**UNIT_BITS
        c = (1 / a) * (1 - 1 / a) ** (a - 1)
        spent += c * mpmath.exp((a - 1) * (b - mpf(epsilon.numerator) / epsilon.denominator))
    half = mpf(delta.numerator) / delta.denominator / 2
    assert half * (1 - mpf(10) ** -6) <= spent <= half


def test_the_heavy_order_is_the_best_for_gaussian_charges() -> None:
    for epsilon, delta in [("4", "1e-6"), ("1", "1e-7"), ("0.1", "1e-9")]:
        limits = order_limits(budget(epsilon, delta))
        weights = order_weights(budget(epsilon, delta))
        rhos = [limit / order for limit, order in zip(limits, ORDERS, strict=True)]
        assert weights[rhos.index(max(rhos))] == Fraction(1, 2)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("2", "0.01"), ("0.5", "0.3")])
def test_no_adaptive_adversary_exceeds_delta(epsilon: str, delta: str) -> None:
    """An adversary who picks each charge after each outcome, solved exactly by backward induction.

    Charges are two randomised responses and one that also leaks; the value is the largest
    E(1 - exp(epsilon - L))₊ over all strategies that the filter allows.
    """
    steps = [
        (Fraction(3, 10), Fraction(0)),
        (Fraction(1, 5), Fraction(0)),
        (Fraction(1, 10), Fraction(delta) / 10),
    ]
    rule = Filter(budget(epsilon, delta), "renyi")
    charges = [Charge((SelectionEvent(e, leak, 1),), e, leak) for e, leak in steps]

    @cache
    def totals(counts: tuple[int, ...]) -> Totals:
        if not any(counts):
            return Totals()
        last = max(i for i, n in enumerate(counts) if n)
        fewer = tuple(n - (i == last) for i, n in enumerate(counts))
        return totals(fewer).add(charges[last])

    @cache
    def value(counts: tuple[int, ...], tenths: int) -> float:
        """The most that can still be reached from a loss of so many tenths."""
        best = max(0.0, 1 - math.exp(float(epsilon) - tenths / 10))
        for i, (e, leak) in enumerate(steps):
            after = tuple(n + (i == j) for j, n in enumerate(counts))
            if sum(after) > 14 or not rule.within(totals(after)):
                continue
            truth, move = 1 / (1 + math.exp(-float(e))), int(e * 10)
            stays = truth * value(after, tenths + move) + (1 - truth) * value(after, tenths - move)
            best = max(best, float(leak) + (1 - float(leak)) * stays)
        return best

    assert 0 < value((0, 0, 0), 0) <= float(delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "per_query"), [("2", "1e-6", "0.3"), ("1", "1e-7", "0.05")]
)
def test_gaussians_that_fit_never_exceed_the_budget_in_truth_and_go_further_than_claims(
    epsilon: str, delta: str, per_query: str, gaussian: Gaussian
) -> None:
    charge = gaussian(per_query, "1e-9")
    rule = Filter(budget(epsilon, delta), "renyi")
    count, totals = fill(rule, charge)
    event = charge.events[0]
    assert isinstance(event, GaussianEvent)
    accountant = PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(dp_event.GaussianDpEvent(float(event.sigma2) ** 0.5), count)
    true = accountant.get_epsilon(float(delta))
    assert 0.75 * float(epsilon) <= true <= float(epsilon)
    assert count > Fraction(epsilon) / Fraction(per_query)
    assert true <= float(rule.spent_upper(totals)[0]) <= float(epsilon)


@pytest.mark.parametrize(("scale", "count_pure"), [(50, 50), (200, 200)])
def test_laplaces_that_fit_never_exceed_the_budget_in_truth_and_go_further_than_their_sum(
    scale: int, count_pure: int
) -> None:
    charge = Charge((LaplaceEvent(Fraction(scale), 1, 1),), Fraction(1, scale), Fraction(0))
    rule = Filter(budget("1", "1e-6"), "renyi")
    count, totals = fill(rule, charge)
    accountant = PLDAccountant(value_discretization_interval=1e-5)
    accountant.compose(dp_event.DiscreteLaplaceDpEvent(1 / scale, 1), count)
    true = accountant.get_epsilon(1e-6) - 1e-5 * count
    assert 0.5 <= true <= 1
    assert count > count_pure
    assert true <= float(rule.spent_upper(totals)[0]) <= 1


def test_a_mixture_that_fits_never_exceeds_the_budget_in_truth(gaussian: Gaussian) -> None:
    laplace = Charge((LaplaceEvent(Fraction(100), 1, 1),), Fraction(1, 100), Fraction(0))
    normal = gaussian("0.1", "1e-9")
    rule, totals, count = Filter(budget("1", "1e-6"), "renyi"), Totals(), 0
    while rule.fits(totals.add(laplace), normal):
        totals, count = totals.add(laplace).add(normal), count + 1
    event = normal.events[0]
    assert isinstance(event, GaussianEvent)
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(dp_event.GaussianDpEvent(float(event.sigma2) ** 0.5), count)
    accountant.compose(dp_event.DiscreteLaplaceDpEvent(1 / 100, 1), count)
    true = accountant.get_epsilon(1e-6) - 1e-4 * count
    assert count > 20
    assert true <= float(rule.spent_upper(totals)[0]) <= 1


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(["pure", "renyi"]))
def test_a_purely_private_query_up_to_what_remains_still_fits(
    data: st.DataObject, accounting: Accounting
) -> None:
    scales = st.fractions(min_value=1, max_value=100, max_denominator=100)
    rule, totals = Filter(budget("2", "1e-6"), accounting), Totals()
    for scale in data.draw(st.lists(scales, max_size=30)):
        charge = Charge((LaplaceEvent(scale, 1, 1),), 1 / scale, Fraction(0))
        if rule.fits(totals, charge):
            totals = totals.add(charge)
    left = rule.remaining_lower(totals).epsilon
    if left > 0:
        assert rule.fits(totals, Charge((LaplaceEvent(1 / left, 1, 1),), left, Fraction(0)))
    fits = rule.fits(
        totals, Charge((LaplaceEvent(Fraction(1, 3), 1, 1),), Fraction(3), Fraction(0))
    )
    assert not fits
    assert rule.spent_upper(totals)[0] <= 2


def test_the_suggested_epsilon_fits_and_is_nearly_the_largest(
    laplace: Laplace, gaussian: Gaussian
) -> None:
    for accounting in ("pure", "renyi"):
        rule = Filter(budget("1", "1e-6"), accounting)
        totals = Totals().add(laplace("0.7"))
        found = rule.largest_epsilon_that_fits(totals, laplace("0.9"))
        assert found is not None
        assert rule.fits(totals, laplace(str(found)))
        assert not rule.fits(totals, laplace(str(found * Fraction(11, 10))))
    rule = Filter(budget("1", "1e-6"), "renyi")
    _, totals = fill(rule, gaussian("0.3", "1e-8"))
    found = rule.largest_epsilon_that_fits(totals, gaussian("0.3", "1e-8"))
    assert found is not None
    assert rule.fits(totals, gaussian(str(found), "1e-8"))


def test_where_no_epsilon_fits_none_is_suggested(laplace: Laplace) -> None:
    rule = Filter(budget("1", "0"), "pure")
    totals = Totals().add(laplace("1"))
    assert rule.largest_epsilon_that_fits(totals, laplace("0.1")) is None
    leaky = Charge((FailureEvent(Fraction(1, 10)),), Fraction(1), Fraction(1, 10))
    assert Filter(budget("1", "1e-6"), "renyi").largest_epsilon_that_fits(Totals(), leaky) is None


def test_totals_do_not_depend_on_the_order_of_charges(laplace: Laplace, gaussian: Gaussian) -> None:
    charges = [laplace("0.1"), gaussian("0.2", "1e-8"), laplace("0.3")]
    forward, backward = Totals(), Totals()
    for charge in charges:
        forward = forward.add(charge)
    for charge in reversed(charges):
        backward = backward.add(charge)
    assert forward == backward
