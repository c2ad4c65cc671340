"""Every definition solved for each parameter: at the level found it holds, just below it does not."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings

from sanql.theory.channels import Channel
from sanql.theory.definitions import level_search, secret_levels, secrets, semantic_bounds
from sanql.theory.definitions.inference_best import best_inference_privacy
from sanql.theory.definitions.secrets import Secret
from sanql.theory.definitions.semantic import failure_probability
from sanql.theory.definitions.simulation import simulation_dp_delta, simulation_dp_gamma
from sanql.theory.definitions.worlds import World, records
from sanql.theory.distributions import Distribution
from sanql.theory.exact import INFINITE
from theory.strategies import beliefs, channels, gammas, probabilities

pytestmark = pytest.mark.slow

BITS = list(product((0, 1), repeat=2))
CELLS = [(x, z) for x in BITS for z in (0, 1)]
WORLDS = beliefs(CELLS, 8).map(World)
PARITY = (Secret("parity", lambda x: sum(x) % 2), Secret("first", lambda x: x[0]))
NEAR = 1 - Fraction(1, 10**12)


@settings(deadline=None, max_examples=300)
@given(channels(), WORLDS, probabilities())
def test_noiseless_and_pufferfish_hold_at_the_level_found_and_not_below(
    channel: Channel, world: World, delta: Fraction
) -> None:
    for solve, evaluate in (
        (
            lambda: secret_levels.noiseless_gamma(channel, [world], delta),
            lambda g: secrets.noiseless_delta(channel, [world], g),
        ),
        (
            lambda: secret_levels.pufferfish_gamma(channel, [world], PARITY, delta),
            lambda g: secrets.pufferfish_delta(channel, [world], PARITY, g),
        ),
    ):
        gamma = solve()["gamma"]
        if gamma == INFINITE:
            assert evaluate(Fraction(10**9))["delta"] > delta
            continue
        assert evaluate(gamma)["delta"] <= delta
        below = Fraction(gamma) * NEAR
        assert below < 1 or evaluate(below)["delta"] > delta


@settings(deadline=None, max_examples=300)
@given(channels(), WORLDS, gammas(), probabilities(), probabilities())
def test_the_inference_form_is_solved_for_each_of_its_three_numbers(
    channel: Channel, world: World, gamma: Fraction, slack: Fraction, failure: Fraction
) -> None:
    def fails(level: Fraction, hat: Fraction) -> Fraction:
        return secrets.pufferfish_inference_failure(
            channel, [world], PARITY, gamma=level, delta_hat=hat
        )

    level = secret_levels.pufferfish_inference_gamma(
        channel, [world], PARITY, delta_hat=slack, failure=failure
    )["gamma"]
    if level == INFINITE:
        assert fails(Fraction(10**9), slack) > failure
    else:
        assert fails(Fraction(level), slack) <= failure
        assert level == 1 or fails(max(Fraction(1), level * NEAR), slack) > failure
    hat = secret_levels.pufferfish_inference_delta_hat(
        channel, [world], PARITY, gamma=gamma, failure=failure
    )["delta_hat"]
    assert fails(gamma, Fraction(hat)) <= failure
    assert hat == 0 or fails(gamma, Fraction(hat) * NEAR) > failure


@settings(deadline=None, max_examples=25)
@given(channels(), probabilities())
def test_simulation_at_a_delta_is_enclosed_by_simulators_and_tests(
    channel: Channel, delta: Fraction
) -> None:
    found = simulation_dp_gamma(channel, delta)
    least = found.at_least.get("gamma", found["gamma"])
    if found["gamma"] != INFINITE:
        assert simulation_dp_delta(channel, found["gamma"]).at_least["delta"] <= delta
    below = Fraction(10**6) if least == INFINITE else Fraction(least) * (1 - Fraction(1, 10**6))
    assert below < 1 or simulation_dp_delta(channel, below)["delta"] > delta


@settings(deadline=None, max_examples=10)
@given(channels(), probabilities(), beliefs(BITS, 4))
def test_tau_at_a_delta_holds_for_every_belief(
    channel: Channel, delta: Fraction, belief: Distribution
) -> None:
    found = level_search.semantic_tau(channel, delta, 0, nodes=20)
    assert failure_probability(channel, belief, found["tau"], 0) <= delta
    low = found.at_least["tau"]
    if low > 0:
        at = semantic_bounds.approximate_semantic_privacy(channel, low, 0, nodes=20)
        assert at.at_least["delta"] > delta


def test_a_level_of_inference_is_enclosed_between_two_proofs() -> None:
    rows = {(0,): ["7/10", "1/5", "1/10"], (1,): ["1/10", "1/5", "7/10"]}
    channel = Channel.of({x: Distribution.over(row) for x, row in rows.items()})
    world = World.without_side_information(Distribution.of({(0,): "1/2", (1,): "1/2"}))
    asked = (channel, [world], records(1))
    found = level_search.inference_gamma(*asked, delta_hat=0, failure="1/100")
    high, low = Fraction(found["gamma"]), Fraction(found.at_least["gamma"])
    assert low < high < low * Fraction(101, 100)
    failures = [
        best_inference_privacy(*asked, gamma=level, delta_hat=0)["failure"] for level in (high, low)
    ]
    assert failures[0] <= Fraction(1, 100) < failures[1]
    # the simulator sees nothing, so the belief stays 1/2: 7/8 against 1/2, 1/8 against 1/2
    assert low <= 4 <= high
    assert level_search.inference_gamma(*asked, delta_hat=0, failure="4/5")["gamma"] == 1
