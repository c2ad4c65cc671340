"""GEOMEAN: the n-th root of the product of n values above zero, exp(mean of ln x).

The mean of ln x is measured like any average, between the logarithms of the bounds, and every end of its
interval is put back through exp, which rises. A value at zero or below has no logarithm, so bounds above
zero are asked for: where rows may hold others, the question says what becomes of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.errors import Refused
from sanql.functions import call
from sanql.measurements import Band, bounds_of, clipped
from sanql.question import Aggregate, Facts, Type
from sanql.statistics.average import AverageOf
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written
from sanql.statistics.values import number_bounds

SLACK = 1e-12  # relative, far more than the error of a logarithm and an exponential


class GeometricMean(Statistic):
    """GEOMEAN(x): exp of the middle of ln x's bounds plus a noisy centred sum over a noisy count."""

    name = "geometric mean"
    spellings = ("GEOMEAN", "GEOMETRIC_MEAN")
    written = "`GEOMEAN(x)`, `GEOMETRIC_MEAN(x)`, of x above zero"
    found = (
        "exp of an average: a noisy sum of ln x less the middle of its bounds, and a noisy count"
    )
    counts_rows = True

    def ask(self, written: Written) -> Aggregate:
        low, high = number_bounds(written, written.argument)
        if low <= 0:
            raise Refused(
                "bounds_missing",
                f"{written.text} is of values above zero, and these may be as small as "
                f"{float(low):g}",
                f"state bounds above zero: {written.name}(CASE WHEN x BETWEEN 1 AND 100 THEN x END) "
                f"leaves other values out; {written.name}(GREATEST(1, LEAST(100, x))) moves them to the "
                "ends, and NULL to 100",
            )
        return Aggregate(self.name, (written.argument,), Facts(Type.REAL, low, high), written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        low, high = bounds_of(aggregate.value)
        logarithm = call("ln", aggregate.value)
        index = collector.add(collector.gridded(logarithm, centred=True), 1.0)
        count = collector.rows(aggregate.value, 1 / 3)  # as for an average
        return GeometricMeanOf(AverageOf(index, count, *bounds_of(logarithm)), low, high)


@dataclass(frozen=True)
class GeometricMeanOf(Estimate):
    """The exponential of an average of logarithms, within the bounds of the values."""

    logarithms: AverageOf
    low: Fraction
    high: Fraction

    needs_rows: ClassVar[bool] = True
    with_any_centre: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        return self.logarithms.measurements

    @property
    def quotient(self) -> tuple[int, int]:
        return self.logarithms.quotient

    def value(self, noisy: NoisyMeasurements) -> Values:
        return np.clip(np.exp(self.logarithms.value(noisy)), float(self.low), float(self.high))

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        return self._exponential(noisy, self.logarithms.band(noisy, confidence))

    def band_alone(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        return self._exponential(noisy, self.logarithms.band_alone(noisy, confidence))

    def _exponential(self, noisy: NoisyMeasurements, inner: Band) -> Band:
        # every logarithm is rounded to a step, so their mean is off by half a step at most
        half = float(noisy.measurement(self.logarithms.measurement).value_grid) / 2
        low, high = np.exp(inner.low - half), np.exp(inner.high + half)
        band = Band(low * (1 - SLACK), high * (1 + SLACK))
        return clipped(band, float(self.low), float(self.high))

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return self.logarithms.missing(noisy, confidence)

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return the gap between the largest value and one whose logarithm is that far below it.

        Between the bounds no two values whose logarithms are w apart are further apart.
        """
        width = self.logarithms.half_width(noise, confidence, rows)
        gap = float(self.high) * -math.expm1(-float(width)) * (1 + SLACK)
        return min(Fraction(gap), self.high - self.low)

    def in_words(self) -> str:
        return f"exp of the mean of logarithms: {self.logarithms.in_words()}"
