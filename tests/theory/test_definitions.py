"""Each checker's number is what brute force over events, tests and beliefs finds."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sanql.theory.channels import Channel, randomised_response
from sanql.theory.definitions import bayesian, dp, records, semantic, semantic_bounds, simulation
from sanql.theory.definitions.finding import (
    BeliefWitness,
    PairWitness,
    PriorWitness,
    SimulatorWitness,
)
from sanql.theory.distributions import Distribution
from sanql.theory.divergences import (
    hockey_stick_sup,
    indistinguishability_delta,
    statistical_difference,
    tight_gamma_two_sided,
)
from sanql.theory.errors import TheoryError
from sanql.theory.neighbours import change_one
from theory.strategies import beliefs, channels, gammas, probabilities

pytestmark = pytest.mark.slow

BITS = list(product((0, 1), repeat=2))
EVENTS = list(chain.from_iterable(combinations(range(3), k) for k in range(4)))


@given(channels(), gammas())
def test_delta_is_the_worst_event_of_the_worst_neighbours(
    channel: Channel, gamma: Fraction
) -> None:
    found = dp.approximate_dp_delta(channel, change_one(BITS), gamma)
    worst = max(
        channel.row(x).probability(e) - gamma * channel.row(y).probability(e)
        for x, y in permuted_neighbours()
        for e in EVENTS
    )
    assert found["delta"] == worst
    witness = found.witness
    assert isinstance(witness, PairWitness)
    assert witness.left_mass - gamma * witness.right_mass == worst
    assert witness.left_mass == channel.row(witness.left).probability(witness.event)


@given(channels(), probabilities())
def test_the_level_at_a_delta_is_that_of_the_sorted_algorithm(
    channel: Channel, delta: Fraction
) -> None:
    found = dp.approximate_dp(channel, change_one(BITS), delta)["gamma"]
    by_pairs = [
        tight_gamma_two_sided(channel.row(x), channel.row(y), delta)
        for x, y in change_one(BITS).pairs
    ]
    assert found == max(by_pairs)


@given(channels())
def test_the_witness_of_pure_privacy_has_the_tight_ratio(channel: Channel) -> None:
    found = dp.pure_dp(channel, change_one(BITS))
    witness = found.witness
    assert isinstance(witness, PairWitness)
    if found["gamma"] == math.inf:
        assert witness.left_mass > 0 == witness.right_mass
    elif found["gamma"] > 1:
        assert witness.left_mass == Fraction(found["gamma"]) * witness.right_mass > 0


def test_perfect_privacy_is_equal_rows() -> None:
    same = Channel.of({x: Distribution.over(["1/3", "2/3"]) for x in BITS})
    assert dp.perfect_privacy(same, change_one(BITS)).note == "holds"
    told = dp.perfect_privacy(randomised_response(2, odds=2), change_one(BITS))
    assert told.note == "does not hold"
    assert told["delta"] == Fraction(1, 3)


@settings(max_examples=40, deadline=None)
@given(channels())
def test_the_closed_form_simulator_works_and_the_program_finds_none_better(
    channel: Channel,
) -> None:
    found = simulation.simulation_dp(channel)
    gamma = found["gamma"]
    assume(gamma < 1000)
    assert isinstance(found.witness, SimulatorWitness)
    for x in channel.databases:
        for person in (0, 1):
            ideal = found.witness.simulator.row(records.without(x, person))
            assert tight_gamma_two_sided(channel.row(x), ideal) <= gamma
    assume(gamma > Fraction(11, 10))
    less = simulation.simulation_dp_delta(channel, Fraction(gamma) * Fraction(99, 100))
    assert less["delta"] > 0


@settings(max_examples=30, deadline=None)
@given(channels(1, 3), gammas())
def test_no_rounded_simulator_beats_the_linear_program(channel: Channel, gamma: Fraction) -> None:
    best = simulation.simulation_dp_delta(channel, gamma)["delta"]
    for a, b in product(range(9), repeat=2):
        if a + b <= 8:
            ideal = Distribution.over([Fraction(a, 8), Fraction(b, 8), Fraction(8 - a - b, 8)])
            deltas = [
                indistinguishability_delta(channel.row(x), ideal, gamma) for x in channel.databases
            ]
            assert max(deltas) >= best - Fraction(1, 10**9)


@given(channels(), st.data())
def test_no_prior_moves_further_than_the_prior_to_posterior_number(
    channel: Channel, data: st.DataObject
) -> None:
    found = bayesian.prior_to_posterior(channel)
    x = data.draw(st.sampled_from(BITS))
    prior = data.draw(beliefs([0, 1], 2))
    for t in channel.outputs:
        likelihood = {v: channel.row((v, x[1]))[t] for v in (0, 1)}
        if any(prior[v] * likelihood[v] for v in (0, 1)):
            after = bayesian.posterior(prior, likelihood)
            assert statistical_difference(prior, after) <= found["tau"]
    witness = found.witness
    assert isinstance(witness, PriorWitness)
    if found["gamma"] != math.inf:
        moved = statistical_difference(witness.prior, witness.posterior)
        assert abs(moved - found["tau"]) < Fraction(1, 10**9)


@settings(deadline=None)
@given(channels(), st.data())
def test_no_two_or_three_point_belief_exceeds_the_semantic_number(
    channel: Channel, data: st.DataObject
) -> None:
    found = semantic.semantic_privacy(channel, 0)
    belief = data.draw(beliefs(BITS, 3))
    for t in channel.outputs:
        for game in (1, 2):
            assert semantic.game_distance(channel, belief, t, game, 0) <= found["tau"]
    witness = found.witness
    assert isinstance(witness, BeliefWitness)
    reached = semantic.game_distance(channel, witness.belief, witness.output, witness.person, 0)
    assert abs(reached - found["tau"]) < Fraction(1, 10**9)


@given(channels(), st.data())
def test_informed_beliefs_move_no_further_than_the_informed_number(
    channel: Channel, data: st.DataObject
) -> None:
    found = semantic.informed_semantic_privacy(channel, 0)["tau"]
    x = data.draw(st.sampled_from(BITS))
    person = data.draw(st.sampled_from([0, 1]))
    informed = [tuple(v if i == person else x[i] for i in range(2)) for v in (0, 1)]
    belief = data.draw(beliefs(informed, 2))
    for t in channel.outputs:
        for game in (1, 2):
            assert semantic.game_distance(channel, belief, t, game, 0) <= found
    assert found <= semantic.semantic_privacy(channel, 0)["tau"]


@settings(max_examples=60, deadline=None)
@given(channels(1, 3), st.data())
def test_the_failure_over_all_beliefs_is_enclosed(channel: Channel, data: st.DataObject) -> None:
    tau = data.draw(st.fractions("1/10", "9/10", max_denominator=10))
    upper = semantic_bounds.semantic_failure_upper(channel, tau, 0)
    lower = semantic_bounds.two_point_failure_sup(channel, tau, 0)["delta"]
    assert lower <= upper
    three = data.draw(beliefs(channel.databases, 3))
    assert semantic.failure_probability(channel, three, tau, 0) <= upper
    two = data.draw(beliefs(channel.databases, 2))
    assert semantic.failure_probability(channel, two, tau, 0) <= lower


def test_reality_can_fail_where_the_belief_does_not() -> None:
    channel = Channel.of(
        {
            (0,): Distribution.over(["99/100", "1/100"]),
            (1,): Distribution.over(["999/1000", "1/1000"]),
        }
    )
    belief = Distribution.uniform(channel.databases)
    assert semantic.failure_probability(channel, belief, "1/3", 0) == Fraction(11, 2000)
    failure = semantic.reality_oblivious_failure(channel, belief, (0,), "1/3", 0)
    assert failure == Fraction(1, 100)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda c: dp.approximate_dp(c, change_one(BITS), 2), "not_a_probability"),
        (lambda c: dp.approximate_dp_delta(c, change_one(BITS), "1/2"), "gamma_below_one"),
        (lambda c: semantic.semantic_privacy(c, 9), "unknown_database"),
        (
            lambda c: semantic.failure_probability(c, Distribution.point((0, 0)), -1, 0),
            "not_a_probability",
        ),
        (
            lambda c: semantic.failure_probability(c, Distribution.point((7, 7)), 0, 0),
            "unknown_database",
        ),
        (
            lambda _: simulation.simulation_dp(Channel.of({"x": Distribution.point(0)})),
            "not_records",
        ),
    ],
)
def test_bad_questions_are_refused(make: object, code: str) -> None:
    with pytest.raises(TheoryError) as caught:
        make(randomised_response(2, odds=2))  # type: ignore[operator]
    assert caught.value.code == code


def permuted_neighbours() -> list[tuple[object, object]]:
    return [pair for x, y in change_one(BITS).pairs for pair in ((x, y), (y, x))]


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(9, 4), Fraction(4), Fraction(100)])
@pytest.mark.parametrize("gamma", ["1/100", "1/4", "1/2", "1", "9/4", "50"])
def test_no_prior_moves_further_than_the_largest_hockey_stick(ratio: Fraction, gamma: str) -> None:
    level = Fraction(gamma)
    bound = bayesian.largest_hockey_stick(ratio, level)
    worst = Fraction(0)
    for step in range(1, 400):
        prior = Distribution.of({"high": Fraction(step, 400), "low": 1 - Fraction(step, 400)})
        after = bayesian.posterior(prior, {"high": ratio, "low": Fraction(1)})
        worst = max(worst, hockey_stick_sup(after, prior, level))
    assert worst <= bound <= worst + Fraction(1, 100)  # the grid of priors is coarse
