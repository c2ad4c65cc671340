"""VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP: how far values are from their mean.

By itself an interval is made by the law of all noises together (variance_band.py). Where several must
hold at once, it holds whenever those of both sums and of the count do. A variance is E(x - a)² - (mean -
a)² for every a, so a may be chosen after the noise: with a the noisy mean, the first term is *linear* in
the sums, S₂ - 2 d S₁ + d² n over n with d = a - c, and the second is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import (
    SQUARE_PARTS,
    Band,
    Reals,
    Sensitivity,
    added,
    at_least,
    bounds_of,
    can_be_around,
    clipped,
    divided,
    point,
    scaled,
    shared_confidence,
)
from sanql.question import Aggregate, ColumnRef, Expr, Facts, Type
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written
from sanql.statistics.values import as_number, centred, number_bounds, squared
from sanql.statistics.variance_around import VarianceAround
from sanql.statistics.variance_band import variance_band


@dataclass(frozen=True)
class Variance(Statistic):
    """A variance of all rows or of a sample, or its root."""

    name: str
    spellings: tuple[str, ...]
    sample: bool
    rooted: bool
    written: str = ""
    found: str = ""

    counts_rows = True

    def ask(self, written: Written) -> Aggregate:
        argument = as_number(written.argument)
        low, high = number_bounds(written, argument)
        width = high - low
        # of two rows the sample's variance is twice their own, which is at most (width / 2)^2
        top = width if self.rooted else width * width / 2
        return Aggregate(self.name, (argument,), Facts(Type.REAL, Fraction(0), top), written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        around = _measure_around_mean(aggregate.value, collector, self.sample, self.rooted)
        return around or measure_variance(aggregate.value, collector, self.sample, self.rooted)


VARIANCES: tuple[Variance, ...] = (
    Variance(
        "variance",
        ("VAR_POP", "VARIANCE_POP", "VARP"),
        sample=False,
        rooted=False,
        written="`VAR_POP VAR_SAMP VARIANCE VAR STDDEV STDDEV_POP STDDEV_SAMP STD` "
        "(`VAR` and `STD` are of a sample)",
        found="besides what `AVG` rests on, a noisy sum of centred squares",
    ),
    Variance("sample variance", ("VARIANCE", "VAR_SAMP", "VAR"), sample=True, rooted=False),
    Variance("standard deviation", ("STDDEV_POP", "STDEVP"), sample=False, rooted=True),
    Variance(
        "sample standard deviation",
        ("STDDEV", "STDDEV_SAMP", "STD", "STDEV"),
        sample=True,
        rooted=True,
    ),
)


def _measure_around_mean(
    argument: Expr, collector: Collector, sample: bool, rooted: bool
) -> VarianceAround | None:
    """Measure a value, and its square around the noisy mean, where their count is public.

    Where rows are units, each adds its own numbers to both sums and nothing else; of a column they are
    surely of one value, which is brought within its bounds when it is read. One part in fourteen goes to
    the mean: what it is off by enters squared.
    """
    stored = isinstance(argument, ColumnRef) and argument.stored
    if not stored or not collector.rows_are_public(argument):
        return None
    part = collector.gridded(argument, centred=True)
    square = collector.gridded(squared(centred(argument, part)), centred=True)
    if not can_be_around(part, square, argument.facts.type is Type.INTEGER):
        return None
    first = collector.add(part, 1 / (4 * 4 * 13**3))
    bounds = Sensitivity(SQUARE_PARTS + 1, SQUARE_PARTS + 1, (SQUARE_PARTS + 1) ** 2)
    second = collector.add(replace(square, sensitivity=bounds, around=first), 1 / 4)
    count, (low, high) = collector.rows(argument, 0.0), bounds_of(argument)
    return VarianceAround(first, second, count, sample, rooted, (high - low) / 2)


def measure_variance(
    argument: Expr,
    collector: Collector,
    sample: bool = False,
    rooted: bool = False,
    counted: Expr | None = None,
) -> VarianceOf:
    """Measure a value, its square and their count.

    In units of h², the square's noise enters times 1/2; the value's times 2(mean - c)/h, and the
    count's times up to 1/2, both with a mean a third of the way from the middle on average.
    """
    part = collector.gridded(argument, centred=True)
    square = collector.gridded(squared(centred(argument, part)), centred=True)
    low, high = bounds_of(argument)
    return VarianceOf(
        collector.add(part, 4 / 9),
        collector.add(square, 1 / 4),
        collector.rows(counted or argument, 1 / 9),
        sample,
        rooted,
        (high - low) / 2,
    )


@dataclass(frozen=True)
class VarianceOf(Estimate):
    """A variance, or its root, from centred sums of a value and of its square.

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
        return frozenset({self.first, self.second, self.count})

    @property
    def quotient(self) -> tuple[int, int]:
        return self.first, self.count

    def value(self, noisy: NoisyMeasurements) -> Values:
        rows = noisy.rows(self.count, 2 if self.sample else 1)
        mean = noisy.sums(self.first) / rows
        square = noisy.sums(self.second) / rows + noisy.centre(self.second)
        found = np.clip(square - mean * mean, 0.0, float(self.half**2))
        found = of_sample(found, rows) if self.sample else found
        return np.sqrt(found) if self.rooted else found

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        rows = at_least(noisy.around(self.count, confidence), 2.0 if self.sample else 1.0)
        first, second = (noisy.around(i, confidence) for i in (self.first, self.second))
        most, reach = float(self.half**2), float(self.half)
        shift = np.clip((first.low + first.high) / (rows.low + rows.high), -reach, reach)
        moved = added(scaled(first, -2 * shift), scaled(rows, shift * shift))
        spread = added(divided(added(second, moved), rows), point(noisy.centre(self.second)))
        error = added(divided(first, rows), point(-shift))
        low = spread.low - np.maximum(error.low**2, error.high**2)
        band = clipped(Band(low, spread.high), 0.0, most)
        band = band_of_sample(band, rows) if self.sample else band
        return Band(np.sqrt(band.low), np.sqrt(band.high)) if self.rooted else band

    def band_alone(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        places = self.first, self.second, self.count
        # of two rows the sample's variance is twice their own
        less, largest = (1, 2 * self.half**2) if self.sample else (0, self.half**2)
        band = variance_band(noisy, places, float(largest), less, confidence)
        if band is None:
            return self.band(noisy, shared_confidence(confidence, len(places)))
        return Band(np.sqrt(band.low), np.sqrt(band.high)) if self.rooted else band

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return noisy.steps_around(self.count, confidence).low < (2 if self.sample else 1)

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return how far it can be off wherever the mean lies, to first order."""
        weights = {self.second: Fraction(1), self.first: 2 * self.half}
        width = moment_half_width(noise, weights, self.count, self.half**2, confidence, rows)
        # roots are no further apart than the root of the gap
        return Fraction(math.sqrt(width)) if self.rooted else width

    def in_words(self) -> str:
        root = "root of " if self.rooted else ""
        return (
            f"{root}mean of squares (measurement {self.second + 1}) - square of the mean "
            f"(measurement {self.first + 1}), both centred and over measurement {self.count + 1}, "
            "within what is possible"
        )


def of_sample(found: Reals, rows: Reals) -> Reals:
    """Return a moment of all rows as that of a sample."""
    return found * rows / (rows - 1)


def band_of_sample(band: Band, rows: Band) -> Band:
    """Return the interval of a moment of all rows as that of a sample.

    n / (n - 1) falls as n grows: the larger end of a band that may be negative is either.
    """
    most, least = rows.low / (rows.low - 1), rows.high / (rows.high - 1)
    return Band(
        np.where(band.low < 0, band.low * most, band.low * least),
        np.where(band.high > 0, band.high * most, band.high * least),
    )


def moment_half_width(
    noise: PlannedNoise,
    weights: dict[int, Fraction],
    count: int,
    largest: Fraction,
    confidence: Fraction,
    rows: int,
) -> Fraction:
    """Return how far a mean of weighted sums over a count can be off, to first order."""
    each = shared_confidence(confidence, len(weights) + 1)
    lost = noise.reach(count, each)
    own = sum(
        noise.reach(index, each) * noise.measurements[index].grid * weight
        for index, weight in weights.items()
    )
    return min((own + lost * largest) / max(1, rows - lost), largest)
