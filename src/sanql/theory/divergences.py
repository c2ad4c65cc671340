"""Distances between two output distributions, exact.

Everything rests on one number, the hockey stick H_gamma(P||Q) = sup_S [P(S) - gamma Q(S)] = sum_t
(p(t) - gamma q(t))_+, the gain of the best test when a false accusation costs gamma. Two
distributions are (epsilon, delta)-indistinguishable iff it is at most delta at gamma = e^epsilon in
both orders (Kasiviswanathan-Smith Def. 3.1, coupled worlds Def. 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import (
    INFINITE,
    Extended,
    Real,
    as_fraction,
    as_gamma,
    as_positive,
    as_probability,
    log_nearest,
    quoted,
)

_ORDER_MAX = 10_000
_MOMENT_BITS = 200_000
_NEAR_ONE = 1e-290  # orders that near 1 differ from it in no digit
_POWER_MAX = 700.0  # beyond it e^x leaves the floats

MassPairs: TypeAlias = Sequence[tuple[Fraction, Fraction]]


def align(p: Distribution, q: Distribution) -> list[tuple[Fraction, Fraction]]:
    """Return the pairs (p(t), q(t)) over every outcome of either distribution."""
    if p.outcomes == q.outcomes:
        return list(zip(p.masses, q.masses, strict=True))
    outcomes = dict.fromkeys((*p.outcomes, *q.outcomes))
    return [(p[outcome], q[outcome]) for outcome in outcomes]


def statistical_difference(p: Distribution, q: Distribution) -> Fraction:
    """Return max_S |P(S) - Q(S)|, the total variation distance.

    >>> statistical_difference(Distribution.over(["3/4", "1/4"]), Distribution.over(["1/4", "3/4"]))
    Fraction(1, 2)
    """
    return excess(align(p, q), Fraction(1))


def hockey_stick_sup(p: Distribution, q: Distribution, gamma: Real) -> Fraction:
    """Return H_gamma(P||Q) = sup_S [P(S) - gamma Q(S)] for any gamma > 0."""
    return excess(align(p, q), as_positive(gamma, "gamma"))


def hockey_stick(p: Distribution, q: Distribution, gamma: Real) -> Fraction:
    """Return the divergence E_gamma = H_gamma - (1 - gamma)_+; it equals H_gamma from gamma = 1 on.

    Only this normalised form obeys E_gamma(P||Q) = gamma E_{1/gamma}(Q||P); the lecture note's sup
    form does not when gamma < 1.

    >>> p, q = Distribution.over(["3/4", "1/4"]), Distribution.over(["1/4", "3/4"])
    >>> hockey_stick(p, q, 2), hockey_stick(p, q, "1/2"), hockey_stick_sup(p, q, "1/2")
    (Fraction(1, 4), Fraction(1, 8), Fraction(5, 8))
    """
    exact = as_positive(gamma, "gamma")
    return excess(align(p, q), exact) - max(1 - exact, Fraction(0))


def indistinguishability_delta(p: Distribution, q: Distribution, gamma: Real) -> Fraction:
    """Return the least delta for which P, Q are (ln gamma, delta)-indistinguishable: both
    orders."""
    return two_sided_excess(align(p, q), as_gamma(gamma))


def are_indistinguishable(p: Distribution, q: Distribution, gamma: Real, delta: Real) -> bool:
    """Return whether P and Q are (ln gamma, delta)-indistinguishable."""
    return indistinguishability_delta(p, q, gamma) <= as_probability(delta, "delta")


def pointwise_delta(p: Distribution, q: Distribution, gamma: Real) -> Fraction:
    """Return the least delta for point-wise (ln gamma, delta)-indistinguishability.

    Bad = {t : p > gamma q or q > gamma p}; the answer is max(P(Bad), Q(Bad))
    (Kasiviswanathan-Smith Def. 3.2).
    """
    exact = as_gamma(gamma)
    bad = [(a, b) for a, b in align(p, q) if a > exact * b or b > exact * a]
    return max(sum((a for a, _ in bad), Fraction(0)), sum((b for _, b in bad), Fraction(0)))


def max_divergence_gamma(p: Distribution, q: Distribution) -> Extended:
    """Return exp D_inf(P||Q) = max_t p(t)/q(t); over sets it is the same as over points.

    >>> max_divergence_gamma(Distribution.over([0, 1]), Distribution.over(["1/2", "1/2"]))
    Fraction(2, 1)
    """
    return largest_ratio(align(p, q))


def kl_divergence(p: Distribution, q: Distribution) -> float:
    """Return sum_t p ln(p/q), infinite when Q misses an outcome of P."""
    if any(a > 0 and b == 0 for a, b in align(p, q)):
        return INFINITE
    terms = (float(a) * log_nearest(a / b) for a, b in align(p, q) if a > 0)
    return max(0.0, math.fsum(terms))


def renyi_moment(p: Distribution, q: Distribution, order: int) -> Extended:
    """Return sum_t p^a q^(1-a), exact for an integer order a >= 2."""
    if isinstance(order, bool) or not isinstance(order, int) or not 2 <= order <= _ORDER_MAX:
        raise TheoryError(
            "renyi_order",
            f"the order is {quoted(order)}, the exact moment needs an integer from 2 to "
            f"{_ORDER_MAX}",
            "give such an order; use renyi_divergence for fractions, max_divergence_gamma above",
        )
    pairs = align(p, q)
    digits = max(mass.denominator.bit_length() for pair in pairs for mass in pair)
    if order * digits > _MOMENT_BITS:
        raise TheoryError(
            "renyi_order",
            f"the exact moment of order {order} of these masses has millions of digits",
            "use renyi_divergence, which is a float",
        )
    total = Fraction(0)
    for a, b in pairs:
        if a > 0 and b == 0:
            return INFINITE
        if a > 0:
            total += a**order / b ** (order - 1)
    return total


def renyi_divergence(p: Distribution, q: Distribution, order: Real) -> float:
    """Return D_a(P||Q) = ln(sum p^a q^(1-a)) / (a - 1) for any order a > 1.

    The sum is 1 + sum p ((p/q)^(a-1) - 1), which loses no digits near order 1; where a term leaves
    the floats, the largest is split off.
    """
    exact = as_fraction(order, "order")
    if not 1 < exact <= _ORDER_MAX:
        raise TheoryError(
            "renyi_order",
            f"the order is {quoted(order)}, it must be above 1 and at most {_ORDER_MAX}",
            "use kl_divergence at order 1, max_divergence_gamma for very large orders",
        )
    pairs = [(a, b) for a, b in align(p, q) if a > 0]
    if any(b == 0 for _, b in pairs):
        return INFINITE
    above = float(exact - 1)
    if above < _NEAR_ONE:
        return kl_divergence(p, q)
    powers = [above * log_nearest(a / b) for a, b in pairs]
    if max(powers) <= _POWER_MAX:
        gain = math.fsum(
            float(a) * math.expm1(power) for (a, _), power in zip(pairs, powers, strict=True)
        )
        return max(0.0, math.log1p(gain) / above)
    logs = [log_nearest(a) + power for (a, _), power in zip(pairs, powers, strict=True)]
    largest = max(logs)
    rest = math.fsum(math.exp(value - largest) for value in logs)
    return max(0.0, (largest + math.log(rest)) / above)


def tight_gamma(p: Distribution, q: Distribution, delta: Real = 0) -> Extended:
    """Return the least gamma >= 1 with H_gamma(P||Q) <= delta, one order only; O(m log m).

    Sort the outcomes by p/q; the best test at every gamma is a prefix, so with prefix sums A, B the
    answer is the largest (A - delta)/B, infinite when P puts more than delta outside the support of
    Q.

    >>> tight_gamma(Distribution.over(["3/4", "1/4"]), Distribution.over(["1/4", "3/4"]), "1/10")
    Fraction(13, 5)
    """
    return gamma_at(align(p, q), as_probability(delta, "delta"))


def tight_gamma_two_sided(p: Distribution, q: Distribution, delta: Real = 0) -> Extended:
    """Return the least gamma for which P, Q are (ln gamma, delta)-indistinguishable."""
    return max(tight_gamma(p, q, delta), tight_gamma(q, p, delta))


def privacy_profile(p: Distribution, q: Distribution) -> list[tuple[Fraction, Fraction]]:
    """Return the breakpoints (gamma, two-sided delta) of the profile, from gamma = 1 on.

    Between breakpoints each order's profile is linear in gamma; after the last one it is constant.

    >>> privacy_profile(Distribution.over(["3/4", "1/4"]), Distribution.over(["1/4", "3/4"]))
    [(Fraction(1, 1), Fraction(1, 2)), (Fraction(3, 1), Fraction(0, 1))]
    """
    pairs = align(p, q)
    ratios = {Fraction(1)}
    for a, b in pairs:
        if a > 0 and b > 0:
            ratios.add(max(a / b, b / a))
    return [(gamma, two_sided_excess(pairs, gamma)) for gamma in sorted(ratios)]


def best_event(p: Distribution, q: Distribution, gamma: Extended) -> tuple[Outcome, ...]:
    """Return the event that attains H_gamma(P||Q): the outcomes with p > gamma q."""
    outcomes = p.outcomes if p.outcomes == q.outcomes else dict.fromkeys((*p.outcomes, *q.outcomes))
    if gamma == INFINITE:
        return tuple(t for t in outcomes if p[t] > 0 and q[t] == 0)
    exact = as_positive(gamma, "gamma")
    return tuple(t for t in outcomes if p[t] > exact * q[t])


def excess(pairs: MassPairs, gamma: Fraction) -> Fraction:
    """Return sum (p - gamma q)_+ over pairs of masses, which need not sum to 1."""
    top, bottom = gamma.numerator, gamma.denominator
    total = Fraction(0)
    for a, b in pairs:
        gain = bottom * a - top * b
        if gain > 0:
            total += gain
    return total / bottom


def two_sided_excess(pairs: MassPairs, gamma: Fraction) -> Fraction:
    """Return the larger of the two orders' excess."""
    return max(excess(pairs, gamma), excess([(b, a) for a, b in pairs], gamma))


def largest_ratio(pairs: MassPairs) -> Extended:
    """Return max p/q over pairs with p > 0, infinite when some q is 0."""
    best = Fraction(0)
    for a, b in pairs:
        if a > 0 and b == 0:
            return INFINITE
        if b > 0 and a > best * b:
            best = a / b
    return best


def gamma_at(pairs: MassPairs, delta: Fraction) -> Extended:
    """Return the least gamma >= 1 whose one-sided excess is at most delta."""
    outside = sum((a for a, b in pairs if b == 0), Fraction(0))
    if outside > delta:
        return INFINITE
    rows = sorted(((a / b, a, b) for a, b in pairs if b > 0), reverse=True)
    best, above, below = Fraction(1), outside, Fraction(0)
    for _, a, b in rows:
        above, below = above + a, below + b
        best = max(best, (above - delta) / below)
    return best
