"""Attacks on what is said about two or three output laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

from sanql.theory import constants
from sanql.theory.divergences import excess
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

EVENTS = list(chain.from_iterable(combinations(range(3), k) for k in range(4)))


def pointwise_gives_indistinguishable(genome: Genome) -> Reached | None:
    found = laws(genome, 2, 3)
    if found is None:
        return None
    (p, q), gamma = found, level_gene(genome[6])
    bad = [(a, b) for a, b in zip(p, q, strict=True) if a > gamma * b or b > gamma * a]
    delta = max(sum((a for a, _ in bad), Fraction(0)), sum((b for _, b in bad), Fraction(0)))
    out = conclude("ks-3.3.1", "pointwise_dp", gamma, delta=delta)
    return delta_between(p, q, Fraction(gamma_of(out))), out.exact("delta")


def indistinguishable_gives_pointwise(genome: Genome) -> Reached | None:
    found = laws(genome, 2, 3)
    if found is None:
        return None
    (p, q), gamma = found, level_gene(genome[6])
    out = conclude("ks-3.3.2", "approximate_dp", gamma, delta=delta_between(p, q, gamma))
    top = Fraction(gamma_of(out))
    bad = [(a, b) for a, b in zip(p, q, strict=True) if a > top * b or b > top * a]
    reached = max(sum((a for a, _ in bad), Fraction(0)), sum((b for _, b in bad), Fraction(0)))
    return reached, out.exact("delta")


def indistinguishable_gives_statistical_difference(genome: Genome) -> Reached | None:
    found = laws(genome, 2, 3)
    if found is None:
        return None
    (p, q), gamma = found, level_gene(genome[6])
    out = conclude("ks-3.3.6", "approximate_dp", gamma, delta=delta_between(p, q, gamma))
    one_sided = constants.one_sided_difference_bound(
        gamma, excess(list(zip(p, q, strict=True)), gamma)
    )
    reached = delta_between(p, q, Fraction(1))
    assert reached <= one_sided
    return reached, out.exact("delta")


def indistinguishable_bounds_every_test(genome: Genome) -> Reached | None:
    found = laws(genome, 2, 3)
    if found is None:
        return None
    (p, q), gamma = found, level_gene(genome[6])
    delta = delta_between(p, q, gamma)
    out = conclude("tests", "approximate_dp", gamma, delta=delta)
    back = conclude("tests-back", "testing", gamma, delta=delta)
    assert back.parameters == out.parameters
    top = Fraction(gamma_of(out))
    least = Fraction(2)
    for event in EVENTS:
        false_positive = 1 - sum((p[t] for t in event), Fraction(0))
        false_negative = sum((q[t] for t in event), Fraction(0))
        least = min(
            least,
            false_positive + top * false_negative,
            false_negative + top * false_positive,
        )
    return 1 - least, out.exact("delta")


def pure_is_the_case_delta_zero(genome: Genome) -> Reached | None:
    found = laws([gene + 1 for gene in genome[:6]], 2, 3)
    if found is None:
        return None
    p, q = found
    gamma = max(max(a / b, b / a) for a, b in zip(p, q, strict=True))
    out = conclude("pure-zero", "pure_dp", gamma)
    back = conclude("approximate-zero", "approximate_dp", gamma, delta=Fraction(0))
    assert back["epsilon"] == out["epsilon"]
    assert conclude("perfect", "perfect_privacy")["epsilon"] == 0
    return delta_between(p, q, Fraction(gamma_of(out))), Fraction(0)


def a_group_costs_a_geometric_sum(genome: Genome) -> Reached | None:
    found = laws(genome, 4, 3)
    if found is None:
        return None
    gamma = level_gene(genome[12])
    delta = max(delta_between(found[k], found[k + 1], gamma) for k in range(3))
    out = conclude("group", "approximate_dp", gamma, Setting(group=3), delta=delta)
    return delta_between(found[0], found[3], Fraction(gamma_of(out))), out.exact("delta")


def add_remove_gives_change_one(genome: Genome) -> Reached | None:
    found = laws(genome, 3, 3)
    if found is None:
        return None
    (smaller, x, y), gamma = found, level_gene(genome[9])
    delta = max(delta_between(x, smaller, gamma), delta_between(smaller, y, gamma))
    out = conclude("add-remove", "add_remove_dp", gamma, delta=delta)
    return delta_between(x, y, Fraction(gamma_of(out))), out.exact("delta")


def statistical_difference_adds_up_over_records(genome: Genome) -> Reached | None:
    found = laws(genome, 4, 3)
    if found is None:
        return None
    delta = max(delta_between(found[k], found[k + 1], Fraction(1)) for k in range(3))
    out = conclude("v-case-1", "statistical_difference", None, Setting(records=3), delta=delta)
    return delta_between(found[0], found[3], Fraction(1)), out.exact("delta")


def _joint(genome: Genome) -> tuple[list[list[Fraction]], list[list[Fraction]]] | None:
    found = laws(genome, 2, 6)
    if found is None:
        return None
    p, q = ([law[0:2], law[2:4], law[4:6]] for law in found)
    return p, q


def _failure(
    p: list[list[Fraction]], q: list[list[Fraction]], gamma: Fraction, slack: Fraction
) -> Fraction:
    """Pr over t ~ P of: X|t and Y|t are not (gamma, slack)-close."""
    failed = Fraction(0)
    for row_p, row_q in zip(p, q, strict=True):
        mass, other = sum(row_p), sum(row_q)
        if mass and (
            not other
            or delta_between([a / mass for a in row_p], [b / other for b in row_q], gamma) > slack
        ):
            failed += mass
    return failed


def conditionals_of_close_joints_are_close(genome: Genome) -> Reached | None:
    """The sharp Lemma 4.1 (and coupled-worlds Lemma 1), directly on joint laws."""
    found = _joint(genome)
    if found is None:
        return None
    (p, q), gamma, slack = found, level_gene(genome[12]), share_gene(genome[13])
    delta = delta_between(list(chain(*p)), list(chain(*q)), gamma)
    if delta == 0:
        return None
    setting = Setting(records=1, delta_hat=float(slack))
    out = conclude("ks-4.1", "approximate_dp", gamma, setting, delta=delta)
    if out["failure"] == 1:
        return None  # it says nothing here
    reached = _failure(p, q, Fraction(gamma_of(out)), Fraction(out["delta_hat"]))
    return reached, out.exact("failure")


def conditionals_of_close_joints_are_near(genome: Genome) -> Reached | None:
    """The sharp Corollary 4.2: statistical difference of conditionals, directly on joint laws."""
    found = _joint(genome)
    if found is None:
        return None
    (p, q), gamma = found, level_gene(genome[12])
    least = constants.semantic_tau(gamma)
    tau = least + (1 - least) * share_gene(genome[13])
    delta = delta_between(list(chain(*p)), list(chain(*q)), gamma)
    setting = Setting(records=1, tau=float(tau))
    out = conclude("ks-4.2", "approximate_dp", gamma, setting, delta=delta)
    if out["delta"] == 1:
        return None  # it says nothing here
    return _failure(p, q, Fraction(1), Fraction(out["tau"])), out.exact("delta")


def composition_in_coupled_worlds(genome: Genome) -> Reached | None:
    """Theorem 6: real and hybrid agree given f, hybrid and ideal given g."""
    found = laws(genome, 3, 4)
    if found is None:
        return None
    (real, hybrid, ideal), gamma_f, gamma_g = found, level_gene(genome[12]), level_gene(genome[13])
    # force the shared marginals: (F, G) real/hybrid share F, hybrid/ideal share Sim_G
    share = [hybrid[0] + hybrid[1], hybrid[2] + hybrid[3]]
    given_f = _conditional(real, (0, 1), (2, 3))
    column = [hybrid[0] + hybrid[2], hybrid[1] + hybrid[3]]
    given_g = _conditional(ideal, (0, 2), (1, 3))
    if given_f is None or given_g is None or 0 in share or 0 in column:
        return None
    real = [share[f] * given_f[f][g] for f in (0, 1) for g in (0, 1)]
    ideal = [column[g] * given_g[g][f] for f in (0, 1) for g in (0, 1)]
    hybrid_f = [[hybrid[2 * f + g] / share[f] for g in (0, 1)] for f in (0, 1)]
    hybrid_g = [[hybrid[2 * f + g] / column[g] for f in (0, 1)] for g in (0, 1)]
    delta_g = max(delta_between(given_f[f], hybrid_f[f], gamma_g) for f in (0, 1))
    delta_f = max(delta_between(hybrid_g[g], given_g[g], gamma_f) for g in (0, 1))
    allowed = constants.composed_delta(gamma_f, delta_f, gamma_g, delta_g)
    return delta_between(real, ideal, gamma_f * gamma_g), allowed


def _conditional(
    law: list[Fraction], first: tuple[int, int], second: tuple[int, int]
) -> list[list[Fraction]] | None:
    rows = []
    for places in (first, second):
        total = sum(law[place] for place in places)
        if not total:
            return None
        rows.append([law[place] / total for place in places])
    return rows


def mixing_in_a_failure(genome: Genome) -> Reached | None:
    """Claim 3.3(3) and (4): the joint hockey stick is the belief's average."""
    found = laws(genome, 6, 2)
    weights = laws(genome[12:15], 1, 3)
    if found is None or weights is None:
        return None
    belief, gamma, level = weights[0], level_gene(genome[15]), share_gene(genome[16])
    deltas = [delta_between(found[2 * x], found[2 * x + 1], gamma) for x in range(3)]
    failure = sum((b for b, d in zip(belief, deltas, strict=True) if d > level), Fraction(0))
    left = [belief[x] * m for x in range(3) for m in found[2 * x]]
    right = [belief[x] * m for x in range(3) for m in found[2 * x + 1]]
    forth = excess(list(zip(left, right, strict=True)), gamma)
    average = sum(
        belief[x] * excess(list(zip(found[2 * x], found[2 * x + 1], strict=True)), gamma)
        for x in range(3)
    )
    assert forth == average
    return delta_between(left, right, gamma), constants.mixture_bound(failure, level)


def _far_conditionals(level: int, share: int, part: Fraction) -> Genome:
    """Return joint laws whose conditionals differ by `part` of the slack, at the least cost.

    Given one output X has a value that Y lacks, given another Y one that X lacks; all else is as
    much smaller as the level allows, so that either excess is 1/100.
    """
    gamma, slack = level_gene(level), part * share_gene(share)
    one = Fraction(1, 100) / slack
    p = [one * slack, one * (1 - slack), Fraction(0), gamma * one * (1 - slack)]
    q = [Fraction(0), one * (1 - slack) / gamma, one * slack, one * (1 - slack)]
    left, right = whole([[*p, 1 - sum(p), Fraction(0)], [*q, 1 - sum(q), Fraction(0)]])
    return (*left, *right, level, share)


JUST_ABOVE_AND_BELOW = (1 + Fraction(1, 10**6), Fraction(19, 20))
FACTORS_OF_4 = ((4001, 1000, 95000, 1000, 4001, 95000, 2),)
ATTACKS = [
    Attack(("ks-3.3.1",), 7, pointwise_gives_indistinguishable, rows=2, row=3),
    Attack(
        ("ks-3.3.2",), 7, indistinguishable_gives_pointwise, rows=2, row=3, openings=FACTORS_OF_4
    ),
    Attack(
        ("ks-3.3.6",), 7, indistinguishable_gives_statistical_difference, rows=2, row=3, tight=True
    ),
    Attack(("tests", "tests-back"), 7, indistinguishable_bounds_every_test, rows=2, row=3),
    Attack(("pure-zero", "approximate-zero", "perfect"), 6, pure_is_the_case_delta_zero, zero=True),
    Attack(
        ("group",),
        13,
        a_group_costs_a_geometric_sum,
        rows=4,
        row=3,
        tight=True,
        openings=((8, 16, 0, 4, 20, 0, 2, 22, 0, 1, 23, 0, 2),),
    ),
    Attack(("add-remove",), 10, add_remove_gives_change_one, rows=3, row=3, tight=True),
    Attack(("v-case-1",), 12, statistical_difference_adds_up_over_records, rows=4, row=3),
    Attack(
        ("ks-4.1",),
        14,
        conditionals_of_close_joints_are_close,
        rows=2,
        row=6,
        openings=tuple(_far_conditionals(2, 3, part) for part in JUST_ABOVE_AND_BELOW),
    ),
    Attack(
        ("ks-4.2",),
        14,
        conditionals_of_close_joints_are_near,
        rows=2,
        row=6,
        openings=tuple(_far_conditionals(0, 3, part) for part in JUST_ABOVE_AND_BELOW),
    ),
    Attack(("theorem 6",), 14, composition_in_coupled_worlds, rows=3, row=4),
    Attack(("claim 3.3(3), (4)",), 17, mixing_in_a_failure),
]
