"""Norms of a level that is measured for several questions: what is known suits each of them by itself.

The longest norms of all are taken, so that no question loses more rows than it would alone; what they
take away is said to be the most that any of the questions would have lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from sanql.measurements import OwnNorm, Taken, UnitNorms


def norms_together(each: Sequence[UnitNorms | None]) -> UnitNorms | None:
    """Return norms that suit all of several questions; None where one of them has none."""
    found = [norms for norms in each if norms is not None]
    return reduce(_both, found) if found and len(found) == len(each) else None


def _both(one: UnitNorms, other: UnitNorms) -> UnitNorms:
    if one == other:
        return one
    return replace(
        one,
        l1=max(one.l1, other.l1),
        l2_squared=_longer(one.l2_squared, other.l2_squared),
        own=_own(one.own, other.own),
        taken_l1=_most(one.taken_l1, other.taken_l1),
        taken_l2=None
        if one.taken_l2 is None or other.taken_l2 is None
        else _most(one.taken_l2, other.taken_l2),
        averages=norms_together([one.averages, other.averages]),
    )


def _own(some: tuple[OwnNorm, ...], others: tuple[OwnNorm, ...]) -> tuple[OwnNorm, ...]:
    made = {own.expression: own for own in some}
    for own in others:
        known = made.get(own.expression)
        made[own.expression] = own if known is None else _longer_own(known, own)
    return tuple(made.values())


def _longer_own(one: OwnNorm, other: OwnNorm) -> OwnNorm:
    return replace(
        one,
        l1=max(one.l1, other.l1),
        l2_squared=_longer(one.l2_squared, other.l2_squared),
        taken_l1=_most(one.taken_l1, other.taken_l1),
        taken_l2=_most(one.taken_l2, other.taken_l2),
    )


def _longer(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _most(one: Taken, other: Taken) -> Taken:
    return max(one[0], other[0]), max(one[1], other[1])
