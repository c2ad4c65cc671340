"""Attacks on what is said about mechanisms: simulation, Bayes, semantic privacy."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

from sanql.theory import constants
from sanql.theory.definitions.bayesian import largest_shift, worst_prior
from sanql.theory.divergences import largest_ratio
from sanql.theory.exact import INFINITE
from sanql.theory.implications.guarantees import Setting
from theory.attacks.engine import (
    Attack,
    Genome,
    Reached,
    conclude,
    delta_between,
    gamma_of,
    laws,
    level_gene,
    share_gene,
    whole,
)

BITS = list(product((0, 1), repeat=2))
DROPPED = [
    [BITS.index(tuple(0 if i == person else v for i, v in enumerate(x))) for x in BITS]
    for person in (0, 1)
]
NEAR = [(x, y) for x, y in combinations(range(4), 2) if sum(map(int.__ne__, BITS[x], BITS[y])) == 1]
BOTH_ORDERS = [*NEAR, *((y, x) for x, y in NEAR)]


def simulators_exist(genome: Genome) -> Reached | None:
    """Three values of one record: the closed form is at most the level of differential privacy."""
    rows = laws([gene + 1 for gene in genome], 3, 3)
    if rows is None:
        return None
    gamma = _dp_level(rows, list(combinations(range(3), 2)))
    out = conclude("v-1.1", "approximate_dp", Fraction(gamma), delta=Fraction(0))
    columns = list(zip(*rows, strict=True))
    tops, bottoms = [max(c) for c in columns], [min(c) for c in columns]
    # squared, so that the closed form's root stays exact
    ratio = max(a / b for a, b in zip(tops, bottoms, strict=True))
    reached = max(ratio, sum(tops) ** 2, 1 / sum(bottoms) ** 2)
    return reached, Fraction(gamma_of(out)) ** 2


def simulators_give_privacy(genome: Genome) -> Reached | None:
    rows = laws(genome, 4, 3)
    if rows is None:
        return None
    simulated, gamma = rows[3], level_gene(genome[12])
    delta = max(delta_between(row, simulated, gamma) for row in rows[:3])
    out = conclude("v-1.2", "simulation_dp", gamma, delta=delta)
    same = conclude("cw-def-3-all", "ddp", gamma, Setting(every_distribution=True), delta=delta)
    assert same["delta"] == out["delta"]
    top = Fraction(gamma_of(out))
    reached = max(delta_between(p, q, top) for p, q in combinations(rows[:3], 2))
    return reached, out.exact("delta")


def _posterior(prior: list[Fraction], likelihood: list[Fraction]) -> list[Fraction] | None:
    weights = [a * b for a, b in zip(prior, likelihood, strict=True)]
    total = sum(weights)
    return [w / total for w in weights] if total else None


def beliefs_move_by_at_most_the_level(genome: Genome) -> Reached | None:
    rows = laws([gene + 1 for gene in genome[:9]], 3, 3)
    prior = laws(genome[9:12], 1, 3)
    if rows is None or prior is None:
        return None
    gamma = _dp_level(rows, list(combinations(range(3), 2)))
    ratio = conclude("v-prop-1", "pure_dp", Fraction(gamma))
    shift = conclude("v-prop-1-tv", "pure_dp", Fraction(gamma))
    reached = Fraction(0)
    for t in range(3):
        after = _posterior(prior[0], [row[t] for row in rows])
        assert after is not None
        moved = delta_between(after, prior[0], Fraction(1))
        assert moved <= shift.exact("tau")
        pairs = [(a, b) for a, b in zip(after, prior[0], strict=True) if b]
        back = [(b, a) for a, b in pairs]
        reached = max(reached, Fraction(largest_ratio(pairs)), Fraction(largest_ratio(back)))
    return reached, Fraction(gamma_of(ratio))


def small_moves_give_privacy(genome: Genome) -> Reached | None:
    """Prop. 2 and the converses of Prop. 1: from the beliefs that move most, found explicitly."""
    rows = laws([gene + 1 for gene in genome], 3, 3)
    if rows is None:
        return None
    gamma = Fraction(_dp_level(rows, list(combinations(range(3), 2))))
    tau, factor = Fraction(0), Fraction(1)
    tiny = Fraction(1, 10**12)
    for t in range(3):
        column = [row[t] for row in rows]
        if len(set(column)) > 1:
            worst = worst_prior(list(enumerate(column)))
            prior = [worst[v] for v in range(3)]
            after = _posterior(prior, column)
            assert after is not None
            tau = max(tau, delta_between(after, prior, Fraction(1)))
            top, low = column.index(max(column)), column.index(min(column))
            skewed = [tiny if v == top else 1 - tiny if v == low else Fraction(0) for v in range(3)]
            after = _posterior(skewed, column)
            assert after is not None
            factor = max(factor, after[top] / skewed[top])
    assert tau <= largest_shift(gamma)
    assert gamma <= factor * (1 + Fraction(1, 10**6))
    same = conclude("v-prop-1-back", "prior_posterior_ratio", gamma)
    exact = Setting(every_distribution=True)
    zero = {"delta_hat": Fraction(0), "failure": Fraction(0)}
    also = conclude("cw-def-2-all", "inference_ddp", gamma, exact, **zero)
    assert gamma <= gamma_of(same) and gamma <= gamma_of(also)
    # the explicit prior is rational, so it may miss the supremum by 1e-15
    out = conclude("v-prop-2", "prior_posterior", None, tau=tau * (1 + Fraction(1, 10**14)))
    return gamma, gamma_of(out)


def usually_prior_and_posterior_are_close(genome: Genome) -> Reached | None:
    rows, prior = laws(genome[:9], 3, 3), laws(genome[9:12], 1, 3)
    if rows is None or prior is None:
        return None
    gamma, slack = level_gene(genome[12]), share_gene(genome[13])
    delta = max(delta_between(p, q, gamma) for p, q in combinations(rows, 2))
    setting = Setting(delta_hat=float(slack), values=3)
    out = conclude("v-remark", "approximate_dp", gamma, setting, delta=delta)
    failed = Fraction(0)
    for t in range(3):
        column = [row[t] for row in rows]
        after = _posterior(prior[0], column)
        mass = sum(a * b for a, b in zip(prior[0], column, strict=True))
        if after is not None and delta_between(after, prior[0], Fraction(gamma_of(out))) > Fraction(
            out["delta_hat"]
        ):
            failed += mass
    return failed, out.exact("failure")


def _dp_level(rows: list[list[Fraction]], near: list[tuple[int, int]]) -> Fraction | float:
    best: Fraction | float = Fraction(1)
    for x, y in near:
        forth = list(zip(rows[x], rows[y], strict=True))
        best = max(best, largest_ratio(forth), largest_ratio([(b, a) for a, b in forth]))
    return best


def _semantic_ratio(rows: list[list[Fraction]]) -> Fraction | float:
    best: Fraction | float = Fraction(1)
    for person, t in product((0, 1), range(len(rows[0]))):
        pairs = [(rows[x][t], rows[DROPPED[person][x]][t]) for x in range(4)]
        w = [a / b if b else INFINITE for a, b in pairs if a or b]
        if w:
            best = max(best, INFINITE if 0 in w or INFINITE in w else max(w) / min(w))
    return best


def privacy_gives_semantic_privacy(genome: Genome) -> Reached | None:
    rows = laws([gene + 1 for gene in genome], 4, 2)
    if rows is None:
        return None
    out = conclude("ks-2.2a", "pure_dp", Fraction(_dp_level(rows, NEAR)))
    anywhere = conclude("ks-a.2-pure", "pure_dp", Fraction(_dp_level(rows, NEAR)))
    always = conclude("semantic-zero", "semantic", None, tau=out.exact("tau"))
    assert (anywhere["tau"], anywhere["delta"]) == (always["tau"], always["delta"])
    return largest_shift(_semantic_ratio(rows)), out.exact("tau")


def semantic_privacy_gives_privacy(genome: Genome) -> Reached | None:
    rows = laws([gene + 1 for gene in genome], 4, 2)
    if rows is None:
        return None
    out = conclude("ks-2.2b", "semantic", None, tau=largest_shift(_semantic_ratio(rows)))
    return _dp_level(rows, NEAR), gamma_of(out)


def _bad(rows: list[list[int]], belief: list[int], tau: Fraction, t: int) -> bool | None:
    """Whether some person's SD exceeds tau at t; None when t is impossible under the belief.

    With integers over common denominators SD > tau is sum (u V - v U)_+ > tau U V, where u and v are
    belief times likelihood with and without the person, and U and V their sums.
    """
    real = [belief[x] * rows[x][t] for x in range(4)]
    whole_real = sum(real)
    if whole_real == 0:
        return None
    for person in (0, 1):
        without = [belief[x] * rows[DROPPED[person][x]][t] for x in range(4)]
        whole_without = sum(without)
        gains = (u * whole_without - v * whole_real for u, v in zip(real, without, strict=True))
        gain = sum(each for each in gains if each > 0)
        if whole_without == 0:
            return True
        if gain * tau.denominator > tau.numerator * whole_real * whole_without:
            return True
    return False


def _failed(rows: list[list[Fraction]], belief: list[Fraction], tau: Fraction) -> Fraction:
    """The chance, under the belief, of an output that is bad."""
    table, weights = whole(rows), whole([belief])[0]
    bad = [t for t in range(len(rows[0])) if _bad(table, weights, tau, t)]
    return sum((belief[x] * rows[x][t] for x in range(4) for t in bad), Fraction(0))


def privacy_gives_approximate_semantic_privacy(genome: Genome) -> Reached | None:
    rows, belief = laws(genome[:12], 4, 3), laws(genome[12:16], 1, 4)
    if rows is None or belief is None:
        return None
    gamma = level_gene(genome[16])
    least = constants.semantic_tau(gamma)
    tau = least + (1 - least) * share_gene(genome[17])
    delta = max(delta_between(rows[x], rows[y], gamma) for x, y in NEAR)
    setting = Setting(records=2, tau=float(tau))
    out = conclude("ks-2.4a", "approximate_dp", gamma, setting, delta=delta)
    return _failed(rows, belief[0], Fraction(out["tau"])), out.exact("delta")


def _two_points(x: int, y: int, weight: Fraction) -> list[int]:
    """The belief with a weight on x and the rest on y, as integers."""
    belief = [0] * 4
    belief[x], belief[y] = weight.numerator, weight.denominator - weight.numerator
    return belief


def _two_point_failures(
    rows: list[list[Fraction]], weight: Fraction, tau: Fraction, *, real: bool
) -> Fraction:
    """The worst failure over the beliefs the converse uses: two neighbours, weights b and 1 - b."""
    worst, table = Fraction(0), whole(rows)
    for x, y in BOTH_ORDERS:
        bad = [t for t in range(len(rows[0])) if _bad(table, _two_points(x, y, weight), tau, t)]
        laws_seen = (
            [rows[x], rows[y]]
            if real
            else [[weight * a + (1 - weight) * b for a, b in zip(rows[x], rows[y], strict=True)]]
        )
        worst = max(worst, *(sum((law[t] for t in bad), Fraction(0)) for law in laws_seen))
    return worst


def approximate_semantic_privacy_gives_privacy(genome: Genome) -> Reached | None:
    rows = laws(genome[:8], 4, 2)
    if rows is None:
        return None
    tau = share_gene(genome[8]) / 2
    reached, allowed = Fraction(0), Fraction(1)
    for edge, weight in (("ks-2.4b", (1 - tau) / 2), ("ks-2.4b-uniform", Fraction(1, 2))):
        failure = _two_point_failures(rows, weight, tau, real=False)
        out = conclude(edge, "approximate_semantic", None, tau=tau, delta=failure)
        top = Fraction(gamma_of(out))
        delta = max(delta_between(rows[x], rows[y], top) for x, y in NEAR)
        assert delta <= out.exact("delta")
        reached, allowed = delta, out.exact("delta")
    return reached, allowed


def reality_oblivious_privacy_gives_privacy(genome: Genome) -> Reached | None:
    rows = laws(genome[:8], 4, 2)
    if rows is None:
        return None
    tau = share_gene(genome[8])
    failure = _two_point_failures(rows, (1 - tau) / 2, tau, real=True)
    out = conclude("ks-footnote-4", "reality_oblivious", None, tau=tau, delta=failure)
    top = Fraction(gamma_of(out))
    return max(delta_between(rows[x], rows[y], top) for x, y in NEAR), out.exact("delta")


def mostly_private_is_semantically_private_for_the_belief(genome: Genome) -> Reached | None:
    rows, belief = laws(genome[:12], 4, 3), laws(genome[12:16], 1, 4)
    if rows is None or belief is None:
        return None
    gamma, delta = level_gene(genome[16]), share_gene(genome[18]) / 10
    least = constants.semantic_tau(gamma)
    tau = least + (1 - least) * share_gene(genome[17])
    # only the pairs (x, x without i) matter
    good = [
        all(delta_between(rows[x], rows[DROPPED[i][x]], gamma) <= delta for i in (0, 1))
        for x in range(4)
    ]
    failure = sum((b for b, ok in zip(belief[0], good, strict=True) if not ok), Fraction(0))
    setting = Setting(records=2, tau=float(tau))
    out = conclude("ks-5.1", "mostly_dp", gamma, setting, delta=delta, failure=failure)
    return _failed(rows, belief[0], Fraction(out["tau"])), out.exact("delta")


def informed_beliefs_are_safe_in_every_reality(genome: Genome) -> Reached | None:
    rows = laws(genome[:12], 4, 3)
    if rows is None:
        return None
    gamma, weight = level_gene(genome[12]), share_gene(genome[14])
    least = constants.semantic_tau(gamma)
    tau = least + (1 - least) * share_gene(genome[13])
    delta = max(delta_between(rows[x], rows[y], gamma) for x, y in NEAR)
    setting = Setting(records=2, tau=float(tau))
    out = conclude("ks-a.3", "approximate_dp", gamma, setting, delta=delta)
    worst, table, level = Fraction(0), whole(rows), Fraction(out["tau"])
    for x, y in BOTH_ORDERS:
        verdicts = [_bad(table, _two_points(x, y, weight), level, t) for t in range(3)]
        failed = sum((rows[x][t] for t in range(3) if verdicts[t] in (True, None)), Fraction(0))
        worst = max(worst, failed)
    return worst, out.exact("delta")


ATTACKS = [
    Attack(("v-1.1",), 9, simulators_exist),
    Attack(("v-1.2", "cw-def-3-all"), 13, simulators_give_privacy, rows=4, row=3),
    Attack(("v-prop-1", "v-prop-1-tv"), 12, beliefs_move_by_at_most_the_level, 5_000),
    Attack(("v-prop-2", "v-prop-1-back", "cw-def-2-all"), 9, small_moves_give_privacy, 3_000),
    Attack(("v-remark",), 14, usually_prior_and_posterior_are_close, 5_000, rows=3, row=3),
    Attack(("ks-2.2a", "ks-a.2-pure", "semantic-zero"), 8, privacy_gives_semantic_privacy, 5_000),
    Attack(("ks-2.2b",), 8, semantic_privacy_gives_privacy, 5_000),
    Attack(("ks-2.4a",), 18, privacy_gives_approximate_semantic_privacy, 5_000, rows=4, row=3),
    Attack(
        ("ks-2.4b", "ks-2.4b-uniform"),
        9,
        approximate_semantic_privacy_gives_privacy,
        2_000,
        rows=4,
        row=2,
    ),
    Attack(("ks-footnote-4",), 9, reality_oblivious_privacy_gives_privacy, 5_000, rows=4, row=2),
    Attack(
        ("ks-5.1",), 19, mostly_private_is_semantically_private_for_the_belief, 2_500, rows=4, row=3
    ),
    Attack(("ks-a.3",), 15, informed_beliefs_are_safe_in_every_reality, 3_000, rows=4, row=3),
]
