"""The norm with the least error, by how long what units add is known to be.

A unit whose rows have the length v is scaled down to C where v is more, and loses 1 - C/v of them. Noise
is in proportion to C. With `deviation` that of a norm of one row, N rows in G groups, and the share p of
them lost, the squared error of an average group is about

    counts:  (deviation · C)²  +  (p N / G)²
    means:   (deviation · C / (1 - p))²  +  (d p N / G)².

Rows and values of a unit are scaled together, so that a mean is one of the same rows with other weights.
What is lost moves it only as far as rows of large units differ from others: by d, which is taken to be a
tenth of an average value, or where that is not known a 128th of the largest. Both lose no more than a
share that a reader would mind, however large the noise is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

LOST_OF_COUNTS = 0.1
"""The share of all rows that scaling may lose of a count: what makes a number of little use."""
NOISE_OF_NO_USE = 0.3
"""Where noise is more than that of an average group, so that it is of no use, more may be lost."""
LOST_OF_MEANS = 0.5
DIFFERENCE = 1 / 128
"""How far means of rows that are lost and kept are apart, in parts of the largest value."""
DIFFERENCE_OF_AVERAGE = 1 / 10
"""The same in parts of an average value, where one is known."""
DIFFERENCE_OF_RANKS = 1 / 10
"""The same of the place of a value among all rows: which share of lost and of kept ones is below it."""
DIFFERENCE_OF_OWN = 1 / 4
"""The same where noise is in proportion to an average value too, so that doubt costs little."""
_STEPS = 8  # norms that are tried between one and its double


@dataclass(frozen=True)
class UnitLengths:
    """So many units whose rows have a length, and how many rows each of them has."""

    units: float
    length: float
    rows: float

    def times(self, factor: float) -> UnitLengths:
        """Return as many units that are longer by a factor."""
        return replace(self, length=self.length * factor, rows=self.rows * factor)


Lengths = tuple[UnitLengths, ...]
ValueSpread = tuple[tuple[float, float], ...]
"""How many times as large as the average a value is, and which share of units has one so large."""


@dataclass(frozen=True)
class NormCost:
    """What norms cost: the noise of one that is a row long, in so many groups, of counts or means."""

    deviation: float
    groups: float
    means: bool = False
    difference: float = DIFFERENCE

    def taken(self, lengths: Sequence[UnitLengths], norm: float) -> tuple[float, float]:
        """Return by what a variance counts more, and the square of what is missed, in rows of a group."""
        whole = sum(each.units * each.rows for each in lengths)
        lost = sum(
            each.units * each.rows * (1 - norm / each.length)
            for each in lengths
            if each.length > norm
        )
        if not self.means:
            return 1.0, (lost / self.groups) ** 2
        kept = max(1e-9, 1 - lost / whole) if whole else 1.0
        return kept**-2, (self.difference * lost / self.groups) ** 2

    def error(self, lengths: Sequence[UnitLengths], norm: float) -> float:
        """Return the squared error of an average group."""
        factor, missed = self.taken(lengths, norm)
        return factor * (self.deviation * norm) ** 2 + missed


@lru_cache(maxsize=4096)
def best_norm(lengths: Lengths, cost: NormCost, most: int | None = None) -> int:
    """Return the whole norm with the least error, no more than `most`.

    >>> spread = (UnitLengths(900, 10.0, 10.0), UnitLengths(100, 50.0, 50.0))
    >>> [best_norm(spread, NormCost(deviation, 1.0)) for deviation in (1.0, 100.0)]
    [50, 38]
    """
    longest = max((math.ceil(each.length) for each in lengths), default=1)
    tried = [norm for norm in _whole_norms(max(1, longest)) if most is None or norm <= most]
    if most is not None and most < longest:
        tried.append(most)
    allowed = LOST_OF_MEANS if cost.means else LOST_OF_COUNTS
    whole = sum(each.units * each.rows for each in lengths)
    bearable = [norm for norm in tried if _lost(lengths, norm) <= allowed * whole]
    found = min(bearable or [max(tried)], key=lambda norm: cost.error(lengths, norm))
    if cost.means or cost.deviation * found <= NOISE_OF_NO_USE * whole / cost.groups:
        return found
    return min(tried, key=lambda norm: cost.error(lengths, norm))


def _lost(lengths: Sequence[UnitLengths], norm: float) -> float:
    _, missed = NormCost(0.0, 1.0).taken(lengths, norm)
    return math.sqrt(missed)


def _whole_norms(longest: int) -> Iterator[int]:
    """Yield whole numbers up to one, each not much more than the one before."""
    norm = 1
    while norm < longest:
        yield norm
        norm = max(norm + 1, round(norm * 2 ** (1 / _STEPS)))
    yield longest
