"""How each kind of vector about a mechanism and a definition is checked."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from sanql.theory import channels, divergences
from sanql.theory.channels import Channel
from sanql.theory.constants import gamma_from_tau, gamma_from_tau_uniform
from sanql.theory.definitions import bayesian, dp, semantic, semantic_bounds, simulation
from sanql.theory.distributions import Distribution
from sanql.theory.neighbours import add_remove, change_one, listed
from theory.vectors import agrees, database, masses, number, row_table


def matrix_dp(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of({i: masses(row) for i, row in enumerate(given["rows"])})
    assert channels.truncated_geometric(3, "1/2").rows == channel.rows
    pairs = listed((int(a), int(b)) for a, b in given["neighbours"])
    assert dp.pure_dp(channel, pairs)["gamma"] == number(expect["dp_exp_eps"])
    delta = dp.approximate_dp_delta(channel, pairs, "3/2")["delta"]
    assert delta == number(expect["delta_at_exp_eps_3/2"])
    two_apart = listed([(0, 2), (1, 3)])
    assert dp.pure_dp(channel, two_apart)["gamma"] == number(expect["group2_exp_eps"])


def matrix_dp_tuple(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of(row_table(given["rows"]))
    built = channels.randomised_response(2, odds=3)
    assert [built.masses(x) for x in channel.databases] == list(channel.rows)
    near = change_one(channel.databases)
    assert dp.pure_dp(channel, near)["gamma"] == number(expect["dp_exp_eps"])
    assert dp.approximate_dp_delta(channel, near, 2)["delta"] == number(expect["dp_delta_at_2"])
    far = listed([((0, 0), (1, 1)), ((0, 1), (1, 0))])
    assert dp.pure_dp(channel, far)["gamma"] == number(expect["group2_exp_eps"])
    assert dp.approximate_dp_delta(channel, far, 3)["delta"] == number(expect["group2_delta_at_3"])


def row_release(given: dict[str, Any], expect: dict[str, Any]) -> None:
    p, q = masses(given["P"]), masses(given["Q"])
    assert divergences.statistical_difference(p, q) == number(expect["tv"])
    assert divergences.max_divergence_gamma(p, q) == number(expect["exp_Dinf"])
    for gamma in (1, 2, 100):
        wanted = number(expect["delta_at_any_gamma>=1"])
        assert divergences.indistinguishability_delta(p, q, gamma) == wanted
    if "tv_to_all_zero_db" in expect:
        rows = [(0, 1, 2), (0, 1, 3), (0, 0, 0), (5, 6, 7)]
        channel = channels.random_row(rows, "1/10")
        assert sorted(channel.row((0, 1, 2)).masses) == sorted([*p.masses, 0, 0, 0])
        tv = divergences.statistical_difference(channel.row((5, 6, 7)), channel.row((0, 0, 0)))
        assert tv == number(expect["tv_to_all_zero_db"])


def neighbours(given: dict[str, Any], expect: dict[str, Any]) -> None:
    sizes = channels.exact_statistic([(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)], len)
    assert sizes.row((0,)).support == (1,)
    same = dp.pure_dp(sizes, change_one(sizes.databases))
    assert same["gamma"] == number(expect["change_one_exp_eps"])
    more = dp.pure_dp(sizes, add_remove(sizes.databases))
    assert more["gamma"] == number(expect["add_remove_exp_eps"])
    assert given["rows"].keys() == {"n=1", "n=2"}


def prior_posterior(given: dict[str, Any], expect: dict[str, Any]) -> None:
    likelihood = {v: number(mass) for v, mass in enumerate(given["likelihood"])}
    prior = masses(given["prior"])
    after = bayesian.posterior(prior, likelihood)
    assert list(after.masses) == [number(mass) for mass in expect["posterior"]]
    assert divergences.statistical_difference(after, prior) == number(expect["tv"])
    ratio = max(likelihood.values()) / min(likelihood.values())
    assert agrees(bayesian.largest_shift(ratio), expect["sup_tv_over_priors"])
    worst = bayesian.worst_prior(list(likelihood.items()))
    wanted = expect["argmax_prior"]
    if isinstance(wanted, list):
        assert [worst[v] for v in likelihood] == [number(mass) for mass in wanted]
    else:
        assert agrees(worst[0], wanted)
    if "sup_exp_Dinf" in expect:
        forth = divergences.max_divergence_gamma(after, prior)
        assert forth == number(expect["exp_Dinf_post_prior"])
        back = divergences.max_divergence_gamma(prior, after)
        assert back == number(expect["exp_Dinf_prior_post"])
        assert ratio == number(expect["sup_exp_Dinf"])


def prior_posterior_egamma(given: dict[str, Any], expect: dict[str, Any]) -> None:
    likelihood = {v: number(mass) for v, mass in enumerate(given["likelihood"])}
    prior, gamma = masses(given["prior"]), number(given["gamma"])
    after = bayesian.posterior(prior, likelihood)
    assert list(after.masses) == [number(mass) for mass in expect["posterior"]]
    assert divergences.hockey_stick(after, prior, gamma) == number(expect["E_post_prior"])
    ratio = max(likelihood.values()) / min(likelihood.values())
    assert bayesian.largest_hockey_stick(ratio, gamma) == number(expect["sup"])


def prop2_conversion(given: dict[str, Any], expect: dict[str, Any]) -> None:
    tau = number(given["tau"])
    assert gamma_from_tau(tau) == number(expect["tight_exp_eps"])
    assert gamma_from_tau_uniform(tau) == number(expect["paper_proof_exp_eps"])


def games(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of(row_table(given["rows"]))
    belief = Distribution.of({database(x): mass for x, mass in given["belief"].items()})
    default = int(given["default"])
    for key, value in expect.items():
        parts = key.replace("SD(0,", "SD=").rstrip(")").split(",")
        if parts[0].startswith("t=") and parts[1].startswith("game="):
            game = int(parts[1][5:])
            after = semantic.game_posterior(channel, belief, int(parts[0][2:]), game, default)
            assert after is not None
            assert {x: after[database(x)] for x in value} == {
                x: number(m) for x, m in value.items()
            }
        elif parts[0].startswith("t="):
            game = int(parts[1][3:])
            distance = semantic.game_distance(channel, belief, int(parts[0][2:]), game, default)
            assert distance == number(value)
        elif key.startswith("fail_prob_tau_"):
            tau = key.removeprefix("fail_prob_tau_")
            assert semantic.failure_probability(channel, belief, tau, default) == number(value)
    if "dp_exp_eps" in expect:
        found = dp.pure_dp(channel, change_one(channel.databases))["gamma"]
        assert found == number(expect["dp_exp_eps"])
    found = semantic.semantic_privacy(channel, default)
    if "sem_r" in expect:
        assert found["ratio"] == number(expect["sem_r"])
    if "sup_SD" in expect:
        assert found["tau"] == number(expect["sup_SD"])
    if "if_undefined_were_skipped_sem_r" in expect:
        assert found["ratio"] == math.inf


def semantic_fail(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of(row_table(given["rows"]))
    belief = Distribution.of({database(x): mass for x, mass in given["belief"].items()})
    tau, default = given["tau"], int(given["default"])
    failure = semantic.failure_probability(channel, belief, tau, default)
    assert failure == number(expect["fail_prob"])
    two_point = semantic_bounds.two_point_failure_sup(channel, tau, default)["delta"]
    assert agrees(two_point, {"float": expect["sup_over_all_two_point_beliefs_float"]})
    assert failure <= semantic_bounds.semantic_failure_upper(channel, tau, default)


def reality_oblivious(given: dict[str, Any], expect: dict[str, Any]) -> None:
    by_sum = [masses(row) for row in given["rows_by_sum"]]
    channel = Channel.of({x: by_sum[sum(x)] for x in product((0, 1), repeat=4)})
    belief = Distribution.of({database(x): mass for x, mass in given["belief"].items()})
    reality = database(given["reality"])
    distances = [semantic.game_distance(channel, belief, t, 1, 0) for t in range(5)]
    assert distances == [number(value) for value in expect["SD_t_game1"]]
    assert list(channel.masses(reality)) == [number(value) for value in expect["Pr_real_t"]]
    real = semantic.reality_oblivious_failure(channel, belief, reality, "2/5", 0)
    assert real == number(expect["Pr_real[SD>2/5]"])
    believed = semantic.failure_probability(channel, belief, "2/5", 0)
    assert believed == number(expect["Pr_belief[SD>2/5]"])
    near = change_one(channel.databases)
    assert dp.approximate_dp_delta(channel, near, 2)["delta"] == number(expect["dp_delta_at_2"])
    assert dp.approximate_dp_delta(channel, near, 8)["delta"] == number(expect["dp_delta_at_8"])
    assert dp.pure_dp(channel, near)["gamma"] == number(expect["dp_exp_eps"])


def gaussian_a2(given: dict[str, Any], expect: dict[str, Any]) -> None:
    n, variance = number(given["n"]), number(given["sigma2"])
    log_odds = (2 * n - 1) / (2 * variance)
    assert log_odds == number(expect["log_odds"])
    assert agrees(math.tanh(log_odds / 2) / 2, expect["SD_at_t=n"])


def sim_dp(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of({(i,): masses(row) for i, row in enumerate(given["rows"])})
    assert simulation.simulation_dp(channel)["gamma"] == number(expect["sim_exp_eps"])
    found = dp.pure_dp(channel, change_one(channel.databases))["gamma"]
    assert found == number(expect["dp_exp_eps"])
    for gamma, delta in expect["opt_delta"].items():
        assert simulation.simulation_dp_delta(channel, gamma)["delta"] == number(delta)


def sim_dp_anonymous(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = channels.randomised_response(int(given["n"]), odds=given["ratio"])
    found = dp.pure_dp(channel, change_one(channel.databases))["gamma"]
    assert found == number(expect["dp_exp_eps"])
    aware = simulation.simulation_dp(channel)["gamma"]
    assert aware == number(expect["sim_exp_eps_position_aware"])
    anonymous = simulation.anonymous_simulation_dp(channel)["gamma"]
    assert agrees(anonymous, expect["sim_exp_eps_anonymous_list"])
    assert Fraction(anonymous) ** 2 >= 8
