"""Units counted, with noise, by their size, and the share of all rows or groups that a limit keeps.

A limit L keeps min(s, L) of the s rows of a unit. The share p that it keeps of all rows is where the
sum over units of min(s, L) - p·s is zero. That is straight in s within a bin, unless L lies inside it,
so the sum is known from counts of units and sums of their places in bins (plan/unit_spread.py). Inside
L's bin the term lies between the straight line through the ends and one parallel to it through L; a
place is known to a step. So with the true counts and places

    Σ units least(min(s, L) - p·s)  ≤  0  ≤  Σ units most(min(s, L) - p·s)

and with noisy ones either side is off by a weighted sum of noise, whose reach is bounded
(mechanisms/deviations.py). A share that would put one of them further off is ruled out; what is left is
the interval (Fieller's method). It is looked for in cells of a tenth of a percent: terms fall as p
rises, so that the least is taken at the upper end of a cell and the most at its lower one, whatever p
is within it.

No private count can rule out one unit with any number of rows. So a share is of the rows of units with
at most so many as were seen, and it is said how many units may have more. Where "seen" ends hangs on
the noise, and the chance of being wrong is divided by the number of places where it could have ended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sanql.computed_once import computed_once
from sanql.mechanisms import DiscreteLaplace, deviations_upper
from sanql.plan import FALSE_ALARM, PLACES, base_and_width

MISSED = Fraction(1, 20)
"""The chance, at most, that what is said of one limit is wrong: intervals are of 95 %."""
CELLS = 1000

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class KeptShare:
    """Between which shares, in thousandths, a limit keeps; of units with at most `up_to`.

    At most `units_above` units, of about `units`, have more: nothing is known of theirs.
    """

    low: int
    high: int
    up_to: int
    units_above: int
    units: int = 0

    @property
    def beyond_in_words(self) -> str:
        """How many units have more than those that the share is of.

        >>> KeptShare(921, 944, 64, 12, 1000).beyond_in_words
        'up to 12 of about 1,000 units have more'
        """
        return f"up to {self.units_above:,} of about {self.units:,} units have more"

    def in_words(self) -> str:
        """Return the share as it is said, with an interval that holds both ends.

        >>> KeptShare(921, 944, 64, 0).in_words(), KeptShare(1000, 1000, 64, 0).in_words()
        ('about 93.2 % ± 1.2 %', 'all')
        """
        if self.low == CELLS:
            return "all"
        middle = (self.low + self.high) // 2
        width = max(middle - self.low, self.high - middle)
        return f"about {middle / 10:g} % ± {width / 10:g} %"


@dataclass(frozen=True)
class SizeCounts:
    """Noisy counts of units by size; a bin ends with `edges[i]`, and begins above the one before."""

    edges: tuple[int, ...]
    counts: tuple[int, ...]
    noise: DiscreteLaplace

    @computed_once
    def least(self) -> int:
        """The least noisy count that an empty bin is unlikely to reach."""
        return self.noise.least_reaching(FALSE_ALARM / len(self.counts))

    @computed_once
    def above_noise(self) -> tuple[int, ...]:
        """The counts, with 0 for those that noise alone could explain."""
        return tuple(count if count >= self.least else 0 for count in self.counts)

    @computed_once
    def last(self) -> int | None:
        """The last bin that has units, as far as can be told; None where none has."""
        return max((index for index, count in enumerate(self.above_noise) if count), default=None)

    @property
    def middles(self) -> tuple[Fraction, ...]:
        """The middle of each bin."""
        before = (0, *self.edges)
        return tuple(
            Fraction(low + 1 + high, 2) for low, high in zip(before, self.edges, strict=False)
        )

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """The size of an average unit in each bin, as far as is known: the middle of the bin."""
        return self.middles

    @property
    def spread(self) -> tuple[Fraction, ...]:
        """How far units of each bin may be from its average on either side, and stay in the bin."""
        return tuple(
            max(Fraction(0), min(size - low - 1, high - size))
            for size, low, high in zip(self.sizes, (0, *self.edges), self.edges, strict=False)
        )

    def units_above(self, index: int, missed: Fraction) -> int:
        """Return a number that bins after one have no more units than, but with this probability."""
        counts = self.counts[index + 1 :]
        if not counts:
            return 0
        ones = np.ones((1, len(counts)))
        (reach,) = deviations_upper([self.noise] * len(counts), ones, float(missed))
        return max(0, math.floor(sum(counts) + float(reach)))

    def weights_upper(self, most: int, missed: Fraction) -> int:
        """Return a number that the units' 1/√size add up to no more than, but with this probability.

        A size beyond `most` is taken for that many, and a unit for the smallest of its bin.
        """
        after = (-1, *self.edges)
        sizes = [min(most, low + 1) for low, _ in zip(after, self.counts, strict=False)]
        weights = np.array([1 / math.sqrt(size) if size else 0.0 for size in sizes])
        (reach,) = deviations_upper([self.noise] * len(sizes), weights[None, :], float(missed))
        return max(0, math.ceil(float(weights @ np.array(self.counts)) + float(reach)))


@dataclass(frozen=True)
class UnitSpread(SizeCounts):
    """Noisy counts of units by size in octaves, and noisy sums of their places in them."""

    places: tuple[int, ...]
    place_noise: DiscreteLaplace

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """The size of an average unit in each bin, by the places of its units."""
        means = []
        for index, (count, place) in enumerate(zip(self.counts, self.places, strict=True)):
            base, width = base_and_width(index)
            where = Fraction(place, PLACES * count) if count > 0 else Fraction(1, 2)
            means.append(base + width * min(Fraction(1), max(Fraction(0), where)))
        return tuple(means)

    @computed_once
    def units(self) -> int:
        """How many units there are, as far as noisy counts tell."""
        return max(0, sum(self.counts))

    def units_upper(self, missed: Fraction = MISSED) -> int:
        """Return a number that there are no more units than, but with probability `missed`."""
        return self.units_above(-1, missed)

    @property
    def chance(self) -> Fraction:
        """The chance, at most, that one of three things said of a limit is wrong, wherever bins end."""
        return MISSED / 3 / len(self.counts)

    def beyond(self, index: int) -> KeptShare:
        """Return how many units have more than those up to a bin, where all of these is kept."""
        above = self.units_above(index, self.chance)
        return KeptShare(CELLS, CELLS, self.edges[index], above, self.units)

    def kept(self, limit: int) -> KeptShare | None:
        """Return what share of all rows (or groups) a limit on those of each unit keeps."""
        return _kept(self, limit)

    def within(self, limit: int) -> KeptShare | None:
        """Return what share of the units has no more than the limit, and loses nothing by it."""
        return _within(self, limit)


@lru_cache(maxsize=1024)
def _kept(spread: UnitSpread, limit: int) -> KeptShare | None:
    last = _seen(spread, limit)
    if last is None:
        return None
    above = spread.beyond(last)
    if above.up_to <= limit:
        return above
    bins = [base_and_width(index) for index in range(last + 1)]
    base, width = np.array(bins, float).T
    ends = np.arange(CELLS + 1)[:, None] / CELLS
    kept = np.minimum(base, limit), np.minimum(base + width, limit)
    # inside its own bin a limit keeps more than the straight line says, at most by this much
    inside = (base < limit) & (limit < base + width)
    slope = np.divide(limit - base, width, out=np.zeros_like(base), where=inside)
    bulge = np.where(inside, (limit - base) * (1 - slope), 0.0)
    least = _terms(kept[0] - ends[1:] * base, kept[1] - kept[0] - ends[1:] * width, np.minimum)
    most = _terms(
        kept[0] + bulge - ends[:-1] * base, kept[1] - kept[0] - ends[:-1] * width, np.maximum
    )
    values = np.array([*spread.counts[: last + 1], *spread.places[: last + 1]], float)
    noises = [spread.noise] * (last + 1) + [spread.place_noise] * (last + 1)
    shares = _not_ruled_out(values, noises, least, most, float(spread.chance))
    return None if shares is None else replace(above, low=shares[0], high=shares[1])


def _terms(fixed: Reals, sloped: Reals, worst: np.ufunc) -> Reals:
    """Return the weights of counts and places: a unit may be up to a step further than its place says."""
    return np.hstack([fixed + worst(sloped, 0.0) / PLACES, sloped / PLACES])


@lru_cache(maxsize=1024)
def _within(spread: UnitSpread, limit: int) -> KeptShare | None:
    last = _seen(spread, limit)
    if last is None:
        return None
    above = spread.beyond(last)
    if above.up_to <= limit:
        return above
    edges = np.array(spread.edges[: last + 1])
    first = np.array([0, *(edges[:-1] + 1)])
    ends = np.arange(CELLS + 1)[:, None] / CELLS
    least, most = (edges <= limit) - ends[1:], (first <= limit) - ends[:-1]
    values, noises = np.array(spread.counts[: last + 1], float), [spread.noise] * (last + 1)
    shares = _not_ruled_out(values, noises, least, most, float(spread.chance))
    return None if shares is None else replace(above, low=shares[0], high=shares[1])


def _seen(spread: UnitSpread, limit: int) -> int | None:
    """Return the last bin to look at: that of the largest unit seen, or of a limit that is larger."""
    if spread.last is None:
        return None
    limited = [index for index, edge in enumerate(spread.edges) if edge <= limit]
    return max([spread.last, *limited])


def _not_ruled_out(
    values: Reals, noises: list[DiscreteLaplace], least: Reals, most: Reals, chance: float
) -> tuple[int, int] | None:
    """Return the first and the last share, in thousandths, that noise does not rule out.

    Rows of `least` and `most` are cells of shares, columns go with noisy values.
    """
    slack = 1e-9 * np.sum(np.abs(values) * np.maximum(np.abs(least), np.abs(most)), axis=1)
    not_higher = least @ values <= deviations_upper(noises, least, chance) + slack
    not_lower = most @ values >= -deviations_upper(noises, most, chance) - slack
    (cells,) = np.nonzero(not_higher & not_lower)
    return (int(cells[0]), int(cells[-1]) + 1) if len(cells) else None
