"""The length to which a unit's contributions are best scaled down, estimated from a profile.

A unit whose contributions over groups have the length v is scaled down to C where v is more, and loses
1 - C/v of what it has. The noise of each group is in proportion to C. So a good C has the least of

    noise per length · C  +  what all units lose / number of groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sanql.profile.histogram import SizeCounts, UnitSpread

Norm = Literal["l1", "l2"]


@dataclass(frozen=True)
class UnitLengths:
    """So many units whose contributions have a length, up to `most`, and what each of them has in all."""

    units: int
    length: float
    most: float
    has: float


def norms_of_rows(lengths: SizeCounts | None, rows: UnitSpread | None) -> list[UnitLengths] | None:
    """Return the lengths of units' rows, by a count of units by length and one by rows.

    How many rows a unit of some length has is not known; all have as many for their length.
    """
    if lengths is None or rows is None:
        return None
    total = sum(units * size for units, size, _ in _seen(rows))
    whole = sum(units * size for units, size, _ in _seen(lengths))
    if not total or not whole:
        return None
    return [
        UnitLengths(units, size, most, size * total / whole) for units, size, most in _seen(lengths)
    ]


def norms_of_groups(groups: UnitSpread | None, norm: Norm) -> list[UnitLengths] | None:
    """Return the lengths of units that count once in each of their groups: g in L1, √g in L2."""
    if groups is None or groups.last is None:
        return None
    power = 1 if norm == "l1" else 0.5
    return [
        UnitLengths(units, size**power, most**power, size) for units, size, most in _seen(groups)
    ]


def _seen(counted: SizeCounts) -> list[tuple[int, float, int]]:
    """Return how many units there are of which size, on average and at most."""
    found = zip(counted.above_noise, counted.sizes, counted.edges, strict=True)
    return [(units, float(size), most) for units, size, most in found if units]


def best_norm(lengths: Sequence[UnitLengths], noise_per_norm: float, groups: int) -> int:
    """Return the length, one of those that units have, with the least noise and loss together."""

    def cost(norm: int) -> float:
        lost = sum(
            each.units * each.has * max(0.0, 1 - norm / max(each.length, 1e-9)) for each in lengths
        )
        return noise_per_norm * norm + lost / max(1, groups)

    return min(sorted({max(1, math.ceil(each.most)) for each in lengths}), key=cost)
