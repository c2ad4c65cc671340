"""The attacker as a statistician: tests of "the database is D" against "it is D'".

A test accepts H0: P on a set A. FP = P(not A) and FN = Q(A). The identity behind everything is
inf_A FP + gamma FN = 1 - H_gamma(P||Q), so (epsilon, delta)-indistinguishability is exactly the two
inequalities FP + e^eps FN >= 1 - delta and FN + e^eps FP >= 1 - delta (hockey-stick note, theorem).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import align, excess, statistical_difference
from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE, Extended, Real, as_gamma, as_positive, as_probability

Vertex: TypeAlias = tuple[Fraction, Fraction]


def errors(p: Distribution, q: Distribution, accept: Iterable[Outcome]) -> Vertex:
    """Return (FP, FN) of the test that accepts P exactly on the given outcomes."""
    accepted = frozenset(accept)
    return 1 - p.probability(accepted), q.probability(accepted)


def least_weighted_error(p: Distribution, q: Distribution, gamma: Real) -> Fraction:
    """Return inf over tests of FP + gamma FN = 1 - H_gamma(P||Q), for any gamma > 0.

    >>> p, q = Distribution.over(["3/4", "1/4"]), Distribution.over(["1/4", "3/4"])
    >>> least_weighted_error(p, q, 2)
    Fraction(3, 4)
    """
    return 1 - excess(align(p, q), as_positive(gamma, "gamma"))


def tradeoff_vertices(p: Distribution, q: Distribution) -> list[Vertex]:
    """Return the corners (FP, FN) of the trade-off curve, from the left.

    Reject H0 on outcomes in decreasing order of q/p (Neyman-Pearson): each step adds p to FP and
    takes q from FN.

    >>> tradeoff_vertices(Distribution.over([0, "1/2", "1/2"]),
    ...                   Distribution.over(["1/4", "1/2", "1/4"]))[0]
    (Fraction(0, 1), Fraction(3, 4))
    """
    groups: dict[Extended, Vertex] = {}
    for a, b in align(p, q):
        if a or b:
            ratio = b / a if a else INFINITE
            reached = groups.get(ratio, (Fraction(0), Fraction(0)))
            groups[ratio] = (reached[0] + a, reached[1] + b)
    false_positive, false_negative = (
        Fraction(0),
        Fraction(1) - groups.pop(INFINITE, (0, Fraction(0)))[1],
    )
    vertices = [(false_positive, false_negative)]
    for ratio in sorted(groups, reverse=True):
        a, b = groups[ratio]
        false_positive, false_negative = false_positive + a, false_negative - b
        vertices.append((false_positive, false_negative))
    return vertices


def tradeoff(p: Distribution, q: Distribution, false_positive: Real) -> Fraction:
    """Return f(alpha): the least FN of any (randomised) test with FP <= alpha."""
    alpha = as_probability(false_positive, "false_positive")
    return _interpolate(tradeoff_vertices(p, q), alpha)


def tradeoff_bound(gamma: Real, delta: Real, false_positive: Real) -> Fraction:
    """Return f_{eps,delta}(alpha) = max(0, 1 - delta - gamma alpha, (1 - delta - alpha)/gamma).

    >>> tradeoff_bound(2, "1/10", "3/10")
    Fraction(3, 10)
    """
    g, d = as_gamma(gamma), as_probability(delta, "delta")
    alpha = as_probability(false_positive, "false_positive")
    return max(Fraction(0), 1 - d - g * alpha, (1 - d - alpha) / g)


def advantage(p: Distribution, q: Distribution) -> Fraction:
    """Return the largest true-positive minus false-positive rate, which is TV(P, Q)."""
    return statistical_difference(p, q)


def posterior_odds(p: Distribution, q: Distribution, output: Outcome, prior: Real) -> Extended:
    """Return the odds of H0 against H1 after seeing one output, for a prior probability of H0.

    >>> p, q = Distribution.over(["3/4", "1/4"]), Distribution.over(["1/4", "3/4"])
    >>> posterior_odds(p, q, 0, "1/2")
    Fraction(3, 1)
    """
    belief = as_probability(prior, "prior")
    for_h0, for_h1 = belief * p[output], (1 - belief) * q[output]
    if for_h0 == for_h1 == 0:
        raise TheoryError(
            "impossible_output",
            f"the output {output!r} has probability 0 under this prior",
            "condition on an output that can happen",
        )
    return INFINITE if for_h1 == 0 else for_h0 / for_h1


def hockey_stick_from_tradeoff(vertices: Sequence[Vertex], gamma: Real) -> Fraction:
    """Return H_gamma(P||Q) = 1 - min (FP + gamma FN) over the corners of the trade-off curve."""
    g = as_positive(gamma, "gamma")
    _some(vertices, "corners of a trade-off curve")
    return 1 - min(a + g * b for a, b in vertices)


def tradeoff_from_profile(profile: Sequence[Vertex], false_positive: Real) -> Fraction:
    """Return f(alpha) = sup_gamma (1 - H_gamma(P||Q) - alpha)/gamma over (gamma, H_gamma) pairs.

    It is the trade-off curve when the pairs hold every likelihood ratio p/q, and a lower bound
    otherwise.
    """
    alpha = as_probability(false_positive, "false_positive")
    _some(profile, "points of a profile")
    return max(Fraction(0), *((1 - height - alpha) / gamma for gamma, height in profile))


def _some(points: Sequence[Vertex], what: str) -> None:
    if not points:
        raise TheoryError("empty", f"there are no {what}", "give at least one")


def _interpolate(vertices: Sequence[Vertex], alpha: Fraction) -> Fraction:
    for (left, high), (right, low) in pairwise(vertices):
        if left <= alpha <= right:
            return high + (low - high) * (alpha - left) / (right - left)
    return vertices[-1][1]
