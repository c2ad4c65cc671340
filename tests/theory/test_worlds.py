"""Coupled worlds, inference, noiseless and Pufferfish: checked against sums written out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.theory.channels import Channel, exact_statistic
from sanql.theory.definitions import coupled_worlds, inference, inference_best, secrets, worlds
from sanql.theory.definitions.dp import approximate_dp_delta
from sanql.theory.definitions.finding import (
    ConditionWitness,
    InferenceWitness,
    SimulatorWitness,
    UnservedWitness,
)
from sanql.theory.definitions.worlds import World, records
from sanql.theory.distributions import Distribution
from sanql.theory.divergences import indistinguishability_delta
from sanql.theory.errors import TheoryError
from sanql.theory.neighbours import change_one
from theory.strategies import beliefs, channels, gammas

pytestmark = pytest.mark.slow

BITS = list(product((0, 1), repeat=2))
CELLS = [(x, z) for x in BITS for z in (0, 1)]
INPUTS = [(i, (v,)) for i in (0, 1) for v in (0, 1)]


def some_worlds() -> st.SearchStrategy[World]:
    return beliefs(CELLS, 6).map(World)


def simulators() -> st.SearchStrategy[Channel]:
    return channels(1, 4).map(lambda found: Channel(tuple(INPUTS), found.outputs, found.rows))


@settings(deadline=None)
@given(channels(), some_worlds(), simulators(), gammas())
def test_ddp_of_a_simulator_is_the_worst_condition_summed_by_hand(
    channel: Channel, world: World, simulator: Channel, gamma: Fraction
) -> None:
    worst = Fraction(0)
    for i, v, z in product((0, 1), repeat=3):
        cells = {x: m for (x, side), m in world.joint.items() if x[i] == v and side == z and m}
        if not cells:
            continue
        total = sum(cells.values())
        real = [sum(m * channel.row(x)[t] for x, m in cells.items()) / total for t in range(3)]
        ideal = [
            sum(m * simulator.row((i, (x[1 - i],)))[t] for x, m in cells.items()) / total
            for t in range(3)
        ]
        delta = indistinguishability_delta(Distribution.over(real), Distribution.over(ideal), gamma)
        worst = max(worst, delta)
    found = coupled_worlds.distributional_dp_delta(channel, [world], gamma, simulator=simulator)
    assert found["delta"] == worst
    level = coupled_worlds.coupled_worlds_gamma(
        channel, [world], records(2), found["delta"], simulator=simulator
    )
    assert level["gamma"] <= gamma


@settings(max_examples=40, deadline=None)
@given(channels(), some_worlds(), simulators(), gammas())
def test_the_best_simulator_is_at_least_as_good_as_any_other(
    channel: Channel, world: World, simulator: Channel, gamma: Fraction
) -> None:
    best = coupled_worlds.distributional_dp_delta(channel, [world], gamma)["delta"]
    other = coupled_worlds.distributional_dp_delta(channel, [world], gamma, simulator=simulator)
    assert best <= other["delta"] + Fraction(1, 10**7)


@settings(max_examples=60, deadline=None)
@given(channels(), some_worlds(), gammas())
def test_differential_privacy_gives_ddp_in_every_world(
    channel: Channel, world: World, gamma: Fraction
) -> None:
    private = approximate_dp_delta(channel, change_one(BITS), gamma)["delta"]
    found = coupled_worlds.distributional_dp_delta(channel, [world], gamma)["delta"]
    assert found <= private + Fraction(1, 10**7)


@settings(max_examples=60, deadline=None)
@given(channels(), some_worlds(), simulators(), gammas(), st.fractions(0, "1/2", max_denominator=8))
def test_inference_failure_is_the_sum_over_bad_outputs_by_hand(
    channel: Channel, world: World, simulator: Channel, gamma: Fraction, slack: Fraction
) -> None:
    bad = Fraction(0)
    for t, z in product(range(3), (0, 1)):
        cells = {x: m for (x, side), m in world.joint.items() if side == z and m}
        chance = sum((m * channel.row(x)[t] for x, m in cells.items()), Fraction(0))
        if not chance:
            continue
        failed = False
        for i in (0, 1):
            real = [
                sum(m * channel.row(x)[t] for x, m in cells.items() if x[i] == v) for v in (0, 1)
            ]
            ideal = [
                sum(m * simulator.row((i, (x[1 - i],)))[t] for x, m in cells.items() if x[i] == v)
                for v in (0, 1)
            ]
            if not sum(ideal):
                failed = True
                continue
            gap = indistinguishability_delta(
                Distribution.over(Fraction(m) / sum(real) for m in real),
                Distribution.over(Fraction(m) / sum(ideal) for m in ideal),
                gamma,
            )
            failed = failed or gap > slack
        bad += chance if failed else 0
    found = inference.inference_failure(
        channel, [world], records(2), simulator=simulator, gamma=gamma, delta_hat=slack
    )
    assert found == bad


@settings(max_examples=15, deadline=None)
@given(channels(), some_worlds(), simulators(), st.fractions("1/8", "1/2", max_denominator=8))
def test_no_simulator_fails_less_than_the_least_failure(
    channel: Channel, world: World, simulator: Channel, slack: Fraction
) -> None:
    least = inference_best.least_inference_failure(
        channel, [world], records(2), gamma=2, delta_hat=slack
    )
    found = inference.inference_failure(
        channel, [world], records(2), simulator=simulator, gamma=2, delta_hat=slack
    )
    assert least <= found


@given(channels(), some_worlds(), gammas())
def test_noiseless_privacy_is_pufferfish_with_one_secret_for_each_record(
    channel: Channel, world: World, gamma: Fraction
) -> None:
    each = [secrets.Secret(f"record {i}", worlds.Record(i)) for i in (0, 1)]
    found = secrets.pufferfish_delta(channel, [world], each, gamma)
    noiseless = secrets.noiseless_delta(channel, [world], gamma)
    assert found["delta"] == noiseless["delta"]
    if isinstance(noiseless.witness, ConditionWitness):
        assert noiseless.witness.protection in ("record 1", "record 2")
    assert (found.witness is None) == ("vacuous" in found.note) == (noiseless.witness is None)


@settings(max_examples=6, deadline=None)
@given(channels(), some_worlds(), simulators(), st.sampled_from([Fraction(0), Fraction(1, 20)]))
def test_the_best_level_is_attained_and_no_simulator_beats_it(
    channel: Channel, world: World, simulator: Channel, delta: Fraction
) -> None:
    best = coupled_worlds.coupled_worlds_gamma(channel, [world], records(2), delta)
    other = coupled_worlds.coupled_worlds_gamma(
        channel, [world], records(2), delta, simulator=simulator
    )
    if best["gamma"] == math.inf:
        return
    assert best["gamma"] <= other["gamma"] * (1 + Fraction(1, 10**6))
    assert isinstance(best.witness, SimulatorWitness)
    attained = coupled_worlds.distributional_dp_delta(
        channel, [world], Fraction(best["gamma"]), simulator=best.witness.simulator
    )
    assert attained["delta"] <= delta


def test_each_finding_about_beliefs_shows_the_belief_that_moves_furthest() -> None:
    channel = exact_statistic(BITS, sum)
    world = World.without_side_information(Distribution.uniform(BITS))
    even = Distribution.over(["1/4", "1/2", "1/4"])
    coin = Channel.of({p.alt(x): even for p in records(2) for x in BITS})
    found = inference.inference_privacy(
        channel, [world], records(2), simulator=coin, gamma=1, delta_hat="1/4"
    )
    assert found["failure"] == Fraction(1, 2)
    assert isinstance(found.witness, InferenceWitness)
    assert found.witness.output in (0, 2)
    assert found.witness.ideal == Distribution.uniform([0, 1])
    best = inference_best.best_inference_privacy(
        channel, [world], records(2), gamma=1, delta_hat="1/4"
    )
    assert isinstance(best.witness, UnservedWitness)
    assert sum(mass for *_, mass in best.witness.unserved) == best["failure"]
    secret = secrets.Secret("both", lambda x: int(sum(x) == 2))
    told = secrets.pufferfish_inference(channel, [world], [secret], gamma=1, delta_hat="1/4")
    assert isinstance(told.witness, InferenceWitness)
    assert told.witness.real[1] == 1
    assert told["failure"] == Fraction(1, 4)


def test_a_real_output_may_be_called_what_never_happens() -> None:
    rows = {(0,): {"no": "3/4", inference_best.NEVER: "1/4"}, (1,): {inference_best.NEVER: 1}}
    tells = Channel.of({x: Distribution.of(row) for x, row in rows.items()})
    plain = Channel(tells.databases, ("no", "yes"), tells.rows)
    fair = World.without_side_information(Distribution.uniform(tells.databases))
    for gamma in (1, 2, 5):
        found, same = (
            inference_best.best_inference_privacy(
                channel, [fair], records(1), gamma=gamma, delta_hat=0
            )
            for channel in (tells, plain)
        )
        assert found["failure"] == same["failure"]
        assert found.at_least == same.at_least


def test_a_protection_may_hide_a_school_a_node_a_private_part_or_blur_a_firm() -> None:
    school = worlds.schools(("north", "north", "south"))
    assert school[0].alt((1, 2, 3)) == (0, (3,))
    graph = frozenset({frozenset("ab"), frozenset("bc")})
    node = worlds.graph_node("a")
    assert node.alt(graph) == ("a", frozenset({frozenset("bc")}))
    assert node.priv(graph) == frozenset({frozenset("ab")})
    part = worlds.private_parts(1)[0]
    assert part.alt((("F", 1),)) == (0, (("F", "hidden"),))
    assert part.priv((("F", 1),)) == 1
    firm = worlds.noisy_firm(0, lambda v: Distribution.uniform([v - 1, v, v + 1]))
    assert worlds.alt_law(firm, Distribution.point((5, 9)))[(0, (4, 9))] == Fraction(1, 3)


def test_a_blurred_firm_is_simulated_from_its_blurred_record() -> None:
    channel = exact_statistic([(v,) for v in range(4)], lambda x: x[0] // 2)
    world = World.without_side_information(Distribution.uniform(channel.databases))
    firm = worlds.noisy_firm(0, lambda v: Distribution.uniform([v, v ^ 1]))
    found = coupled_worlds.coupled_worlds_delta(channel, [world], [firm], 1)
    assert found["delta"] == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda c, w: coupled_worlds.distributional_dp_delta(c, [], 1),
        lambda c, w: coupled_worlds.coupled_worlds_delta(c, [w], [], 1),
        lambda c, w: secrets.pufferfish_delta(c, [w], [], 1),
        lambda c, w: inference_best.least_inference_failure(c, [w], [], gamma=1, delta_hat=0),
    ],
)
def test_an_empty_class_is_refused_because_it_would_make_anything_true(ask: object) -> None:
    channel = exact_statistic(BITS, sum)
    world = World.without_side_information(Distribution.uniform(BITS))
    with pytest.raises(TheoryError) as caught:
        ask(channel, world)  # type: ignore[operator]
    assert caught.value.code == "empty_class"
