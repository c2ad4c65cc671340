"""How each kind of vector about two distributions is checked."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sanql.theory import closed_forms, divergences, testing
from theory.vectors import agrees, masses, number


def pair(given: dict[str, Any], expect: dict[str, Any]) -> None:
    p, q = masses(given["P"]), masses(given["Q"])
    assert divergences.statistical_difference(p, q) == number(expect["tv"])
    assert divergences.max_divergence_gamma(p, q) == number(expect["exp_Dinf_PQ"])
    assert divergences.max_divergence_gamma(q, p) == number(expect["exp_Dinf_QP"])
    assert divergences.renyi_moment(p, q, 2) == number(expect["renyi2_moment_PQ"])
    assert agrees(divergences.kl_divergence(p, q), {"float": expect["KL_PQ_float"]})
    for gamma, value in expect["E_PQ"].items():
        assert divergences.hockey_stick(p, q, gamma) == number(value)
    for gamma, value in expect["E_QP"].items():
        assert divergences.hockey_stick(q, p, gamma) == number(value)
    for gamma, value in expect["delta_two_sided"].items():
        assert divergences.indistinguishability_delta(p, q, gamma) == number(value)
    for gamma, value in expect["pointwise_delta"].items():
        assert divergences.pointwise_delta(p, q, gamma) == number(value)
    for delta, value in expect["tight_exp_eps_two_sided"].items():
        assert divergences.tight_gamma_two_sided(p, q, delta) == number(value)
    for delta, value in expect["tight_exp_eps_PQ"].items():
        assert divergences.tight_gamma(p, q, delta) == number(value)
    vertices = [(number(a), number(b)) for a, b in expect["np_vertices"]]
    assert testing.tradeoff_vertices(p, q) == vertices


def interval_vs_event(given: dict[str, Any], expect: dict[str, Any]) -> None:
    p, q = masses(given["P"]), masses(given["Q"])
    size = len(p.outcomes)
    intervals = [range(a, b) for a in range(size) for b in range(a + 1, size + 1)]
    assert divergences.hockey_stick(p, q, given["gamma"]) == number(expect["sup_over_events"])
    best = max(p.probability(event) - q.probability(event) for event in intervals)
    assert best == number(expect["sup_over_intervals"])


def hockey_stick_small_gamma(given: dict[str, Any], expect: dict[str, Any]) -> None:
    p, q, gamma = masses(given["P"]), masses(given["Q"]), given["gamma"]
    assert divergences.hockey_stick_sup(p, q, gamma) == number(expect["sup_A_P_minus_gQ"])
    assert divergences.hockey_stick(p, q, gamma) == number(expect["normalised_E"])
    mirrored = divergences.hockey_stick(q, p, 1 / number(gamma))
    assert number(gamma) * mirrored == number(expect["half_times_E2_QP"])


def tradeoff(given: dict[str, Any], expect: dict[str, Any]) -> None:
    p, q = masses(given["P_H0"]), masses(given["Q_H1"])
    vertices = [(number(a), number(b)) for a, b in expect["vertices"]]
    assert testing.tradeoff_vertices(p, q) == vertices
    for alpha, value in zip(given["alphas"], expect["f"], strict=True):
        assert testing.tradeoff(p, q, alpha) == number(value)


def tradeoff_bound(given: dict[str, Any], expect: dict[str, Any]) -> None:
    gamma, delta = number(given["gamma"]), number(given["delta"])
    for alpha, value in zip(given["alphas"], expect["f"], strict=True):
        assert testing.tradeoff_bound(gamma, delta, alpha) == number(value)
    fixed_point = (1 - delta) / (1 + gamma)
    assert 1 - 2 * fixed_point == number(expect["tv_max"])


def ht_identity(given: dict[str, Any], expect: dict[str, Any]) -> None:
    p, q = masses(given["P_H0"]), masses(given["Q_H1"])
    for gamma, forth, back in zip(
        given["gammas"], expect["inf_FP_plus_gFN"], expect["inf_FN_plus_gFP"], strict=True
    ):
        assert testing.least_weighted_error(p, q, gamma) == number(forth)
        assert testing.least_weighted_error(q, p, gamma) == number(back)


def geometric_pair(given: dict[str, Any], expect: dict[str, Any]) -> None:
    p, q = closed_forms.geometric_pair(given["alpha"], int(given["shift"]))
    for distance, name in ((0, "center"), (1, "at_distance_1"), (3, "at_distance_3")):
        mass = closed_forms.geometric_mass(given["alpha"], distance)
        assert mass == number(expect[f"pmf_{name}"])
    for gamma, value in expect["E"].items():
        assert divergences.hockey_stick(p, q, gamma) == number(value)
    assert divergences.tight_gamma_two_sided(p, q) == number(expect["exp_eps"])
    assert divergences.statistical_difference(p, q) == number(expect["tv"])
    assert agrees(divergences.kl_divergence(p, q), expect["KL"])


def laplace_pair(given: dict[str, Any], expect: dict[str, Any]) -> None:
    odds = number(given["exp_eps0"])
    pair = closed_forms.LaplacePair(scale=number(given["scale_b"]), shift=1.0)
    assert agrees(math.exp(pair.epsilon_max), expect["exp_Dinf"])
    assert agrees(pair.statistical_difference, expect["tv"])
    for gamma, value in expect["E_gamma"].items():
        assert agrees(pair.hockey_stick(float(Fraction(gamma))), value)
    assert agrees(pair.kl_divergence, expect["KL"])
    assert agrees(pair.renyi_moment(2), expect["renyi2_moment"])
    assert agrees(pair.standard_deviation, expect["std_of_noise"])
    above_p, above_q = Fraction(1, 2), 1 / odds / 2
    assert above_p == number(expect["P_ge_1000"])
    assert above_q == number(expect["Q_ge_1000"])
    assert above_p / (above_p + above_q) == number(expect["posterior_P_uniform_prior_y>=1000"])
    rates = {"alpha=1/(4*exp_eps0)": 1 / (4 * odds), "alpha=1/2": 0.5, "alpha=3/4": 0.75}
    for name, alpha in rates.items():
        assert agrees(pair.tradeoff(float(alpha)), expect["tradeoff_f"][name])
