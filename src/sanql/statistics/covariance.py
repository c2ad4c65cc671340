"""COVAR_POP, COVAR_SAMP: how two values move together. Intervals are made as those of a variance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import (
    Band,
    added,
    at_least,
    bounds_of,
    clipped,
    divided,
    point,
    scaled,
)
from sanql.question import Aggregate, Expr, Facts, Type
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Operand, Statistic, Values, Written
from sanql.statistics.values import as_number, centred, multiplied, number_bounds, where_both
from sanql.statistics.variance import band_of_sample, moment_half_width, of_sample

PAIR = (Operand.VALUE, Operand.VALUE)


@dataclass(frozen=True)
class Covariance(Statistic):
    """A covariance of all rows or of a sample."""

    name: str
    spellings: tuple[str, ...]
    sample: bool
    written: str = ""
    found: str = ""

    operands = PAIR

    def ask(self, written: Written) -> Aggregate:
        arguments, size = written_pair(written)
        return Aggregate(self.name, arguments, Facts(Type.REAL, -size, size), written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        return measure_covariance(*both_there(aggregate), collector, self.sample)


COVARIANCES: tuple[Covariance, ...] = (
    Covariance(
        "covariance",
        ("COVAR_POP",),
        sample=False,
        written="`COVAR_POP COVAR_SAMP`",
        found="noisy sums of both values and their product, and a noisy count",
    ),
    Covariance("sample covariance", ("COVAR_SAMP",), sample=True),
)


def written_pair(written: Written) -> tuple[tuple[Expr, Expr], Fraction]:
    """Return two numbers with bounds, and the product of the widths of their bounds."""
    first, second = map(as_number, written.arguments)
    size = Fraction(1)
    for argument in (first, second):
        low, high = number_bounds(written, argument)
        size *= high - low
    return (first, second), size


def both_there(aggregate: Aggregate) -> tuple[Expr, Expr]:
    """Return the two values of a statistic of pairs, each only where both are there."""
    one, other = aggregate.arguments
    return where_both(one, other), where_both(other, one)


def measure_covariance(
    argument: Expr, second: Expr, collector: Collector, sample: bool = False
) -> CovarianceOf:
    """Measure two values, their product and the count of the pairs."""
    parts = [collector.gridded(value, centred=True) for value in (argument, second)]
    product = multiplied(centred(argument, parts[0]), centred(second, parts[1]))
    widths = [high - low for low, high in map(bounds_of, (argument, second))]
    return CovarianceOf(
        collector.add(parts[0], 1 / 9),
        collector.add(parts[1], 1 / 9),
        collector.add(collector.gridded(product, centred=True), 1.0),
        collector.rows(argument, 1 / 9),
        sample,
        widths[0] * widths[1] / 4,
    )


@dataclass(frozen=True)
class CovarianceOf(Estimate):
    """A covariance from centred sums of two values and of their product."""

    first: int
    other: int
    product: int
    count: int
    sample: bool
    largest: Fraction

    needs_rows: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset({self.first, self.other, self.product, self.count})

    def value(self, noisy: NoisyMeasurements) -> Values:
        rows = noisy.rows(self.count, 2 if self.sample else 1)
        means = [noisy.sums(index) / rows for index in (self.first, self.other)]
        product = noisy.sums(self.product) / rows + noisy.centre(self.product)
        most = float(self.largest)
        found = np.clip(product - means[0] * means[1], -most, most)
        return of_sample(found, rows) if self.sample else found

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        rows = at_least(noisy.around(self.count, confidence), 2.0 if self.sample else 1.0)
        first, other = (noisy.around(index, confidence) for index in (self.first, self.other))
        by_first, by_other = (
            (band.low + band.high) / (rows.low + rows.high) for band in (first, other)
        )
        moved = added(scaled(first, -by_other), scaled(other, -by_first))
        sums = noisy.around(self.product, confidence)
        linear = added(sums, added(moved, scaled(rows, by_first * by_other)))
        product = added(divided(linear, rows), point(noisy.centre(self.product)))
        errors = [
            added(divided(band, rows), point(-shift))
            for band, shift in ((first, by_first), (other, by_other))
        ]
        corners = [
            a * b for a in (errors[0].low, errors[0].high) for b in (errors[1].low, errors[1].high)
        ]
        most = float(self.largest)
        band = Band(
            product.low - np.maximum.reduce(corners), product.high - np.minimum.reduce(corners)
        )
        band = clipped(band, -most, most)
        return band_of_sample(band, rows) if self.sample else band

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return noisy.steps_around(self.count, confidence).low < (2 if self.sample else 1)

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return how far it can be off wherever the means lie, to first order."""
        size = [part.size * part.grid for part in noise.measurements]
        weights = {
            self.product: Fraction(1),
            self.first: size[self.other],
            self.other: size[self.first],
        }
        return moment_half_width(noise, weights, self.count, self.largest, confidence, rows)

    def in_words(self) -> str:
        return (
            f"mean of products (measurement {self.product + 1}) - product of the means "
            f"(measurements {self.first + 1} and {self.other + 1}), centred and over measurement "
            f"{self.count + 1}"
        )
