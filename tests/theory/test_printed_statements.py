"""Each statement that is false as printed is refuted by its counterexample; the repair survives
it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sanql.theory import constants
from sanql.theory.channels import Channel, randomised_response
from sanql.theory.closed_forms import GaussianPair, LaplacePair, randomised_response_pair
from sanql.theory.definitions import (
    bayesian,
    coupled_worlds,
    dp,
    inference,
    inference_best,
    semantic,
    simulation,
)
from sanql.theory.definitions.worlds import World, records
from sanql.theory.distributions import Distribution
from sanql.theory.divergences import (
    hockey_stick,
    indistinguishability_delta,
    pointwise_delta,
    statistical_difference,
)
from sanql.theory.errors import TheoryError
from sanql.theory.implications.guarantees import Setting, guarantee
from sanql.theory.implications.search import edge_named
from sanql.theory.inverse_transform import laplace_from_uniform
from sanql.theory.neighbours import change_one
from theory.vectors import ALL, masses, number

VECTORS = {vector["id"]: vector["input"] for vector in ALL}


@pytest.mark.parametrize(
    ("name", "gamma"), [("A07_claim33_2_counterexample", 2), ("A08_claim33_2_big_eps", 3)]
)
def test_claim_3_3_2_is_false_and_its_repair_holds(name: str, gamma: int) -> None:
    p, q = masses(VECTORS[name]["P"]), masses(VECTORS[name]["Q"])
    delta = indistinguishability_delta(p, q, gamma)
    given = guarantee("approximate_dp", epsilon=math.log(gamma), delta=float(delta))
    edge = edge_named("ks-3.3.2")
    actual = pointwise_delta(p, q, gamma**2)
    assert edge.printed is not None
    assert edge.printed(given, Setting())["delta"] < actual <= edge.apply(given, Setting())["delta"]


@pytest.mark.parametrize("tau", [Fraction(1, 100), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
def test_theorem_2_2_second_half_is_false_at_every_level(tau: Fraction) -> None:
    odds = constants.gamma_from_tau(tau)
    p, q = randomised_response_pair(Fraction(odds))
    channel = Channel.of({(0,): p, (1,): q})
    assert semantic.semantic_privacy(channel, 0)["tau"] == tau
    given = guarantee("semantic", tau=float(tau))
    edge = edge_named("ks-2.2b")
    actual = dp.pure_dp(channel, change_one(channel.databases)).epsilon
    assert edge.printed is not None
    assert edge.printed(given, Setting())["epsilon"] < actual * (1 - 1e-6)
    assert actual <= edge.apply(given, Setting())["epsilon"] * (1 + 1e-12)


def test_theorem_2_4_second_half_and_footnote_4_fall_with_it() -> None:
    p, q = randomised_response_pair(9)
    channel = Channel.of({(0,): p, (1,): q})
    near = change_one(channel.databases)
    for name, kind in (("ks-2.4b", "approximate_semantic"), ("ks-footnote-4", "reality_oblivious")):
        edge, given = edge_named(name), guarantee(kind, tau=0.5, delta=0.0)
        assert edge.printed is not None
        printed, repaired = edge.printed(given, Setting()), edge.apply(given, Setting())
        below = Fraction(math.exp(printed["epsilon"]))
        assert dp.approximate_dp_delta(channel, near, below)["delta"] > printed["delta"]
        assert dp.approximate_dp_delta(channel, near, repaired.gamma)["delta"] <= repaired["delta"]


def test_repairing_the_printed_level_needs_three_epsilon_up_to_a_point() -> None:
    # (e^eps - 1)/2-semantic gives 3 eps-differential privacy exactly while e^eps <= 1.88549
    for gamma, holds in ((Fraction(188549, 100000), True), (Fraction(18856, 10000), False)):
        assert (constants.gamma_from_tau((gamma - 1) / 2) <= gamma**3) is holds


def test_the_posterior_ratio_of_the_games_exceeds_the_level() -> None:
    rows = VECTORS["E03_xor_tight"]["rows"]
    channel = Channel.of({tuple(map(int, x.split(","))): masses(row) for x, row in rows.items()})
    belief = Distribution.uniform([(1, 0), (1, 1)])
    real = semantic.game_posterior(channel, belief, 0, 0, 0)
    without = semantic.game_posterior(channel, belief, 0, 1, 0)
    assert real is not None
    assert without is not None
    odds = (real[1, 0] / real[1, 1]) / (without[1, 0] / without[1, 1])
    level = dp.pure_dp(channel, change_one(channel.databases))["gamma"]
    assert odds == 4 == Fraction(level) ** 2


def test_lemma_4_1_and_lemma_1_are_false_and_the_sharp_lemma_holds() -> None:
    given = VECTORS["E08_lemma41_counterexample"]
    gamma, delta = Fraction(2), Fraction(1, 10_000)
    failed = Fraction(0)
    rows = zip(given["joint_P_rows_t"], given["joint_Q_rows_t"], strict=True)
    for row_p, row_q in rows:
        p = Distribution.from_weights(dict(enumerate(row_p)))
        q = Distribution.from_weights(dict(enumerate(row_q)))
        if indistinguishability_delta(p, q, gamma**3) > Fraction(1, 50):
            failed += sum(map(Fraction, row_p))
    assert constants.printed_lemma_failure(gamma, delta, Fraction(1, 50)) < failed
    assert failed <= delta * constants.hat_constant(gamma, Fraction(1, 50))


def test_theorem_1_of_coupled_worlds_is_false_for_every_simulator() -> None:
    given = VECTORS["F14_thm1_counterexample"]
    channel = Channel.of({(v,): masses(row) for v, row in enumerate(given["F_given_v"])})
    world = World.without_side_information(Distribution.uniform(channel.databases))
    claim = guarantee("ddp", epsilon=math.log(5), delta=float(Fraction(1, 1681)))
    edge = edge_named("cw-thm-1")
    assert edge.printed is not None
    printed = edge.printed(claim, Setting(records=1))
    least = inference_best.least_inference_failure(
        channel, [world], records(1), gamma=125, delta_hat=printed["delta_hat"]
    )
    assert printed["failure"] < least
    repaired = edge.apply(claim, Setting(records=1))
    simulator = Channel.of({(0, ()): masses(given["Sim"])})
    failed = inference.inference_failure(
        channel,
        [world],
        records(1),
        simulator=simulator,
        gamma=repaired.gamma,
        delta_hat=repaired["delta_hat"],
    )
    assert failed <= repaired["failure"]


def test_theorem_2_as_printed_is_the_hat_lemma_while_epsilon_is_at_most_ln_3() -> None:
    for gamma in (Fraction(11, 10), Fraction(2), Fraction(3)):
        for delta in (Fraction(1, 10**6), Fraction(1, 100)):
            slack = Fraction(2 * math.sqrt(delta))
            assert delta * constants.hat_constant(gamma, slack) <= slack * (1 + Fraction(1, 10**12))
    gamma, delta = Fraction(5), Fraction(1, 1681)
    assert delta * constants.hat_constant(gamma, Fraction(2, 41)) > Fraction(2, 41)


def test_point_distributions_make_the_inference_definition_vacuous() -> None:
    identity = Channel.of({(0,): Distribution.over([1, 0]), (1,): Distribution.over([0, 1])})
    points = [World.without_side_information(Distribution.point(x)) for x in identity.databases]
    coin = Channel.of({(0, ()): Distribution.over(["1/2", "1/2"])})
    failed = inference.inference_failure(
        identity, points, records(1), simulator=coin, gamma=1, delta_hat=0
    )
    assert failed == 0
    assert dp.pure_dp(identity, change_one(identity.databases))["gamma"] == math.inf
    assert coupled_worlds.distributional_dp_delta(identity, points, 10)["delta"] == Fraction(1, 2)


def test_claim_1_1_fails_for_a_simulator_that_is_not_told_the_position() -> None:
    channel = randomised_response(3, odds=2)
    private = dp.pure_dp(channel, change_one(channel.databases))["gamma"]
    assert simulation.anonymous_simulation_dp(channel)["gamma"] > private
    assert simulation.simulation_dp(channel)["gamma"] <= private


def test_the_standard_deviation_of_laplace_noise_is_not_its_scale() -> None:
    assert LaplacePair(scale=3.0).standard_deviation == pytest.approx(3 * math.sqrt(2))


@pytest.mark.parametrize(("epsilon", "delta", "times"), [(0.1, 1e-8, 4.6), (1.0, 1e-6, 10.6)])
def test_the_printed_gaussian_variance_of_theorem_a_2_is_too_small(
    epsilon: float, delta: float, times: float
) -> None:
    sigma = math.sqrt(math.log(1 / delta)) / epsilon
    real = GaussianPair(1 / sigma).hockey_stick(math.exp(epsilon))
    assert real / delta == pytest.approx(times, rel=0.02)
    enough = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert GaussianPair(1 / enough).hockey_stick(math.exp(epsilon)) <= delta


def test_intervals_are_enough_for_pure_privacy_only() -> None:
    given = VECTORS["A10_intervals"]
    p, q = masses(given["P"]), masses(given["Q"])
    intervals = [range(a, b) for a in range(4) for b in range(a + 1, 5)]
    best = max(p.probability(event) - q.probability(event) for event in intervals)
    assert best == Fraction(3, 10) < hockey_stick(p, q, 1) == Fraction(3, 5)
    points = max(p[t] / q[t] for t in range(4))
    assert points == max(p.probability(e) / q.probability(e) for e in intervals)


def test_the_printed_bound_on_statistical_difference_is_true_but_loose() -> None:
    p, q = masses(VECTORS["A06_claim33_6_tight"]["P"]), masses(VECTORS["A06_claim33_6_tight"]["Q"])
    delta = indistinguishability_delta(p, q, 2)
    tight = constants.statistical_difference_bound(Fraction(2), delta)
    printed = constants.printed_statistical_difference_bound(Fraction(2), delta)
    assert statistical_difference(p, q) == tight < printed


def test_adding_the_deltas_is_not_enough_for_theorem_6() -> None:
    given = VECTORS["F08_thm6_tight"]
    real = Distribution.over([m for row in given["real"] for m in row])
    ideal = Distribution.over([m for row in given["ideal"] for m in row])
    level = number(given["gF"]) * number(given["gG"])
    reached = indistinguishability_delta(real, ideal, level)
    assert Fraction(1, 50) + Fraction(1, 100) < reached
    assert reached == constants.composed_delta(
        number(given["gF"]), Fraction(1, 100), number(given["gG"]), Fraction(1, 50)
    )


def test_mostly_private_databases_need_the_doubled_joint_level() -> None:
    # with chance 1/10 the database is one whose output tells; the others tell with chance 1/10
    share = Fraction(1, 10)
    rows = {"told": masses(["0", "1"]), "often": masses([1 - share, share])}
    belief = {"told": share, "often": 1 - share}
    joint = Distribution.of(
        {(x, t): belief[x] * m for x, row in rows.items() for t, m in row.items()}
    )
    silent = Distribution.of({(x, 0): belief[x] for x in rows})
    reached = indistinguishability_delta(joint, silent, 100)
    assert share < reached == constants.mixture_bound(share, share) == share * (2 - share)


def test_the_hybrid_argument_is_attained() -> None:
    # a noisy count whose chance to say yes grows by 1/20 with every record: 2 records, 2/20
    channel = Channel.of(
        {
            (a, b): masses([1 - Fraction(a + b, 20), Fraction(a + b, 20)])
            for a in (0, 1)
            for b in (0, 1)
        }
    )
    near = dp.perfect_privacy(channel, change_one(channel.databases))["delta"]
    far = statistical_difference(channel.row((0, 0)), channel.row((1, 1)))
    assert far == 2 * near


def test_an_output_that_the_prior_excludes_has_no_posterior() -> None:
    certain = Distribution.point("a")
    with pytest.raises(TheoryError) as caught:
        bayesian.posterior(certain, {"a": Fraction(0), "b": Fraction(1)})
    assert caught.value.code == "impossible_output"


def test_inverse_transform_sampling_in_floating_point_is_not_private() -> None:
    # Theorem 21.5 as Figure 21.2 computes it, on a generator of 2^10 numbers: scale 1, so epsilon is 1
    epsilon = 1.0
    answers = [
        {value + laplace_from_uniform(step / 1024, 1 / epsilon).noise for step in range(1, 1024)}
        for value in (0, 1)
    ]
    assert len(answers[0] & answers[1]) < 103, "nine answers in ten tell which value is true"
