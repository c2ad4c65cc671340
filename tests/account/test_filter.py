"""The filter against exact adversaries, Google's privacy-loss distributions and high precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import get_args

import mpmath
import pytest
from dp_accounting import dp_event
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from sanql.account.accountants.choice import accountant_for
from sanql.account.accountants.divergences import ORDERS, UNIT_BITS
from sanql.account.accountants.filter import Spent
from sanql.account.accountants.protocol import Accountant
from sanql.account.accountants.pure import PureAccountant
from sanql.account.accountants.renyi import (
    Odometer,
    RenyiAccountant,
    order_conversions,
    order_weights,
)
from sanql.account.accountants.totals import Totals
from sanql.account.charge import Charge
from sanql.account.events import FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from sanql.policy.model import Accounting, Budget

Laplace = Callable[[str], Charge]
Gaussian = Callable[[str, str], Charge]


def budget(epsilon: str, delta: str) -> Budget:
    return Budget(Fraction(epsilon), Fraction(delta))


def fill(rule: Accountant, charge: Charge, most: int = 10_000) -> tuple[int, Spent]:
    """How many times a charge fits, and what is spent then."""
    spent = Spent()
    for count in range(most):
        if not rule.fits(spent, charge):
            return count, spent
        spent = rule.take(spent, charge)
    raise AssertionError("the budget never ends")


def test_ten_tenths_fit_one_and_an_eleventh_does_not(laplace: Laplace) -> None:
    for accounting in get_args(Accounting):
        count, _ = fill(accountant_for(accounting, budget("1", "0")), laplace("0.1"))
        assert count == 10


def test_without_a_delta_renyi_accounting_takes_no_gaussian(gaussian: Gaussian) -> None:
    assert not RenyiAccountant(budget("10", "0")).fits(Spent(), gaussian("0.1", "1e-9"))


def test_pure_accounting_adds_claims_of_delta_too(gaussian: Gaussian) -> None:
    rule = PureAccountant(budget("100", "1e-6"))
    assert fill(rule, gaussian("0.1", "1e-7"))[0] == 10


def test_leaks_alone_use_all_of_delta_and_seven_eighths_once_charges_are_counted_together(
    laplace: Laplace,
) -> None:
    leaky = Charge((FailureEvent(Fraction(1, 10**7)),), Fraction(0), Fraction(1, 10**7))
    rule = RenyiAccountant(budget("1", "1e-6"))
    assert fill(rule, leaky)[0] == 10
    spent = rule.take(Spent(), laplace("0.1"))
    for number in range(9):
        left = rule.remaining_lower(spent).delta
        assert left == max(Fraction(0), Fraction(875 - 100 * number, 10**9))
        assert rule.fits(spent, leaky) is (number < 8)
        spent = rule.take(spent, leaky)


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=20),
    st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 100)),
)
@settings(max_examples=25, deadline=None)
def test_the_orders_conversions_solve_their_equation_with_weights_that_add_up_to_one(
    epsilon: Fraction, delta: Fraction
) -> None:
    mpmath.mp.dps = 50
    odometer = Odometer(epsilon, delta)
    weights, conversions = order_weights(odometer), order_conversions(odometer)
    assert sum(weights) == 1
    assert sorted(weights)[-1] == Fraction(1, 2)
    spent = mpf(0)
    for order, conversion in zip(ORDERS, conversions, strict=True):
        a, above = mpf(order), mpf(conversion) / 2**UNIT_BITS
        c = (1 / a) * (1 - 1 / a) ** (a - 1)
        spent += c * mpmath.exp((1 - a) * above)
    whole = mpf(delta.numerator) / delta.denominator
    assert whole * (1 - mpf(10) ** -6) <= spent <= whole


def test_the_heavy_order_is_the_best_for_gaussian_charges() -> None:
    for epsilon, delta in [("4", "1e-6"), ("1", "1e-7"), ("0.1", "1e-9")]:
        odometer = Odometer(Fraction(epsilon), Fraction(delta))
        weights, whole = order_weights(odometer), Fraction(epsilon) * 2**UNIT_BITS
        rhos = [
            (whole - conversion) / Fraction(order)
            for conversion, order in zip(order_conversions(odometer), ORDERS, strict=True)
        ]
        assert weights[rhos.index(max(rhos))] == Fraction(1, 2)


@pytest.mark.slow
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
    rule = RenyiAccountant(budget(epsilon, delta))
    charges = [Charge((SelectionEvent(e, leak, 1),), e, leak) for e, leak in steps]

    states = {Spent(): 0}  # numbered: a number is hashed faster

    @cache
    def taken(state: int, charge: Charge) -> int | None:
        after = rule.take(list(states)[state], charge)
        return states.setdefault(after, len(states)) if after.within(rule.budget) else None

    @cache
    def value(spent: int, asked: int, tenths: int) -> float:
        """The most that can still be reached from a loss of so many tenths."""
        best = max(0.0, 1 - math.exp(float(epsilon) - tenths / 10))
        for charge, (e, leak) in zip(charges, steps, strict=True):
            after = taken(spent, charge)
            if asked == 14 or after is None:
                continue
            truth, move = 1 / (1 + math.exp(-float(e))), int(e * 10)
            rises, falls = (value(after, asked + 1, tenths + by) for by in (move, -move))
            stays = truth * rises + (1 - truth) * falls
            best = max(best, float(leak) + (1 - float(leak)) * stays)
        return best

    assert 0 < value(0, 0, 0) <= float(delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "per_query"), [("2", "1e-6", "0.3"), ("1", "1e-7", "0.05")]
)
def test_gaussians_that_fit_never_exceed_the_budget_in_truth_and_go_further_than_claims(
    epsilon: str, delta: str, per_query: str, gaussian: Gaussian
) -> None:
    charge = gaussian(per_query, "1e-9")
    rule = RenyiAccountant(budget(epsilon, delta))
    count, totals = fill(rule, charge)
    event = charge.events[0]
    assert isinstance(event, GaussianEvent)
    accountant = PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(dp_event.GaussianDpEvent(float(event.sigma2) ** 0.5), count)
    true = accountant.get_epsilon(float(delta))
    assert 0.75 * float(epsilon) <= true <= float(epsilon)
    assert count > Fraction(epsilon) / Fraction(per_query)
    assert true <= float(rule.spent_upper(totals).epsilon) <= float(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "count_pure"), [(50, 50), (200, 200)])
def test_laplaces_that_fit_never_exceed_the_budget_in_truth_and_go_further_than_their_sum(
    scale: int, count_pure: int
) -> None:
    charge = Charge((LaplaceEvent(Fraction(scale), 1, 1),), Fraction(1, scale), Fraction(0))
    rule = RenyiAccountant(budget("1", "1e-6"))
    count, totals = fill(rule, charge)
    accountant = PLDAccountant(value_discretization_interval=1e-5)
    accountant.compose(dp_event.DiscreteLaplaceDpEvent(1 / scale, 1), count)
    true = accountant.get_epsilon(1e-6) - 1e-5 * count
    assert 0.5 <= true <= 1
    assert count > count_pure
    assert true <= float(rule.spent_upper(totals).epsilon) <= 1


def test_a_mixture_that_fits_never_exceeds_the_budget_in_truth(gaussian: Gaussian) -> None:
    laplace = Charge((LaplaceEvent(Fraction(100), 1, 1),), Fraction(1, 100), Fraction(0))
    normal = gaussian("0.1", "1e-9")
    rule, totals, count = RenyiAccountant(budget("1", "1e-6")), Spent(), 0
    while rule.fits(rule.take(totals, laplace), normal):
        totals, count = rule.take(rule.take(totals, laplace), normal), count + 1
    event = normal.events[0]
    assert isinstance(event, GaussianEvent)
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(dp_event.GaussianDpEvent(float(event.sigma2) ** 0.5), count)
    accountant.compose(dp_event.DiscreteLaplaceDpEvent(1 / 100, 1), count)
    true = accountant.get_epsilon(1e-6) - 1e-4 * count
    assert count > 20
    assert true <= float(rule.spent_upper(totals).epsilon) <= 1


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(["pure", "renyi"]))
def test_a_purely_private_query_up_to_what_remains_still_fits(
    data: st.DataObject, accounting: Accounting
) -> None:
    scales = st.fractions(min_value=1, max_value=100, max_denominator=100)
    rule, totals = accountant_for(accounting, budget("2", "1e-6")), Spent()
    for scale in data.draw(st.lists(scales, max_size=30)):
        charge = Charge((LaplaceEvent(scale, 1, 1),), 1 / scale, Fraction(0))
        if rule.fits(totals, charge):
            totals = rule.take(totals, charge)
    left = rule.remaining_lower(totals).epsilon
    if left > 0:
        assert rule.fits(totals, Charge((LaplaceEvent(1 / left, 1, 1),), left, Fraction(0)))
    fits = rule.fits(
        totals, Charge((LaplaceEvent(Fraction(1, 3), 1, 1),), Fraction(3), Fraction(0))
    )
    assert not fits
    assert rule.spent_upper(totals).epsilon <= 2


def test_the_suggested_epsilon_fits_and_is_nearly_the_largest(
    laplace: Laplace, gaussian: Gaussian
) -> None:
    for accounting in get_args(Accounting):
        rule = accountant_for(accounting, budget("1", "1e-6"))
        totals = rule.take(Spent(), laplace("0.7"))
        found = rule.largest(totals, laplace("0.9"))
        assert found is not None
        assert rule.fits(totals, laplace(str(found)))
        assert not rule.fits(totals, laplace(str(found * Fraction(11, 10))))
    rule = RenyiAccountant(budget("1", "1e-6"))
    _, totals = fill(rule, gaussian("0.3", "1e-8"))
    found = rule.largest(totals, gaussian("0.3", "1e-8"))
    assert found is not None
    assert rule.fits(totals, gaussian(str(found), "1e-8"))


def test_where_no_epsilon_fits_none_is_suggested(laplace: Laplace) -> None:
    rule = PureAccountant(budget("1", "0"))
    totals = rule.take(Spent(), laplace("1"))
    assert rule.largest(totals, laplace("0.1")) is None
    leaky = Charge((FailureEvent(Fraction(1, 10)),), Fraction(1), Fraction(1, 10))
    assert RenyiAccountant(budget("1", "1e-6")).largest(Spent(), leaky) is None


def test_totals_do_not_depend_on_the_order_of_charges(laplace: Laplace, gaussian: Gaussian) -> None:
    charges = [laplace("0.1"), gaussian("0.2", "1e-8"), laplace("0.3")]
    forward, backward = Totals(), Totals()
    for charge in charges:
        forward = forward.add(charge)
    for charge in reversed(charges):
        backward = backward.add(charge)
    assert forward == backward
