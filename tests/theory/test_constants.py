"""Constants that no single implication carries: tight, and safe where they are rounded."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.theory import constants
from sanql.theory.channels import Channel
from sanql.theory.definitions import secrets
from sanql.theory.definitions.worlds import World
from sanql.theory.distributions import Distribution
from sanql.theory.divergences import hockey_stick, statistical_difference
from sanql.theory.implications.guarantees import Setting, guarantee
from sanql.theory.implications.search import edge_named
from theory.strategies import distributions, gammas


@pytest.mark.slow
@given(distributions(), distributions(), gammas())
def test_one_order_alone_bounds_the_statistical_difference(
    p: Distribution, q: Distribution, gamma: Fraction
) -> None:
    delta = hockey_stick(p, q, gamma)
    assert statistical_difference(p, q) <= constants.one_sided_difference_bound(gamma, delta)


def test_the_bound_from_one_order_is_attained() -> None:
    # P never lies where Q puts more than half of its mass, and P <= 2 Q elsewhere
    p, q = Distribution.over(["1", "0"]), Distribution.over(["1/2", "1/2"])
    assert hockey_stick(p, q, 2) == 0
    tight = constants.one_sided_difference_bound(Fraction(2), Fraction(0))
    assert statistical_difference(p, q) == tight == Fraction(1, 2)


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 66, 100, 200])
@pytest.mark.parametrize("gamma", [Fraction(1), Fraction(101, 100), Fraction(3, 2)])
def test_the_delta_of_a_large_group_is_the_sum_rounded_up_a_little(
    gamma: Fraction, size: int
) -> None:
    delta = Fraction(1, 10**60)
    exact = delta * sum(gamma**k for k in range(size))
    found = constants.group_delta(gamma, delta, size)
    assert exact <= found <= exact * (1 + Fraction(1, 10**9))


def test_a_group_too_large_for_any_promise_is_promised_nothing() -> None:
    assert constants.group_delta(Fraction(2), Fraction(1, 10**60), 10**12) == 1
    assert constants.group_delta(Fraction(2), Fraction(0), 10**12) == 0
    assert constants.group_delta(Fraction(1), Fraction(1, 10**13), 10**12) == Fraction(1, 10)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    distributions(3),
    distributions(3),
    gammas(),
    st.fractions("1/20", "19/20", max_denominator=20),
    st.fractions("1/20", "1/2", max_denominator=20),
)
def test_no_secret_is_told_more_often_than_the_sharp_form_of_theorem_7_says(
    p: Distribution, q: Distribution, gamma: Fraction, prior: Fraction, slack: Fraction
) -> None:
    channel = Channel.of({0: p, 1: q})
    world = World.of({(0, None): prior, (1, None): 1 - prior})
    secret = secrets.Secret("bit", lambda x: x)
    delta = Fraction(secrets.pufferfish_delta(channel, [world], [secret], gamma)["delta"])
    failed = secrets.pufferfish_inference_failure(
        channel, [world], [secret], gamma=gamma, delta_hat=slack
    )
    sharp = constants.pufferfish_failure_sharp(gamma, delta, slack, prior)
    assert failed <= sharp <= constants.pufferfish_failure(delta, slack, prior)


def test_the_sharp_form_of_theorem_7_is_nearly_attained() -> None:
    # output 0 comes only when the secret is 0, rarely: it moves a belief of 1/2 to certainty
    channel = Channel.of({0: Distribution.over(["1/100", "99/100"]), 1: Distribution.over([0, 1])})
    world = World.of({(0, None): "1/2", (1, None): "1/2"})
    secret = secrets.Secret("bit", lambda x: x)
    failed = secrets.pufferfish_inference_failure(
        channel, [world], [secret], gamma=1, delta_hat="49/100"
    )
    sharp = constants.pufferfish_failure_sharp(
        Fraction(1), Fraction(1, 100), Fraction(49, 100), Fraction(1, 2)
    )
    assert failed == Fraction(1, 200) <= sharp <= Fraction(11, 1000)


def test_the_constant_of_theorem_a_3_is_the_sum_over_all_records() -> None:
    # delta [K + (n - 1) e^eps K + 2] for n > 1, K at tau = 1/2 and e^eps = 1: (2 - tau)/tau = 3
    given = guarantee("approximate_dp", epsilon=0.0, delta=1e-6)
    for records, times in ((1, 3 + 1), (2, 3 + 3 + 2), (5, 3 + 4 * 3 + 2)):
        found = edge_named("ks-a.3").apply(given, Setting(records=records, tau=0.5))
        assert found["delta"] == pytest.approx(times * 1e-6, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0, 1, 40, 400, 700])
@pytest.mark.parametrize("delta", [0.1, 1e-9, 1e-200, 5e-324, 1.0])
@pytest.mark.parametrize("pairs", [1, 10**12])
def test_the_one_delta_of_the_inference_theorems_is_never_too_small(
    epsilon: float, delta: float, pairs: int
) -> None:
    gamma = math.exp(epsilon)
    with localcontext(prec=1000):
        d, g = Decimal(delta) * pairs, Decimal(gamma)
        true = min(Decimal(1), ((d * d * g * g + 4 * d * (1 + g)).sqrt() - d * g) / 2)
        found = constants.inference_delta(Fraction(gamma), Fraction(delta), pairs)
        assert true <= Decimal(found)
        assert delta < 1e-250 or Decimal(found) <= true * (1 + Decimal("1e-14"))


def test_a_slack_of_nothing_leaves_no_promise_for_a_secret() -> None:
    assert constants.pufferfish_failure(Fraction(1, 10), Fraction(0)) == 1
    assert constants.pufferfish_failure(Fraction(0), Fraction(0)) == 0
