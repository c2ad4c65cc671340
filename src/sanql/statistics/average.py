"""AVG: the mean of a value with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import (
    Band,
    at_least,
    bounds_of,
    clipped,
    divided,
    shared_confidence,
)
from sanql.question import Aggregate, Facts, Type
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.quotients import quotient_band
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written
from sanql.statistics.values import as_number, number_bounds


class Average(Statistic):
    """AVG(x): the middle of x's bounds, plus a noisy centred sum over a noisy count."""

    name = "average"
    spellings = ("AVG",)
    written = "`AVG(x)`, `MEAN(x)`"
    found = (
        "a noisy sum of x less the middle of its bounds, and a noisy count; with Laplace noise, both "
        "from how far values are from either end of their bounds (averages.md)"
    )
    counts_rows = True

    def ask(self, written: Written) -> Aggregate:
        argument = as_number(written.argument)
        low, high = number_bounds(written, argument)
        return Aggregate(self.name, (argument,), Facts(Type.REAL, low, high), written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        argument = aggregate.value
        low, high = bounds_of(argument)
        index = collector.add(collector.gridded(argument, centred=True), 1.0)
        # the count's noise enters times (average - centre), a third of the width squared on average
        return AverageOf(index, collector.rows(argument, 1 / 3), low, high)


@dataclass(frozen=True)
class AverageOf(Estimate):
    """The centre plus noisy centred sum over noisy count, within the bounds."""

    measurement: int
    count: int
    low: Fraction
    high: Fraction

    needs_rows: ClassVar[bool] = True
    with_any_centre: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset({self.measurement, self.count})

    @property
    def quotient(self) -> tuple[int, int]:
        return self.measurement, self.count

    def value(self, noisy: NoisyMeasurements) -> Values:
        part = noisy.measurement(self.measurement)
        rows = noisy.rows(self.count)  # too few rows to speak of an average are none
        if part.pair is not None:
            counted = np.where(np.isnan(rows), np.nan, noisy.reals(self.count))
            mean = noisy.reals(self.measurement) / counted + noisy.centre(self.measurement)
            return np.clip(mean, float(self.low), float(self.high))
        mean = noisy.steps(self.measurement).astype(np.float64) / rows + part.centre
        return np.clip(mean * float(part.grid), float(self.low), float(self.high))

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        # an average of nothing is not asked about: at least one row, at most the upper end
        rows = at_least(noisy.around(self.count, confidence), 1.0)
        mean = divided(noisy.around(self.measurement, confidence), rows)
        centre = noisy.centre(self.measurement)
        moved = Band(mean.low + centre, mean.high + centre)
        return clipped(moved, float(self.low), float(self.high))

    def band_alone(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        mean = quotient_band(noisy, self.measurement, self.count, confidence)
        if mean is None:
            return self.band(noisy, shared_confidence(confidence, 2))
        centre = noisy.centre(self.measurement)
        moved = Band(mean.low + centre, mean.high + centre)
        return clipped(moved, float(self.low), float(self.high))

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return noisy.steps_around(self.count, confidence).low < 1

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        part, width = noise.measurements[self.measurement], self.high - self.low
        reach = noise.reach_of_both(*self.quotient, float(part.size * part.grid), confidence)
        if reach is not None:
            least = max(1, rows - noise.reach(self.count, confidence))
            return min(Fraction(reach) / least, width)
        each = shared_confidence(confidence, 2)
        own, lost = noise.reach(self.measurement, each) * part.grid, noise.reach(self.count, each)
        return min((own + lost * width / 2) / max(1, rows - lost), width)

    def in_words(self) -> str:
        return (
            f"centre + measurement {self.measurement + 1} / measurement {self.count + 1}, within its "
            "bounds"
        )
