"""Sums of positive parts in fractions: all that the verifier computes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

Law: TypeAlias = Mapping[str, Fraction]
NONE = Fraction(0)


def excess(p: Law, q: Law, gamma: Fraction) -> Fraction:
    """Return sum (p - gamma q)_+."""
    return sum((max(NONE, a - gamma * q.get(t, NONE)) for t, a in p.items()), NONE)


def both(p: Law, q: Law, gamma: Fraction) -> Fraction:
    """Return the larger excess of the two orders."""
    return max(excess(p, q, gamma), excess(q, p, gamma))


def exceeds_below(p: Law, q: Law, gamma: Fraction, delta: Fraction) -> bool:
    """Whether the excess of some order is above delta at every level below gamma.

    It is continuous and falls, so it must be above already, or equal and falling from the left.
    """
    for one, other in ((p, q), (q, p)):
        here = excess(one, other, gamma)
        falls = any(b > 0 and one.get(t, NONE) >= gamma * b for t, b in other.items())
        if here > delta or (here == delta and falls):
            return True
    return False


def never_within(p: Law, q: Law, delta: Fraction) -> bool:
    """Whether the excess is above delta at every level: too much mass where the other has none."""
    return any(
        sum((a for t, a in one.items() if not other.get(t, NONE)), NONE) > delta
        for one, other in ((p, q), (q, p))
    )


def distance(p: Law, q: Law) -> Fraction:
    """Return the total variation distance."""
    return excess(p, q, Fraction(1))
