"""Private quantiles: the bins they are picked from, in which order, and the sensitivity of the scores.

The value's bounds are cut into equal *bins*, each bin into *places*; the rows of a bin are spread
over its places in a fixed order, so that one row more is one row more in one place. A place p scores
min(a·n - below(p), upto(p) - a·n), where `below` and `upto` count the rows before it and up to it: below
zero, how many rows it is away from holding the a-quantile of n rows; above zero, how many it could do
without and still hold it. So of values with many rows each, the right one is as far ahead of the next as
they are apart from middle to middle. A place is picked by permute and flip (mechanisms/choice.py).

Several quantiles are picked from the middle outward (Kaplan, Schnapp & Stemmer, ICML 2022): the first
pick splits the rows in two, and each side goes on with its own quantiles. A row is on one side only, so
a level of m picks moves no more than one pick does, and 2^k - 1 quantiles cost k levels.

One row adds 1 - a or -a to below(p) - a·n, for its own side only, so what a unit moves in one level,
over all groups and sides, is what it moves in a *sum* of values between -max a and max (1 - a)
(sensitivity.py); so does upto(p). A minimum of functions that move by at most d moves by at most d.

Minimum and maximum aim a few rows inward: below the smallest value all places are equally good, and
noise would choose among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from sanql.measurements.sensitivity import (
    Sensitivity,
    SensitivitySetting,
    sensitivity_of_counts,
    sensitivity_of_sums,
)

ROW = 2**20  # scores are counted in so many parts of a row
BINS_MAX = 2**16  # in one group
BINS_IN_ALL = 2**20
BINS_MIN = 2**8
SPLITS = 2**10  # so finely are the rows of one value shared out to both sides of a pick
UNKNOWN_GROUPS = 2**8


@dataclass(frozen=True)
class QuantileBins:
    """Equal parts of a value's bounds: bin i holds grid steps from bottom + i·width on."""

    grid: Fraction
    bottom: int
    top: int
    width: int
    splits: int

    @property
    def count(self) -> int:
        """How many bins there are."""
        return (self.top - self.bottom) // self.width + 1

    @property
    def places(self) -> int:
        """How many places there are."""
        return self.count * self.splits


@dataclass(frozen=True)
class Turn:
    """One quantile to pick: which one, and as what share of the rows between two earlier picks.

    The quantile is the one at `index`, the `share` is in parts of ROW; None stands for an end.
    """

    index: int
    share: int
    after: int | None
    before: int | None


def make_quantile_bins(
    grid: Fraction, bottom: int, top: int, several: bool, groups: int | None
) -> QuantileBins:
    """Return bins as fine as the number of groups allows."""
    known = UNKNOWN_GROUPS if groups is None else groups
    most = min(BINS_MAX, max(BINS_MIN, BINS_IN_ALL // max(1, known)))
    width = -(-(top - bottom + 1) // most)
    # where a bin is one value, and nothing goes on from within it, it is one place
    return QuantileBins(grid, bottom, top, width, SPLITS if several or width > 1 else 1)


@lru_cache(maxsize=64)
def pick_levels(fractions: tuple[Fraction, ...]) -> tuple[tuple[Turn, ...], ...]:
    """Return the picks of each level, for quantiles in ascending order.

    >>> quartiles = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    >>> [[turn.index for turn in level] for level in pick_levels(quartiles)]
    [[1], [0, 2]]
    """
    levels: list[list[Turn]] = []
    for depth, turn in _turns(fractions, 0, len(fractions), 0):
        while len(levels) <= depth:
            levels.append([])
        levels[depth].append(turn)
    return tuple(map(tuple, levels))


def _turns(
    fractions: tuple[Fraction, ...], start: int, stop: int, depth: int
) -> Iterator[tuple[int, Turn]]:
    if start >= stop:
        return
    middle = (start + stop) // 2
    after, before = (start - 1 if start > 0 else None), (stop if stop < len(fractions) else None)
    low = fractions[after] if after is not None else Fraction(0)
    high = fractions[before] if before is not None else Fraction(1)
    share = (fractions[middle] - low) / (high - low) if high > low else Fraction(1, 2)
    yield depth, Turn(middle, math.floor(share * ROW), after, before)
    yield from _turns(fractions, start, middle, depth + 1)
    yield from _turns(fractions, middle + 1, stop, depth + 1)


def sensitivity_of_picks(
    setting: SensitivitySetting, fractions: tuple[Fraction, ...]
) -> Sensitivity:
    """Return how far one unit moves the scores of all levels together, in parts of ROW.

    Each level adds its own; beyond the first, a row may also move from one side to another, as it may
    from one group to another.
    """
    total = 0
    for number, level in enumerate(pick_levels(fractions)):
        here = setting if number == 0 else replace(setting, one_group=False)
        low = -max(turn.share for turn in level)
        high = max(ROW - turn.share for turn in level)
        total += sensitivity_of_sums(here, low, high, None).l1
    return Sensitivity(total, total, total**2)


def sensitivity_of_ladder(setting: SensitivitySetting) -> Sensitivity:
    """Return how far one unit moves counts of rows between fixed values: those of more groups."""
    return sensitivity_of_counts(replace(setting, one_group=False))


def rows_inward(bins: QuantileBins, scale: Fraction) -> int:
    """Return how many rows inside the true extreme MIN and MAX aim, at least one.

    At that distance noise of this scale seldom prefers any of the bins outside.
    """
    return max(1, math.ceil(math.log(bins.count) * float(scale) / ROW))


def rank_error_upper(bins: QuantileBins, scale: Fraction, confidence: Fraction) -> Fraction:
    """Return how many rows a single pick is off at most, at a confidence.

    Some place scores zero or more, and one that is d behind the best is picked with probability at most
    exp(-d/scale): it must have heads.
    """
    chances = math.log(bins.places) - math.log1p(-float(confidence))
    return Fraction(math.ceil(chances * float(scale)), ROW)


def ladder(bins: QuantileBins, picked: list[int]) -> list[int]:
    """Return the bins at which rows are counted around picked bins: ever further apart.

    The counts are of the bins before the first, between each two, and from the last on.
    """
    bounds = set()
    for number in picked:
        step = 1
        while step <= bins.count:
            bounds |= {number + step, number + 1 - step}
            step *= 2
    return sorted(bound for bound in bounds if 0 < bound < bins.count)
