"""How each kind of vector about worlds, secrets and joint laws is checked."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from sanql.theory import constants, divergences
from sanql.theory.channels import Channel, exact_statistic, from_function
from sanql.theory.definitions import coupled_worlds, inference, inference_best, secrets
from sanql.theory.definitions.dp import pure_dp
from sanql.theory.definitions.worlds import Protection, World, canonical_simulator, records
from sanql.theory.distributions import Distribution
from sanql.theory.neighbours import change_one
from theory.vectors import agrees, database, masses, number


def bits(n: int) -> list[tuple[int, ...]]:
    return list(product((0, 1), repeat=n))


def ddp_lp(given: dict[str, Any], expect: dict[str, Any]) -> None:
    n = int(given["n"])
    channel = exact_statistic(bits(n), lambda x: sum(x) % 2)
    world = World.knowing(Distribution.uniform(bits(n)), lambda x: sum(x) % 2)
    for gamma, delta in expect["ddp_opt_delta"].items():
        found = coupled_worlds.distributional_dp_delta(channel, [world], gamma)
        assert found["delta"] == number(delta)
    coin = Channel.of(
        {protection.alt(x): masses(["1/2", "1/2"]) for protection in records(n) for x in bits(n)}
    )
    level = number(expect["inference_ddp_exp_eps"])
    failure = inference.inference_failure(
        channel, [world], records(n), simulator=coin, gamma=level, delta_hat=0
    )
    assert failure == number(expect["inference_ddp_delta"])
    best = inference_best.least_inference_failure(
        channel, [world], records(n), gamma=level, delta_hat=0
    )
    assert best == 0


def _majority(x: tuple[int, ...]) -> Distribution:
    total = sum(x)
    if total == 0:
        return Distribution.of({"+": "1/2", "-": "1/2"})
    return Distribution.point("+" if total > 0 else "-")


def _signs(n: int, eta: Fraction) -> dict[tuple[tuple[int, ...], int], Fraction]:
    cells = {}
    for mu in (1, -1):
        for x in product((1, -1), repeat=n):
            agree = sum(value == mu for value in x)
            cells[x, mu] = Fraction(1, 2) * (1 - eta) ** agree * eta ** (n - agree)
    return cells


def ddp_vs_noiseless(given: dict[str, Any], expect: dict[str, Any]) -> None:
    if "eta" not in given:
        return sum_of_bits(given, expect)
    n, eta = int(given["n"]), number(given["eta"])
    cells = _signs(n, eta)
    channel = from_function(list(product((1, -1), repeat=n)), _majority)
    smaller = from_function(list(product((1, -1), repeat=n - 1)), _majority)
    knowing = World.of(cells)
    worlds = {"mu": knowing, "none": knowing.reduced(lambda _: Distribution.point(None))}
    canonical = canonical_simulator(smaller, n)
    for key, value in expect.items():
        if "[" not in key:
            continue
        name, rest = key.split("[")
        side, level = rest.rstrip("]").split(",")
        world, gamma = worlds[side.removeprefix("Z=")], level.removeprefix("g=")
        if name == "noiseless_delta":
            found = secrets.noiseless_delta(channel, [world], gamma)
        elif name == "ddp_canonical_delta":
            found = coupled_worlds.distributional_dp_delta(
                channel, [world], gamma, simulator=canonical
            )
        else:
            found = coupled_worlds.distributional_dp_delta(channel, [world], gamma)
        assert found["delta"] == number(value)
    for side, world in worlds.items():
        laws = world.given(lambda x: x[0])
        for sign in (1, -1):
            sides = [None] if side == "none" else [1, -1]
            rows = [channel.output_of(laws[sign, z]) for z in sides]
            wanted = expect[f"F|X1={sign:+d},Z={side}"]
            assert [[row["+"], row["-"]] for row in rows] == [
                [number(mass) for mass in row] for row in wanted
            ]


def sum_of_bits(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = exact_statistic(bits(3), sum)
    world = World.without_side_information(Distribution.uniform(bits(3)))
    laws = world.given(lambda x: x[0])
    for value in (0, 1):
        row = channel.output_of(laws[value, None])
        assert [row[t] for t in range(4)] == [number(m) for m in given[f"F|X1={value}"]]
    for key, value in expect.items():
        name, gamma = key.rstrip("]").split("[g=")
        if name == "ddp_opt_delta":
            found = coupled_worlds.distributional_dp_delta(channel, [world], gamma)["delta"]
            assert found == number(value)
            bound = number(value) * (1 + number(gamma))
            squared = str(number(gamma) ** 2)
            assert bound == number(expect[f"cor2_bound_at[g={squared}]"])
        elif name == "noiseless_delta":
            assert secrets.noiseless_delta(channel, [world], gamma)["delta"] == number(value)


def composition(given: dict[str, Any], expect: dict[str, Any]) -> None:
    joint = {
        name: Distribution.of(
            {(f, g): number(m) for f, row in enumerate(given[name]) for g, m in enumerate(row)}
        )
        for name in ("real", "hybrid", "ideal")
    }
    gamma_f, gamma_g = number(given["gF"]), number(given["gG"])

    def conditional(name: str, axis: int, value: int) -> Distribution:
        cells = {t: m for t, m in joint[name].items() if t[axis] == value}
        return Distribution.from_weights(cells)

    delta_g = max(
        divergences.indistinguishability_delta(
            conditional("real", 0, f), conditional("hybrid", 0, f), gamma_g
        )
        for f in (0, 1)
    )
    delta_f = max(
        divergences.indistinguishability_delta(
            conditional("hybrid", 1, g), conditional("ideal", 1, g), gamma_f
        )
        for g in (0, 1)
    )
    assert delta_g == number(expect["delta_G(real|hybrid per f)"])
    assert delta_f == number(expect["delta_F(hybrid|ideal per g)"])
    forth = divergences.hockey_stick(joint["real"], joint["ideal"], gamma_f * gamma_g)
    back = divergences.hockey_stick(joint["ideal"], joint["real"], gamma_f * gamma_g)
    assert forth == number(expect["E_{gF gG}(real||ideal)"])
    assert back == number(expect["E_{gF gG}(ideal||real)"])
    formula = constants.composed_delta(gamma_f, delta_f, gamma_g, delta_g)
    assert formula == number(expect["formula"])


def pufferfish_inference(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of({0: masses(given["F|sec=0"]), 1: masses(given["F|sec=1"])})
    prior = number(given["prior_sec0"])
    world = World.of({(0, None): prior, (1, None): 1 - prior})
    secret = secrets.Secret("bit", lambda x: x)
    found = secrets.pufferfish_delta(channel, [world], [secret], given["gamma"])["delta"]
    assert found == number(expect["pufferfish_delta"])
    expected = Fraction(0)
    for t in (0, 1):
        weights = {v: world.joint[v, None] * channel.row(v)[t] for v in (0, 1)}
        after = Distribution.from_weights(weights)
        assert after[0] == number(expect[f"posterior_sec0_t{t}"])
        gap = divergences.hockey_stick(after, Distribution.over([prior, 1 - prior]), 1)
        assert gap == number(expect[f"E_post_prior_t{t}"])
        expected += sum(weights.values()) * gap
    assert expected == number(expect["expected_E"])
    failure = secrets.pufferfish_inference_failure(
        channel, [world], [secret], gamma=1, delta_hat="1/4"
    )
    assert failure == number(expect["fail_prob_dh_1/4"])
    bound = constants.pufferfish_failure(found, Fraction(1, 4), prior)
    assert bound == number(expect["simple_bound_dh_1/4"])


def pufferfish_inference_bot(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of({v: masses(given[f"F|sec={v}"]) for v in ("0", "1", "bot")})
    prior = dict(zip(("0", "1", "bot"), map(number, given["prior"]), strict=True))
    world = World.of({(v, None): mass for v, mass in prior.items()})
    secret = secrets.Secret("maybe", {"0": 0, "1": 1, "bot": None}.__getitem__)
    for gamma in (1, 5):
        found = secrets.pufferfish_delta(channel, [world], [secret], gamma)["delta"]
        assert found == number(expect["pufferfish_delta_at_any_g"])
    for t in (0, 1):
        weights = {v: mass * channel.row(v)[t] for v, mass in prior.items()}
        after = Distribution.from_weights(weights)
        assert list(after.masses) == [number(m) for m in expect[f"posterior_t{t}"]]
        if t == 0:
            before = Distribution.of(prior)
            tv = divergences.statistical_difference(after, before)
            assert tv == number(expect["tv_post_prior_t0"])
            worst = divergences.max_divergence_gamma(before, after)
            assert worst == number(expect["exp_Dinf_prior_post_t0"])
    failure = secrets.pufferfish_inference_failure(
        channel, [world], [secret], gamma=100, delta_hat="1/4"
    )
    assert failure == 1


def cw_inference(given: dict[str, Any], expect: dict[str, Any]) -> None:
    rows = [masses(row) for row in given["F_given_v"]]
    channel = Channel.of(dict(enumerate(rows)))
    simulator = Channel.of({v: masses(row) for v, row in enumerate(given["Sim_given_v"])})
    world = World.without_side_information(Distribution.uniform(range(len(rows))))
    itself = Protection("value", lambda x: x, lambda x: x)
    gamma, delta_hat = number(given["gamma"]), number(given["delta_hat"])
    found = coupled_worlds.coupled_worlds_delta(
        channel, [world], [itself], gamma, simulator=simulator
    )
    assert found["delta"] == number(expect["cw_delta"])
    failure = inference.inference_failure(
        channel,
        [world],
        [itself],
        simulator=simulator,
        gamma=given["gamma_hat"],
        delta_hat=delta_hat,
    )
    assert failure == number(expect["fail_prob"])
    assert failure > number(expect["claimed"])
    sharp = constants.hat_constant(gamma, delta_hat) * Fraction(found["delta"])
    assert failure <= sharp == number(expect["sharp_bound"])


def inference_ddp_vacuous(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of({database(x): masses(row) for x, row in given["rows"].items()})
    points = [World.without_side_information(Distribution.point(x)) for x in channel.databases]
    simulator = Channel.of({(0, ()): masses(given["Sim"])})
    failure = inference.inference_failure(
        channel,
        points,
        records(1),
        simulator=simulator,
        gamma=expect["inference_ddp_exp_eps"],
        delta_hat=0,
    )
    assert failure == number(expect["inference_ddp_delta"])
    for gamma in (1, 10):
        found = coupled_worlds.distributional_dp_delta(channel, points, gamma)["delta"]
        assert found == number(expect["ddp_opt_delta_at_any_gamma"])
    private = pure_dp(channel, change_one(channel.databases))["gamma"]
    assert private == number(expect["dp_exp_eps"])


def ddp_inference(given: dict[str, Any], expect: dict[str, Any]) -> None:
    channel = Channel.of({(v,): masses(row) for v, row in enumerate(given["F_given_v"])})
    world = World.without_side_information(Distribution.uniform(channel.databases))
    simulator = Channel.of({(0, ()): masses(given["Sim"])})
    found = coupled_worlds.distributional_dp_delta(
        channel, [world], given["gamma"], simulator=simulator
    )
    assert found["delta"] == number(expect["ddp_delta_with_this_Sim"]) == number(given["delta"])
    level, slack = given["gamma_hat(3eps)"], given["delta_hat(2sqrt(n delta))"]
    wanted = number(expect["inference_fail_prob_any_Sim"])
    failure = inference.inference_failure(
        channel, [world], records(1), simulator=simulator, gamma=level, delta_hat=slack
    )
    assert failure == wanted
    best = inference_best.least_inference_failure(
        channel, [world], records(1), gamma=level, delta_hat=slack
    )
    assert best == wanted > number(expect["claimed_fail_bound"])
    beliefs = inference.inferences(channel, world, records(1), simulator)
    first = next(belief for belief in beliefs if belief.output == 0)
    assert list(first.real.masses) == [number(m) for m in expect["posterior_t0"]]


def chain(given: dict[str, Any], expect: dict[str, Any]) -> None:
    laws = [masses(row) for row in given["chain"]]
    gamma, middle = number(given["gamma"]), number(given["gamma1"])
    ends = [divergences.indistinguishability_delta(laws[i], laws[i + 1], gamma) for i in (0, 2)]
    assert max(ends) == number(expect["delta"])
    link = divergences.indistinguishability_delta(laws[1], laws[2], middle)
    assert link == number(expect["delta1"])
    total = divergences.indistinguishability_delta(laws[0], laws[3], gamma**2 * middle)
    assert total == number(expect["E_total_at_g^2*g1"])
    assert constants.chain_delta(gamma, max(ends), middle, link) == number(expect["formula"])


def joint_mixture(given: dict[str, Any], expect: dict[str, Any]) -> None:
    gamma = number(given["gamma"])
    belief = {x: number(m) for x, m in given["belief"].items()}
    rows = {x: masses(row) for x, row in given["rows"].items()}
    primes = {x: masses(row) for x, row in given["rows_prime"].items()}
    for x, row in rows.items():
        forth = divergences.hockey_stick(row, primes[x], gamma)
        back = divergences.hockey_stick(primes[x], row, gamma)
        assert forth == number(expect["per_x_E"][x])
        assert back == number(expect["per_x_E_rev"][x])

    def joint(table: dict[str, Distribution]) -> Distribution:
        return Distribution.of(
            {(x, t): belief[x] * m for x, row in table.items() for t, m in row.items()}
        )

    assert divergences.hockey_stick(joint(rows), joint(primes), gamma) == number(expect["joint_E"])
    back = divergences.hockey_stick(joint(primes), joint(rows), gamma)
    assert back == number(expect["joint_E_rev"])


def conditional_lemma(given: dict[str, Any], expect: dict[str, Any]) -> None:
    def joint(rows: list[list[str]]) -> Distribution:
        cells = {(t, x): m for t, row in enumerate(rows) for x, m in enumerate(row)}
        return Distribution.of(cells)

    p, q = joint(given["joint_P_rows_t"]), joint(given["joint_Q_rows_t"])
    gamma, delta = number(given["gamma"]), number(given["delta"])
    found = divergences.indistinguishability_delta(p, q, gamma)
    assert found == delta == number(expect["delta_two_sided"])
    failure = Fraction(0)
    for t in range(len(given["joint_P_rows_t"])):
        seen = {x: p[t, x] for x in (0, 1)}
        other = {x: q[t, x] for x in (0, 1)}
        gap = divergences.indistinguishability_delta(
            Distribution.from_weights(seen), Distribution.from_weights(other), given["gamma_hat"]
        )
        if gap > number(given["delta_hat"]):
            failure += sum(seen.values())
    assert failure == number(expect["fail_prob_over_P"])
    printed = constants.printed_lemma_failure(gamma, delta, number(given["delta_hat"]))
    assert agrees(printed, expect["paper_delta2"])
    assert failure > printed
    sharp = delta * constants.hat_constant(gamma, number(given["delta_hat"]))
    assert failure <= sharp == number(expect["sharp_bound"])


def implication(given: dict[str, Any], expect: dict[str, Any]) -> None:
    if "cases" in given:
        for (gamma, second), wanted in zip(given["cases"], expect["K"], strict=True):
            if "/" in wanted or wanted.isdigit():
                assert constants.hat_constant(number(gamma), number(second)) == number(wanted)
            else:
                found = constants.tv_constant(number(gamma), number(second))
                assert agrees(found, {"float": wanted})
        return
    gamma, delta, n = number(given["exp_eps"]), number(given["delta"]), int(given["n"])
    tight = constants.statistical_difference_bound(gamma, delta)
    assert tight == number(expect["tv_bound_tight"])
    printed = constants.printed_statistical_difference_bound(gamma, delta)
    assert printed == number(expect["tv_bound_paper"])
    pointwise = constants.pointwise_bound(gamma, delta, gamma**2)
    assert pointwise == number(expect["pointwise_2eps_delta_corrected"])
    false = constants.printed_pointwise_bound(gamma, delta)
    assert agrees(false, expect["pointwise_2eps_delta_paper"])
    tau = constants.printed_semantic_tau(math.log(gamma), float(delta))
    assert agrees(tau, expect["thm24_paper_eps_prime"])
    sharp = n * float(delta) * constants.tv_constant(gamma, tau)
    assert agrees(sharp, {"float": expect["thm24_sharp_delta_prime_at_paper_eps"]}, 1e-11)
    simple = n * math.sqrt(delta) * (1 - math.sqrt(delta))
    assert agrees(simple, expect["thm24_simple_delta_prime"])
    lemma = constants.printed_lemma_failure(gamma, delta, 2 * math.sqrt(delta))
    assert agrees(lemma, expect["lemma41_paper_fail"])
    hat = delta * constants.hat_constant(gamma, Fraction(2, 1000))
    assert hat == number(expect["lemma41_sharp_fail_at_dh=2e-3"])
    assert constants.group_delta(gamma, delta, 2) == number(expect["sim_to_dp_delta(2eps)"])
    level, slack = (number(value) for value in expect["addremove_to_changeone"])
    assert (gamma**2, constants.group_delta(gamma, delta, 2)) == (level, slack)
