"""Claims of single queries against optimisation in high precision and Google's accountants."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from dp_accounting import dp_event
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from sanql.account.accountants.conversion import epsilon_upper, gaussian_rho_lower, stationary_order
from sanql.account.charge import Charge
from sanql.account.events import Event, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent

pytestmark = pytest.mark.slow

EPSILONS = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6)
DELTAS = st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 10))


def exact(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def delta_of(rho: mpf, epsilon: mpf, order: mpf) -> mpf:
    """The conversion of Canonne, Kamath and Steinke (2020), corollary 13, at one order."""
    return (
        mpmath.exp((order - 1) * (order * rho - epsilon)) / (order - 1) * (1 - 1 / order) ** order
    )


def best_delta(rho: mpf, epsilon: mpf) -> mpf:
    start = 1 + mpmath.sqrt(epsilon / rho)
    orders = [1 + (start - 1) * mpf(2) ** (mpf(k) / 16) for k in range(-160, 161)]
    best = min(range(len(orders)), key=lambda i: delta_of(rho, epsilon, orders[i]))
    low, high = orders[max(best - 1, 0)], orders[min(best + 1, len(orders) - 1)]
    for _ in range(120):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if delta_of(rho, epsilon, left) <= delta_of(rho, epsilon, right):
            high = right
        else:
            low = left
    return delta_of(rho, epsilon, (low + high) / 2)


@settings(max_examples=8, deadline=None)
@given(EPSILONS, DELTAS)
def test_the_rho_for_an_epsilon_is_the_largest_that_converts(
    epsilon: Fraction, delta: Fraction
) -> None:
    mpmath.mp.dps = 50
    rho = exact(gaussian_rho_lower(epsilon, delta))
    assert best_delta(rho, exact(epsilon)) <= exact(delta)
    assert best_delta(rho * (1 + mpf(10) ** -7), exact(epsilon)) > exact(delta)


def test_the_order_that_converts_best_is_where_the_derivative_says() -> None:
    """Against differences in high precision."""
    mpmath.mp.dps = 50
    for rho, delta in [("1e-9", "1e-6"), ("0.01", "1e-9"), ("0.5", "1e-4"), ("3", "1e-12")]:
        order = stationary_order(float(rho), Fraction(delta))
        assert order is not None

        def cost(a: mpf, rho: str = rho, delta: str = delta) -> mpf:
            c = mpmath.log((1 / a) * (1 - 1 / a) ** (a - 1))
            return a * mpf(rho) + (c - mpmath.log(mpf(delta))) / (a - 1)

        slope = mpmath.diff(cost, mpf(order)) * (order - 1)
        assert abs(slope) <= cost(mpf(order)) * mpf(10) ** -7


@settings(max_examples=60, deadline=None)
@given(EPSILONS, DELTAS, st.integers(1, 5))
def test_a_gaussian_charge_planned_to_the_limit_is_accepted_and_one_beyond_it_refused(
    epsilon: Fraction, delta: Fraction, parts: int
) -> None:
    rho = gaussian_rho_lower(epsilon, delta)
    event = GaussianEvent(parts / (2 * rho), Fraction(1))
    Charge((event,) * parts, epsilon, delta)
    loud = GaussianEvent(parts / (2 * rho) * Fraction(999_999, 10**6), Fraction(1))
    with pytest.raises(ValueError, match="do not satisfy"):
        Charge((loud,) * parts, epsilon, delta)


events = st.one_of(
    st.builds(
        LaplaceEvent,
        st.fractions(min_value=Fraction(1, 2), max_value=1000, max_denominator=100),
        st.integers(1, 20),
        st.integers(1, 20),
    ),
    st.builds(
        GaussianEvent,
        st.fractions(min_value=Fraction(1, 2), max_value=10**6, max_denominator=100),
        st.fractions(min_value=Fraction(1), max_value=20, max_denominator=100),
    ),
    st.builds(
        SelectionEvent,
        st.fractions(min_value=Fraction(1, 100), max_value=2, max_denominator=100),
        st.fractions(min_value=0, max_value=Fraction(1, 10**9)),
        st.integers(1, 5),
    ),
    st.builds(FailureEvent, st.fractions(min_value=0, max_value=Fraction(1, 10**9))),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(events, max_size=5), DELTAS)
def test_the_epsilon_proved_for_any_events_makes_a_valid_charge(
    chosen: list[Event], delta: Fraction
) -> None:
    delta = max(Fraction(1, 10**7), delta)
    epsilon = epsilon_upper(chosen, delta)
    charge = Charge(tuple(chosen), epsilon, delta)
    assert Charge.from_dict(charge.to_dict()) == charge


def test_gaussians_agree_with_googles_renyi_accountant_and_never_fall_below() -> None:
    for sigma2, count, delta in [(25, 1, 1e-6), (100, 10, 1e-7), (4, 3, 1e-5)]:
        accountant = RdpAccountant([1 + x / 100 for x in range(1, 10_000)])
        accountant.compose(dp_event.GaussianDpEvent(sigma2**0.5), count)
        ours = epsilon_upper(
            [GaussianEvent(Fraction(sigma2), Fraction(1))] * count, Fraction(delta)
        )
        theirs = accountant.get_epsilon(delta)
        assert theirs * (1 - 1e-4) <= float(ours) <= theirs * (1 + 1e-9)


@pytest.mark.parametrize(
    ("scale", "l1", "count", "delta"),
    [(1, 1, 1, 1e-6), (20, 1, 40, 1e-6), (10, 3, 30, 1e-5), (5, 1, 100, 1e-8)],
)
def test_laplaces_cover_the_true_epsilon_of_their_privacy_loss(
    scale: int, l1: int, count: int, delta: float
) -> None:
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(dp_event.DiscreteLaplaceDpEvent(1 / scale, l1), count)
    ours = epsilon_upper([LaplaceEvent(Fraction(scale), l1, l1)] * count, Fraction(delta))
    # Google's figure is itself rounded up, by at most one interval for each event.
    assert float(ours) >= accountant.get_epsilon(delta) - 1e-4 * count
    assert float(ours) <= accountant.get_epsilon(delta) * 1.25 + 1e-3


def test_a_key_that_surfaces_needs_no_more_than_its_delta() -> None:
    """Two databases, one cell that only the second holds, computed exactly in both directions."""
    mpmath.mp.dps = 40
    sigma2, threshold, delta = Fraction(9), 12, Fraction(1, 10**5)
    mass = {k: mpmath.exp(-(mpf(k) ** 2) / (2 * 9)) for k in range(-80, 81)}
    total = mpmath.fsum(mass.values())
    mass = {k: value / total for k, value in mass.items()}
    surfaces = mpmath.fsum(p for k, p in mass.items() if k + 1 > threshold)
    failure = Fraction(int(surfaces * 10**30) + 1, 10**30)
    # One shared cell moves by 1; the lone key adds "hidden" or the value it surfaces with.
    alone = {None: 1 - surfaces} | {k + 1: p for k, p in mass.items() if k + 1 > threshold}
    absent = {None: mpf(1)}
    chosen = [GaussianEvent(sigma2, Fraction(1)), FailureEvent(failure)]
    epsilon = exact(epsilon_upper(chosen, delta + failure))
    for shift, first, second in ((1, alone, absent), (-1, absent, alone)):
        gap = mpmath.fsum(
            max(mass[k] * p - mpmath.exp(epsilon) * mass.get(k + shift, 0) * second.get(key, 0), 0)
            for k in mass
            for key, p in first.items()
        )
        assert gap <= exact(delta + failure)


@pytest.mark.parametrize(
    ("chosen", "epsilon", "delta"),
    [
        ((LaplaceEvent(Fraction(10), 1, 1),), "99/1000", "0/1"),
        ((GaussianEvent(Fraction(100), Fraction(1)),), "1/1", "0/1"),
        ((SelectionEvent(Fraction(1, 10), Fraction(1, 10**6), 2),), "2/10", "1/1000000"),
        ((SelectionEvent(Fraction(1, 10), Fraction(1, 10**6), 3),), "2/10", "3/1000000"),
        ((FailureEvent(Fraction(1, 10**6)),), "1/1", "0/1"),
    ],
)
def test_a_charge_that_claims_too_little_does_not_exist(
    chosen: tuple[Event, ...], epsilon: str, delta: str
) -> None:
    with pytest.raises(ValueError, match="do not satisfy"):
        Charge(chosen, Fraction(epsilon), Fraction(delta))


def test_leaks_above_delta_have_no_epsilon() -> None:
    with pytest.raises(ValueError, match="leak"):
        epsilon_upper([FailureEvent(Fraction(1, 10))], Fraction(1, 100))
    with pytest.raises(ValueError, match="Gaussian"):
        epsilon_upper([GaussianEvent(Fraction(1), Fraction(1))], Fraction(0))


@pytest.mark.parametrize(
    "shape",
    [
        {"delta": "0/1", "epsilon": "1/1"},
        {"delta": "0/1", "epsilon": "1", "events": []},
        {"delta": "0/1", "epsilon": "2/2", "events": []},
        {"delta": "0/2", "epsilon": "1/1", "events": []},
        {"delta": "0/1", "epsilon": "1/1", "events": [], "more": 1},
        {"delta": "0/1", "epsilon": "1/1", "events": [{"kind": "magic"}]},
        {"delta": "0/1", "epsilon": "-1/1", "events": []},
        {"delta": 0, "epsilon": "1/1", "events": []},
        {
            "delta": "0/1",
            "epsilon": "1/1",
            "events": [{"kind": "laplace", "scale": "10/1", "l1": True, "linf": 1}],
        },
    ],
)
def test_what_is_not_the_canonical_text_of_a_charge_is_no_charge(shape: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Charge.from_dict(shape)
