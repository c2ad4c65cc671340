"""A variance from squares around a noisy mean (measurements/squares.py), where rows are public."""

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
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Values

MEAN_PARTS = 10  # one in so many parts of an interval's error probability is the mean's


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
        rows = np.maximum(noisy.rows(self.count), 2.0 if self.sample else 1.0)
        squares = noisy.cells.measurement(self.second).astype(np.float64)
        # what is rounded down is less than one more
        reach = noisy.noise.reach(self.second, _sure(confidence, MEAN_PARTS - 1))
        low, high = ((squares + end) * self._part(noisy) / rows for end in (-reach, reach + 1))
        mean = noisy.noise.reach(self.first, _sure(confidence, 1))
        off = mean * self._step(noisy.noise) / rows
        band = clipped(Band(low - off**2, high), 0.0, float(self.half**2))
        return Band(self._shown(band.low, rows), self._shown(band.high, rows))

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
