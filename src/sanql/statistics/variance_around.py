"""A variance from squares around a noisy mean (measurements/squares.py), where rows are public.

With n rows whose mean is m, the noisy mean a is off by no more than e = Z' g/n, Z' the noise of the sum
in steps g. So n V is the sum of squares around a, less n (m - a)², which lies between 0 and n e². In
the parts that squares are released in, PARTS of M, the variance is less than what is seen by Z + PARTS
n (m - a)²/M. M is at least the square of half the width, so that is at most Z + b Z'², whose law is
known whatever the values are (mechanisms/noise_and_square.py); and it is at least Z. What is rounded
down is less than one more. How much of what may be missed is missed on either side is chosen by n and
the noises, so that the interval is short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import (
    SQUARE_PARTS,
    Band,
    Reals,
    clipped,
    furthest_square,
    noisy_mean,
)
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, reach_with_square
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Values

MEAN_PARTS = 10  # one in so many parts of a promised width's error probability is the mean's
_SHARES = [Fraction(share, 16) for share in (8, 12, 15)]  # of what is missed, below


@dataclass(frozen=True)
class VarianceAround(Estimate):
    """A variance, or its root: mean square around the noisy mean, less how far that is off by chance.

    `half` is half the width of the value's bounds, which no standard deviation exceeds.
    """

    first: int
    second: int
    count: int
    sample: bool
    rooted: bool
    half: Fraction

    needs_rows: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset({self.second})  # the interval answers for both; the count has no noise

    def value(self, noisy: NoisyMeasurements) -> Values:
        rows = noisy.rows(self.count, 2 if self.sample else 1)
        spread = noisy.cells.measurement(self.second) * self._part(noisy) / rows
        off = noisy.noise.noises[self.first].standard_deviation * self._step(noisy.noise) / rows
        return self._shown(np.clip(spread - off**2, 0.0, float(self.half**2)), rows)

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        rows = np.fmax(noisy.rows(self.count), 2.0 if self.sample else 1.0)
        squares = noisy.cells.measurement(self.second).astype(np.float64)
        reach = {each: self._reaches(noisy.noise, confidence, int(each)) for each in set(rows)}
        below, above = (np.array([reach[each][end] for each in rows]) for end in (0, 1))
        part = self._part(noisy) / rows
        ends = Band((squares - below) * part, (squares + above + 1) * part)
        band = clipped(ends, 0.0, float(self.half**2))
        return Band(self._shown(band.low, rows), self._shown(band.high, rows))

    def _reaches(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> tuple[float, float]:
        """Return how far a variance may be below, and above, what is seen of squares, in their parts."""
        first, own = noise.measurements[self.first], noise.noises[self.second]
        squared = noise.noises[self.first]
        assert isinstance(own, DiscreteLaplace | DiscreteGaussian)  # noqa: S101
        assert isinstance(squared, DiscreteLaplace | DiscreteGaussian)  # noqa: S101
        weight = SQUARE_PARTS * (2 / (first.high - first.low)) ** 2 / rows
        missed = 1 - confidence
        found = [
            (
                reach_with_square(own, squared, weight, missed * share),
                own.quantile(1 - missed * (1 - share)),
            )
            for share in _SHARES
        ]
        return min(found, key=sum)

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return noisy.steps(self.count) < (2 if self.sample else 1)

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return how far it can be off wherever the mean lies."""
        reach = noise.reach(self.second, _sure(confidence, MEAN_PARTS - 1)) + 1
        squares = 4 * self.half**2 * Fraction(reach, SQUARE_PARTS)
        off = (
            noise.reach(self.first, _sure(confidence, 1))
            * noise.measurements[self.first].grid
            / max(1, rows)
        )
        width = min(squares / max(1, rows) + off**2, self.half**2)
        # roots are no further apart than the root of the gap
        return Fraction(math.sqrt(width)) if self.rooted else width

    def in_words(self) -> str:
        root = "root of " if self.rooted else ""
        return (
            f"{root}mean of squares (measurement {self.second + 1}) around the noisy mean "
            f"(measurement {self.first + 1}), over measurement {self.count + 1}, within what is possible"
        )

    def _step(self, noise: PlannedNoise) -> float:
        return float(noise.measurements[self.first].grid)

    def _part(self, noisy: NoisyMeasurements) -> Reals:
        """Return what one step of the noisy squares is, in every group."""
        first = noisy.measurement(self.first)
        pairs = zip(noisy.cells.measurement(self.first), noisy.steps(self.count), strict=True)
        means = [noisy_mean(first, int(steps), int(rows)) for steps, rows in pairs]
        return np.array([float(furthest_square(first, mean) / SQUARE_PARTS) for mean in means])

    def _shown(self, found: Reals, rows: Reals) -> Reals:
        found = found * rows / (rows - 1) if self.sample else found
        return np.sqrt(found) if self.rooted else found


def _sure(confidence: Fraction, parts: int) -> Fraction:
    """Return the confidence of what may be wrong in so many parts of an interval's error probability."""
    return 1 - (1 - confidence) * Fraction(parts, MEAN_PARTS)
