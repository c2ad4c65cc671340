"""What a solver suggests is proved from both sides: no simulator and no belief lies outside."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from sanql.theory.channels import Channel, exact_statistic, randomised_response
from sanql.theory.definitions import (
    belief_search,
    coupled_worlds,
    inference,
    inference_best,
    semantic,
    semantic_bounds,
    simulation,
)
from sanql.theory.definitions.finding import BeliefWitness, Finding, UnservedWitness
from sanql.theory.definitions.simulator_dual import MixedTest
from sanql.theory.definitions.simulator_lp import (
    best_level,
    best_simulator,
    ideal_law,
    worst_condition,
)
from sanql.theory.definitions.worlds import Protection, World, records
from sanql.theory.distributions import Distribution
from sanql.theory.divergences import tight_gamma_two_sided
from sanql.theory.errors import TheoryError
from sanql.theory.exact import exp_lower
from theory.strategies import beliefs, channels, gammas, probabilities
from theory.vectors import ALL, row_table

pytestmark = pytest.mark.slow

BITS = list(product((0, 1), repeat=2))
CELLS = [(x, z) for x in BITS for z in (0, 1)]
INPUTS = [(i, (v,)) for i in (0, 1) for v in (0, 1)]
NEAR = Fraction(1, 10**9)
E07 = next(v["input"] for v in ALL if v["id"].startswith("E07"))


def some_worlds() -> st.SearchStrategy[World]:
    return beliefs(CELLS, 6).map(World)


def simulators() -> st.SearchStrategy[Channel]:
    return channels(1, 4).map(lambda found: Channel(tuple(INPUTS), found.outputs, found.rows))


def weights(count: int) -> st.SearchStrategy[tuple[tuple[Fraction, ...], ...]]:
    row = st.lists(st.integers(0, 4).map(Fraction), min_size=3, max_size=3).map(tuple)
    return st.lists(row, min_size=count, max_size=count).map(tuple)


@settings(max_examples=40, deadline=None)
@given(channels(), some_worlds(), simulators(), gammas(), probabilities(), st.data())
def test_no_mixture_of_tests_accuses_a_simulator_of_more_than_it_does(
    channel: Channel, world: World, simulator: Channel, gamma: Fraction, delta: Fraction,
    data: st.DataObject,
) -> None:  # fmt: skip
    conditions = coupled_worlds.conditions_of(channel, [world], records(2))
    mixed = MixedTest(
        data.draw(weights(len(conditions))),
        data.draw(weights(len(conditions))),
        tuple(tuple(c.real[t] for t in range(3)) for c in conditions),
        tuple(dict(c.given.items()) for c in conditions),
    )
    assert mixed.delta_lower(gamma) <= worst_condition(conditions, simulator, gamma)[0]
    level = max(tight_gamma_two_sided(c.real, ideal_law(c, simulator), delta) for c in conditions)
    ruled_out = mixed.gamma_lower(delta)
    assert ruled_out <= level
    if 1 < ruled_out < math.inf:
        assert mixed.delta_lower(Fraction(ruled_out)) == delta


@settings(max_examples=40, deadline=None)
@given(channels(), some_worlds(), gammas())
def test_the_least_delta_is_proved_to_within_a_billionth(
    channel: Channel, world: World, gamma: Fraction
) -> None:
    found = coupled_worlds.distributional_dp_delta(channel, [world], gamma)
    assert 0 <= found["delta"] - found.at_least["delta"] <= NEAR
    assert (found.status == "tight") == (found["delta"] == found.at_least["delta"])
    alone = simulation.simulation_dp_delta(channel, gamma)
    assert 0 <= alone["delta"] - alone.at_least["delta"] <= NEAR


@settings(max_examples=15, deadline=None)
@given(channels(), some_worlds(), simulators(), st.sampled_from(["0", "1/20", "1/5"]).map(Fraction))
def test_the_least_level_is_proved_and_no_simulator_goes_below(
    channel: Channel, world: World, simulator: Channel, delta: Fraction
) -> None:
    conditions = coupled_worlds.conditions_of(channel, [world], records(2))
    attained, lower, best = best_level(conditions, delta)
    for tried in (best, simulator):
        level = max(tight_gamma_two_sided(c.real, ideal_law(c, tried), delta) for c in conditions)
        assert lower <= level
    if attained == math.inf:
        # no level is enough, or none below a thousand million
        assert lower >= 10**9
    else:
        assert attained - lower <= NEAR * Fraction(attained)


def test_above_the_level_that_needs_no_delta_the_delta_is_exactly_zero() -> None:
    channel = randomised_response(2, odds=3)
    ends = World.of({((0, 0), None): "1/2", ((1, 1), "seen"): "1/2"})
    some = World.of({(x, None): "1/3" for x in ((0, 0), (0, 1), (1, 1))})
    level = coupled_worlds.distributional_dp_gamma(channel, [ends, some], 0)["gamma"]
    for above in (Fraction(1001, 1000), Fraction(2), Fraction(exp_lower(2.0)) / level, 10**6):
        found = coupled_worlds.distributional_dp_delta(channel, [ends, some], level * above)
        assert (found["delta"], found.status) == (0, "tight")


def test_a_level_that_no_simulator_reaches_is_proved_infinite() -> None:
    tells = exact_statistic([(0,), (1,)], lambda x: x[0])
    fair = World.without_side_information(Distribution.uniform(tells.databases))
    for delta in ("0", "1/4"):
        found = coupled_worlds.distributional_dp_gamma(tells, [fair], delta)
        assert found["gamma"] == found.at_least["gamma"] == math.inf
    assert coupled_worlds.distributional_dp_gamma(tells, [fair], "1/2")["gamma"] == 1


@pytest.mark.parametrize("digits", [10, 12, 15, 40])
def test_a_mass_below_the_solvers_sight_does_not_make_the_level_infinite(digits: int) -> None:
    tiny = Fraction(1, 10**digits)
    rows = {
        (bit,): Distribution.over([1 - share, share]) for bit, share in ((0, tiny), (1, 2 * tiny))
    }
    channel = Channel.of(rows)
    fair = World.without_side_information(Distribution.uniform(channel.databases))
    level = coupled_worlds.distributional_dp_gamma(channel, [fair], 0)["gamma"]
    # the simulator has one row, whose rarer mass lies best at sqrt(2) tiny
    assert 2 <= Fraction(level) ** 2 <= 2 + Fraction(1, 10**6)
    assert coupled_worlds.distributional_dp_delta(channel, [fair], "3/2")["delta"] == 0


def test_the_program_meets_the_closed_form_of_the_pure_simulator() -> None:
    channel = randomised_response(2, odds=3)
    worlds = [World.without_side_information(Distribution.point(x)) for x in channel.databases]
    conditions = coupled_worlds.conditions_of(channel, worlds, records(2))
    closed = simulation.simulation_dp(channel)["gamma"]
    attained, lower, _ = best_level(conditions, Fraction(0))
    assert attained == lower == closed == 2
    assert best_simulator(conditions, Fraction(2)).delta == 0


@settings(max_examples=12, deadline=None)
@given(
    channels(),
    st.lists(some_worlds(), min_size=1, max_size=3),
    st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2)]),
    st.sampled_from([Fraction(1, 10), Fraction(1, 4)]),
)
def test_one_simulator_for_every_world_fails_as_often_as_the_integer_program_says(
    channel: Channel, worlds: list[World], gamma: Fraction, slack: Fraction
) -> None:
    found = inference_best.best_inference_privacy(
        channel, worlds, records(2), gamma=gamma, delta_hat=slack
    )
    assert isinstance(found.witness, UnservedWitness)
    recomputed = inference.inference_failure(
        channel, worlds, records(2), simulator=found.witness.simulator, gamma=gamma, delta_hat=slack
    )
    assert recomputed == found["failure"]
    oracle = least_failure_by_integers(channel, worlds, float(gamma), float(slack))
    assert float(found.at_least["failure"]) - 1e-6 <= oracle <= float(found["failure"]) + 1e-6


@settings(max_examples=15, deadline=None)
@given(
    channels(), st.lists(some_worlds(), min_size=2, max_size=3), simulators(), gammas(),
    probabilities(),
)  # fmt: skip
def test_no_simulator_fails_less_in_its_worst_world(
    channel: Channel, worlds: list[World], simulator: Channel, gamma: Fraction, slack: Fraction
) -> None:
    found = inference_best.best_inference_privacy(
        channel, worlds, records(2), gamma=gamma, delta_hat=slack
    )
    other = inference.inference_failure(
        channel, worlds, records(2), simulator=simulator, gamma=gamma, delta_hat=slack
    )
    assert found.at_least["failure"] <= other
    alone = [
        inference_best.best_inference_privacy(
            channel, [world], records(2), gamma=gamma, delta_hat=slack
        ).at_least["failure"]
        for world in worlds
    ]
    assert found["failure"] >= max(alone)


def test_two_worlds_that_are_easy_alone_can_be_hard_together() -> None:
    # one bit x, told truthfully; alt is a coin that agrees with x in one world, never in the other
    truth = exact_statistic([(0, 0), (0, 1), (1, 0), (1, 1)], lambda x: x[0])
    same = World.without_side_information(Distribution.uniform([(0, 0), (1, 1)]))
    other = World.without_side_information(Distribution.uniform([(0, 1), (1, 0)]))
    coin = Protection("first", lambda x: x[1], lambda x: x[0])
    for worlds, wanted in (([same], 0), ([other], 0), ([same, other], Fraction(1, 2))):
        found = inference_best.best_inference_privacy(truth, worlds, [coin], gamma=2, delta_hat=0)
        assert found["failure"] == found.at_least["failure"] == wanted


def test_mass_on_an_output_that_never_happens_is_explained() -> None:
    tells = exact_statistic([(0,), (1,)], lambda x: x[0])
    fair = World.without_side_information(Distribution.uniform(tells.databases))
    found = inference_best.best_inference_privacy(tells, [fair], records(1), gamma=2, delta_hat=0)
    assert "(an output that never happens): 1" in found.why
    assert found.note.startswith("only beliefs after outputs that really happen count")
    coin = randomised_response(1, odds=3)
    needed = inference_best.best_inference_privacy(coin, [fair], records(1), gamma=9, delta_hat=0)
    assert needed.note == ""


def test_a_search_over_too_many_side_informations_is_refused_with_a_way_out() -> None:
    channel = exact_statistic([(k,) for k in range(15)], lambda x: 0)
    world = World.knowing(Distribution.uniform(channel.databases), lambda x: x)
    with pytest.raises(TheoryError) as caught:
        inference_best.least_inference_failure(channel, [world], records(1), gamma=1, delta_hat=0)
    assert caught.value.code == "too_many_cells"
    assert "inference_privacy" in caught.value.remedy


def test_the_three_point_belief_of_the_sheet_is_nearly_the_worst_of_all() -> None:
    channel = Channel.of(row_table(E07["rows"]))
    found = semantic_bounds.approximate_semantic_privacy(channel, E07["tau"], 0)
    assert found["delta"] - found.at_least["delta"] <= Fraction(1, 10**6)
    assert 0.87259 < float(found["delta"]) < 0.8726
    assert float(Fraction(4081, 4680)) < float(found.at_least["delta"])
    assert isinstance(found.witness, BeliefWitness)
    again = semantic.failure_probability(channel, found.witness.belief, E07["tau"], 0)
    assert again == found.at_least["delta"]


def test_a_search_without_hints_allows_for_outputs_that_are_not_bad() -> None:
    # odds 9, tau 41/100: each answer is bad for some beliefs, never both for one
    nine, one = Fraction(9, 10), Fraction(1, 10)
    outputs = [
        belief_search.OutputGames(real, (belief_search.Games(real, (real[0], real[0])),))
        for real in ((nine, one), (one, nine))
    ]
    found = belief_search.search(
        outputs, Fraction(41, 100), 2, (), nodes=300, gap=Fraction(1, 10**6)
    )
    assert 0.48731 < found.upper < 0.48732
    assert found.upper - found.lower <= Fraction(1, 10**6)


def test_a_search_that_may_not_split_intervals_still_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(belief_search, "_NARROW", Fraction(10**12))
    channel = Channel.of(row_table(E07["rows"]))
    found = semantic_bounds.approximate_semantic_privacy(channel, E07["tau"], 0)
    assert found["delta"] >= Fraction(8725, 10_000)


@settings(max_examples=20, deadline=None)
@given(channels(1, 3), st.data())
def test_no_belief_fails_more_often_than_the_search_says(
    channel: Channel, data: st.DataObject
) -> None:
    tau = data.draw(st.fractions("1/10", "9/10", max_denominator=10))
    found = semantic_bounds.approximate_semantic_privacy(channel, tau, 0, nodes=20)
    for size in (1, 2, 3):
        belief = data.draw(beliefs(channel.databases, size))
        assert semantic.failure_probability(channel, belief, tau, 0) <= found["delta"]
    two = semantic_bounds.two_point_failure_sup(channel, tau, 0)["delta"]
    assert two <= found["delta"] + NEAR
    assert two <= found.at_least["delta"] + Fraction(1, 10**8)
    if found.at_least["delta"] > 0:
        assert isinstance(found.witness, BeliefWitness)
        attained = semantic.failure_probability(channel, found.witness.belief, tau, 0)
        assert attained == found.at_least["delta"]


@settings(max_examples=12, deadline=None)
@given(channels(2, 2), st.data())
def test_no_belief_and_no_reality_fail_more_often_than_the_search_says(
    channel: Channel, data: st.DataObject
) -> None:
    tau = data.draw(st.fractions("1/10", "9/10", max_denominator=10))
    found = semantic_bounds.reality_oblivious_privacy(channel, tau, 0, nodes=10)
    believed = semantic_bounds.approximate_semantic_privacy(channel, tau, 0, nodes=10)
    assert believed.at_least["delta"] <= found["delta"]
    for size in (1, 2, 4):
        belief = data.draw(beliefs(channel.databases, size))
        reality = data.draw(st.sampled_from(channel.databases))
        failed = semantic.reality_oblivious_failure(channel, belief, reality, tau, 0)
        assert failed <= found["delta"]
    assert isinstance(found.witness, BeliefWitness)
    attained = max(
        semantic.reality_oblivious_failure(channel, found.witness.belief, x, tau, 0)
        for x in channel.databases
    )
    assert found.at_least["delta"] <= attained <= found["delta"]


def test_an_output_that_the_belief_excludes_counts_as_failure_in_reality() -> None:
    channel = Channel.of({(0,): Distribution.over([1, 0]), (1,): Distribution.over(["1/2", "1/2"])})
    found = semantic_bounds.reality_oblivious_privacy(channel, 1, 0)
    assert (found["delta"], found.status) == (Fraction(1, 2), "tight")


def test_a_tie_at_tau_is_named_as_the_reason_for_a_gap() -> None:
    # with odds 9 the uniform belief moves by exactly 2/5 after either answer
    channel = randomised_response(1, odds=9)
    at_tie = semantic_bounds.approximate_semantic_privacy(channel, "2/5", 0)
    assert (at_tie["delta"], at_tie.status) == (1, "enclosed")
    assert "exactly tau" in at_tie.note
    above = semantic_bounds.approximate_semantic_privacy(channel, "41/100", 0)
    assert float(above["delta"]) == pytest.approx(0.487315, abs=1e-6)


def test_pure_privacy_leaves_no_belief_and_no_reality_to_fail() -> None:
    channel = randomised_response(2, odds=3)
    tau = semantic.semantic_privacy(channel, 0)["tau"]
    for search in (
        semantic_bounds.approximate_semantic_privacy,
        semantic_bounds.reality_oblivious_privacy,
    ):
        found = search(channel, tau, 0)
        assert (found["delta"], found.status) == (0, "tight")


def test_a_finding_cannot_claim_to_be_tight_with_a_gap() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Finding("x", {"delta": Fraction(1)}, None, "tight", "", {"delta": Fraction(0)})


def least_failure_by_integers(
    channel: Channel, worlds: list[World], gamma: float, slack: float
) -> float:
    """Return min over simulators and served sets, one mixed-integer program over all worlds."""
    outputs = len(channel.outputs)
    column = {(a, t): k for k, (a, t) in enumerate(product(INPUTS, range(outputs)))}
    cells = [
        (t, k, z) for t in range(outputs) for k in range(len(worlds)) for z in (0, 1)
        if any(m and channel.row(x)[t] for (x, side), m in worlds[k].joint.items() if side == z)
    ]  # fmt: skip
    excess = {
        key: len(column) + len(cells) + j
        for j, key in enumerate(product(cells, (0, 1), (0, 1), (0, 1)))
    }
    width = len(column) + len(cells) + len(excess) + 1
    rows: list[tuple[dict[int, float], float]] = []
    lost: list[dict[int, float]] = [{} for _ in worlds]
    totals = [0.0] * len(worlds)
    for c, (t, k, z) in enumerate(cells):
        chosen = len(column) + c
        cell = {x: m for (x, side), m in worlds[k].joint.items() if side == z and m}
        mass = float(sum(m * channel.row(x)[t] for x, m in cell.items()))
        totals[k] += mass
        lost[k][chosen] = -mass
        for i in (0, 1):
            part = [
                {column[(i, (x[1 - i],)), t]: 0.0 for x in cell},
                {column[(i, (x[1 - i],)), t]: 0.0 for x in cell},
            ]
            seen = [0.0, 0.0]
            for x, m in cell.items():
                part[x[i]][column[(i, (x[1 - i],)), t]] += float(m)
                seen[x[i]] += float(m * channel.row(x)[t])
            scale = {a: part[0][a] + part[1][a] for a in part[0]}
            rows.append(({**{a: -v for a, v in scale.items()}, chosen: 1e-3}, 0.0))
            for way in (0, 1):
                for v in (0, 1):
                    share = seen[v] / sum(seen)
                    row = {
                        a: share * scale[a] - gamma * part[v][a]
                        if way == 0
                        else part[v][a] - gamma * share * scale[a]
                        for a in scale
                    }
                    rows.append(({**row, excess[(t, k, z), i, way, v]: -1.0}, 0.0))
                total = {excess[(t, k, z), i, way, v]: 1.0 for v in (0, 1)}
                total.update({a: -slack * value for a, value in scale.items()})
                rows.append(({**total, chosen: 1 + gamma}, 1 + gamma))
    for k in range(len(worlds)):
        rows.append(({**lost[k], width - 1: -1.0}, -totals[k]))
    matrix = np.zeros((len(rows), width))
    for r, (row, _) in enumerate(rows):
        matrix[r, list(row)] = list(row.values())
    cost, whole, high = np.zeros(width), np.zeros(width), np.full(width, np.inf)
    cost[-1] = 1
    whole[len(column) : len(column) + len(cells)] = 1
    high[: len(column) + len(cells)] = 1
    solved = milp(
        cost,
        constraints=LinearConstraint(matrix, -np.inf, [limit for _, limit in rows]),
        integrality=whole,
        bounds=Bounds(np.zeros(width), high),
    )
    return float(solved.fun)
