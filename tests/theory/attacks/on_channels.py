"""Attacks on what is said about mechanisms: simulation, Bayes, semantic privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product

from sanql.theory import constants
from sanql.theory.definitions.bayesian import largest_shift, worst_prior
from sanql.theory.implications.guarantees import Setting
from theory.attacks.engine import (
    Attack,
    Genome,
    Reached,
    are_far,
    conclude,
    delta_of,
    gamma_of,
    level_gene,
    share_gene,
    weights,
    whole,
)

ONE = Fraction(1)
BITS = list(product((0, 1), repeat=2))
DROPPED = [
    [BITS.index(tuple(0 if i == person else v for i, v in enumerate(x))) for x in BITS]
    for person in (0, 1)
]
NEAR = [(x, y) for x, y in combinations(range(4), 2) if sum(map(int.__ne__, BITS[x], BITS[y])) == 1]
PAIRS = list(combinations(range(3), 2))
Rows = list[list[int]]
BOTH_ORDERS = [*NEAR, *((y, x) for x, y in NEAR)]


def simulators_exist(genome: Genome) -> Reached | None:
    """Three values of one record: the closed form is at most the level of differential privacy."""
    rows = weights([gene + 1 for gene in genome], 3, 3)
    if rows is None:
        return None
    gamma = _dp_level(rows, PAIRS)
    out = conclude("v-1.1", "approximate_dp", gamma, delta=Fraction(0))
    columns, whole_row = list(zip(*rows, strict=True)), sum(rows[0])
    tops, bottoms = sum(map(max, columns)), sum(map(min, columns))
    # squared, so that the closed form's root stays exact
    ratio = max(map(_ratio, columns))
    reached = max(ratio, Fraction(tops, whole_row) ** 2, Fraction(whole_row, bottoms) ** 2)
    return reached, Fraction(gamma_of(out)) ** 2


def simulators_give_privacy(genome: Genome) -> Reached | None:
    rows = weights(genome, 4, 3)
    if rows is None:
        return None
    simulated, gamma = rows[3], level_gene(genome[12])
    delta = max(delta_of(row, simulated, gamma) for row in rows[:3])
    out = conclude("v-1.2", "simulation_dp", gamma, delta=delta)
    same = conclude("cw-def-3-all", "ddp", gamma, Setting(every_distribution=True), delta=delta)
    assert same.parameters == out.parameters
    top = Fraction(gamma_of(out))
    reached = max(delta_of(p, q, top) for p, q in combinations(rows[:3], 2))
    return reached, out.exact("delta")


def _times(prior: Sequence[int], likelihood: Sequence[int]) -> list[int]:
    """The posterior, as weights."""
    return [a * b for a, b in zip(prior, likelihood, strict=True)]


def beliefs_move_by_at_most_the_level(genome: Genome) -> Reached | None:
    rows = weights([gene + 1 for gene in genome[:9]], 3, 3)
    prior = genome[9:12]
    if rows is None or not any(prior):
        return None
    gamma = _dp_level(rows, PAIRS)
    ratio = conclude("v-prop-1", "pure_dp", gamma)
    shift = conclude("v-prop-1-tv", "pure_dp", gamma)
    reached = Fraction(0)
    for column in zip(*rows, strict=True):
        after = _times(prior, column)
        assert delta_of(after, prior, ONE) <= shift.exact("tau")
        # posterior over prior is the likelihood over its average
        average = Fraction(sum(after), sum(prior))
        held = [each for each, mass in zip(column, prior, strict=True) if mass]
        reached = max(reached, max(held) / average, average / min(held))
    return reached, Fraction(gamma_of(ratio))


def small_moves_give_privacy(genome: Genome) -> Reached | None:
    """Prop. 2 and the converses of Prop. 1: from the beliefs that move most, found explicitly."""
    rows = weights([gene + 1 for gene in genome], 3, 3)
    if rows is None:
        return None
    gamma = _dp_level(rows, PAIRS)
    tau, factor = Fraction(0), Fraction(1)
    tiny = Fraction(1, 10**12)
    for column in zip(*rows, strict=True):
        if len(set(column)) > 1:
            worst = worst_prior([(v, Fraction(each)) for v, each in enumerate(column)])
            prior = whole([[worst[v] for v in range(3)]])[0]
            tau = max(tau, delta_of(_times(prior, column), prior, ONE))
            top, low = max(column), min(column)
            # the factor by which a vanishing belief in the likeliest value grows
            factor = max(factor, top / (tiny * top + (1 - tiny) * low))
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
    rows, prior = weights(genome[:9], 3, 3), genome[9:12]
    if rows is None or not any(prior):
        return None
    gamma, slack = level_gene(genome[12]), share_gene(genome[13])
    delta = max(delta_of(p, q, gamma) for p, q in combinations(rows, 2))
    setting = Setting(delta_hat=float(slack), values=3)
    out = conclude("v-remark", "approximate_dp", gamma, setting, delta=delta)
    if out["failure"] == 1:
        return None  # it says nothing here
    top, limit = Fraction(gamma_of(out)), Fraction(out["delta_hat"])
    failed = 0
    for column in zip(*rows, strict=True):
        after = _times(prior, column)
        if any(after) and are_far(after, prior, top, limit):
            failed += sum(after)
    return Fraction(failed, sum(prior) * sum(rows[0])), out.exact("failure")


def _dp_level(rows: Rows, near: list[tuple[int, int]]) -> Fraction:
    """The largest ratio between near rows, none of whose weights is 0."""
    return max(_ratio([rows[x][t], rows[y][t]]) for x, y in near for t in range(len(rows[x])))


def _ratio(column: Sequence[int]) -> Fraction:
    return Fraction(max(column), min(column))


def _semantic_ratio(rows: Rows) -> Fraction:
    """The largest max w / min w, w = Pr[t | x] / Pr[t | x without i]; no weight is 0."""
    best = ONE
    for person, t in product((0, 1), range(len(rows[0]))):
        w = [Fraction(rows[x][t], rows[DROPPED[person][x]][t]) for x in range(4)]
        best = max(best, max(w) / min(w))
    return best


def privacy_gives_semantic_privacy(genome: Genome) -> Reached | None:
    rows = weights([gene + 1 for gene in genome], 4, 2)
    if rows is None:
        return None
    out = conclude("ks-2.2a", "pure_dp", _dp_level(rows, NEAR))
    anywhere = conclude("ks-a.2-pure", "pure_dp", _dp_level(rows, NEAR))
    always = conclude("semantic-zero", "semantic", None, tau=out.exact("tau"))
    assert (anywhere["tau"], anywhere["delta"]) == (always["tau"], always["delta"])
    return largest_shift(_semantic_ratio(rows)), out.exact("tau")


def semantic_privacy_gives_privacy(genome: Genome) -> Reached | None:
    rows = weights([gene + 1 for gene in genome], 4, 2)
    if rows is None:
        return None
    out = conclude("ks-2.2b", "semantic", None, tau=largest_shift(_semantic_ratio(rows)))
    return _dp_level(rows, NEAR), gamma_of(out)


def _bad(rows: Rows, belief: Sequence[int], tau: Fraction, t: int) -> bool | None:
    """Whether some person's SD exceeds tau at t; None when t is impossible under the belief."""
    held = [(x, mass) for x, mass in enumerate(belief) if mass]
    real = [mass * rows[x][t] for x, mass in held]
    if not any(real):
        return None
    for dropped in DROPPED:
        without = [mass * rows[dropped[x]][t] for x, mass in held]
        if not any(without) or are_far(real, without, ONE, tau):
            return True
    return False


def _failed(rows: Rows, belief: Sequence[int], tau: Fraction) -> Fraction:
    """The chance, under the belief, of an output that is bad."""
    bad = [t for t in range(len(rows[0])) if _bad(rows, belief, tau, t)]
    mass = sum(belief[x] * rows[x][t] for x in range(4) for t in bad)
    return Fraction(mass, sum(belief) * sum(rows[0]))


def privacy_gives_approximate_semantic_privacy(genome: Genome) -> Reached | None:
    rows, belief = weights(genome[:12], 4, 3), list(genome[12:16])
    if rows is None or not any(belief):
        return None
    gamma = level_gene(genome[16])
    least = _semantic_tau(gamma)
    tau = least + (1 - least) * share_gene(genome[17])
    delta = max(delta_of(rows[x], rows[y], gamma) for x, y in NEAR)
    setting = Setting(records=2, tau=float(tau))
    out = conclude("ks-2.4a", "approximate_dp", gamma, setting, delta=delta)
    if out["delta"] == 1:
        return None  # it says nothing here
    return _failed(rows, belief, Fraction(out["tau"])), out.exact("delta")


def _two_points(x: int, y: int, weight: Fraction) -> list[int]:
    """The belief with a weight on x and the rest on y, as integers."""
    belief = [0] * 4
    belief[x], belief[y] = weight.numerator, weight.denominator - weight.numerator
    return belief


def _two_point_failures(rows: Rows, weight: Fraction, tau: Fraction, *, real: bool) -> Fraction:
    """The worst failure over the beliefs the converse uses: two neighbours, weights b and 1 - b."""
    worst, one = Fraction(0), sum(rows[0])
    for x, y in BOTH_ORDERS:
        belief = _two_points(x, y, weight)
        bad = [t for t in range(len(rows[0])) if _bad(rows, belief, tau, t)]
        if bad:
            in_x = Fraction(sum(rows[x][t] for t in bad), one)
            in_y = Fraction(sum(rows[y][t] for t in bad), one)
            worst = max(worst, *((in_x, in_y) if real else (weight * in_x + (1 - weight) * in_y,)))
    return worst


def approximate_semantic_privacy_gives_privacy(genome: Genome) -> Reached | None:
    rows = weights(genome[:8], 4, 2)
    if rows is None:
        return None
    tau = share_gene(genome[8]) / 2
    reached, allowed = Fraction(0), Fraction(1)
    for edge, weight in (("ks-2.4b", (1 - tau) / 2), ("ks-2.4b-uniform", Fraction(1, 2))):
        failure = _two_point_failures(rows, weight, tau, real=False)
        out = conclude(edge, "approximate_semantic", None, tau=tau, delta=failure)
        top = Fraction(gamma_of(out))
        delta = max(delta_of(rows[x], rows[y], top) for x, y in NEAR)
        assert delta <= out.exact("delta")
        reached, allowed = delta, out.exact("delta")
    return reached, allowed


def reality_oblivious_privacy_gives_privacy(genome: Genome) -> Reached | None:
    rows = weights(genome[:8], 4, 2)
    if rows is None:
        return None
    tau = share_gene(genome[8])
    failure = _two_point_failures(rows, (1 - tau) / 2, tau, real=True)
    out = conclude("ks-footnote-4", "reality_oblivious", None, tau=tau, delta=failure)
    top = Fraction(gamma_of(out))
    return max(delta_of(rows[x], rows[y], top) for x, y in NEAR), out.exact("delta")


def mostly_private_is_semantically_private_for_the_belief(genome: Genome) -> Reached | None:
    rows, belief = weights(genome[:12], 4, 3), list(genome[12:16])
    if rows is None or not any(belief):
        return None
    gamma, delta = level_gene(genome[16]), share_gene(genome[18]) / 10
    least = _semantic_tau(gamma)
    tau = least + (1 - least) * share_gene(genome[17])
    # only the pairs (x, x without i) matter
    good = [
        all(not are_far(rows[x], rows[DROPPED[i][x]], gamma, delta) for i in (0, 1))
        for x in range(4)
    ]
    failure = Fraction(sum(b for b, ok in zip(belief, good, strict=True) if not ok), sum(belief))
    setting = Setting(records=2, tau=float(tau))
    out = conclude("ks-5.1", "mostly_dp", gamma, setting, delta=delta, failure=failure)
    if out["delta"] == 1:
        return None  # it says nothing here
    return _failed(rows, belief, Fraction(out["tau"])), out.exact("delta")


def informed_beliefs_are_safe_in_every_reality(genome: Genome) -> Reached | None:
    rows = weights(genome[:12], 4, 3)
    if rows is None:
        return None
    gamma, weight = level_gene(genome[12]), share_gene(genome[14])
    least = _semantic_tau(gamma)
    tau = least + (1 - least) * share_gene(genome[13])
    delta = max(delta_of(rows[x], rows[y], gamma) for x, y in NEAR)
    setting = Setting(records=2, tau=float(tau))
    out = conclude("ks-a.3", "approximate_dp", gamma, setting, delta=delta)
    if out["delta"] == 1:
        return None  # it says nothing here
    worst, level = 0, Fraction(out["tau"])
    for x, y in BOTH_ORDERS:
        belief = _two_points(x, y, weight)
        bad = [t for t in range(3) if _bad(rows, belief, level, t) is not False]
        worst = max(worst, sum(rows[x][t] for t in bad))
    return Fraction(worst, sum(rows[0])), out.exact("delta")


_semantic_tau = lru_cache(maxsize=64)(constants.semantic_tau)
ATTACKS = [
    Attack(("v-1.1",), 9, simulators_exist),
    Attack(("v-1.2", "cw-def-3-all"), 13, simulators_give_privacy, rows=4, row=3, tight=True),
    Attack(("v-prop-1", "v-prop-1-tv"), 12, beliefs_move_by_at_most_the_level),
    Attack(("v-prop-2", "v-prop-1-back", "cw-def-2-all"), 9, small_moves_give_privacy, tight=True),
    Attack(("v-remark",), 14, usually_prior_and_posterior_are_close, rows=3, row=3),
    Attack(
        ("ks-2.2a", "ks-a.2-pure", "semantic-zero"), 8, privacy_gives_semantic_privacy, tight=True
    ),
    Attack(("ks-2.2b",), 8, semantic_privacy_gives_privacy, tight=True),
    Attack(("ks-2.4a",), 18, privacy_gives_approximate_semantic_privacy, rows=4, row=3),
    Attack(
        ("ks-2.4b", "ks-2.4b-uniform"),
        9,
        approximate_semantic_privacy_gives_privacy,
        rows=4,
        row=2,
    ),
    Attack(("ks-footnote-4",), 9, reality_oblivious_privacy_gives_privacy, rows=4, row=2),
    Attack(
        ("ks-5.1",),
        19,
        mostly_private_is_semantically_private_for_the_belief,
        rows=4,
        row=3,
        instances=3_000,
    ),
    Attack(("ks-a.3",), 15, informed_beliefs_are_safe_in_every_reality, rows=4, row=3),
]
