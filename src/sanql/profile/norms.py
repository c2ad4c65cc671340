"""The length to which units' rows may be scaled down so that hardly any are lost, by a profile.

A unit whose rows over groups have the length v is scaled down to C where v is more, and loses 1 - C/v of
them. So a profile tells which share of all rows is lost at any C, and the least C that loses no more than
a little has the least noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sanql.profile.histogram import SizeCounts, UnitSpread

Norm = Literal["l1", "l2"]

LOST_MOST = 0.05
"""The share of all rows that scaling may lose: half of what makes a number of little use."""


@dataclass(frozen=True)
class UnitLengths:
    """So many units whose rows have a length, and how many rows each of them has."""

    units: int
    length: float
    has: float


def lengths_of_rows(
    lengths: SizeCounts | None, rows: UnitSpread | None
) -> list[UnitLengths] | None:
    """Return the lengths of units' rows, by a count of units by length and one by rows.

    How many rows a unit of some length has is not known; all have as many for their length.
    """
    if lengths is None or rows is None:
        return None
    total = sum(units * size for units, size in _seen(rows))
    whole = sum(units * size for units, size in _seen(lengths))
    if not total or not whole:
        return None
    return [UnitLengths(units, size, size * total / whole) for units, size in _seen(lengths)]


def _seen(counted: SizeCounts) -> list[tuple[int, float]]:
    """Return how many units there are of which size, on average."""
    found = zip(counted.above_noise, counted.sizes, strict=True)
    return [(units, float(size)) for units, size in found if units]


def shortest_norm(lengths: Sequence[UnitLengths]) -> int:
    """Return the least whole length to which all units may be scaled down and lose no more than a little.

    >>> shortest_norm([UnitLengths(90, 10.0, 10.0), UnitLengths(10, 50.0, 10.0)])
    25
    """
    whole = sum(each.units * each.has for each in lengths)

    def lost(norm: int) -> float:
        return sum(
            each.units * each.has * max(0.0, 1 - norm / max(each.length, 1e-9)) for each in lengths
        )

    low, high = 1, max(1, math.ceil(max(each.length for each in lengths)))
    while low < high:
        middle = (low + high) // 2
        if lost(middle) <= LOST_MOST * whole:
            high = middle
        else:
            low = middle + 1
    return high
