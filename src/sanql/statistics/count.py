"""COUNT: rows, rows with a value, or units."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import Band, Measured, Measurement
from sanql.question import Aggregate, Expr, Facts, Type
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written

NOISY_RANGE = (Fraction(-(2**62)), Fraction(2**62))
COUNTED = Facts(Type.INTEGER, *NOISY_RANGE, nullable=False, grid=Fraction(1))
"""What is known of a noisy count."""


class Count(Statistic):
    """COUNT(*) and COUNT(x): a noisy number of rows."""

    name = "count"
    spellings = ("COUNT",)
    written = (
        "`COUNT(*)`, `COUNT(x)`, `COUNT_IF(condition)`, `SUM(condition)`, `COUNT(DISTINCT unit)`"
    )
    found = "a noisy count"
    counts_rows = True
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        return count_of(written.argument, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        return CountOf(collector.rows(aggregate.argument, 1.0))


class CountUnits(Statistic):
    """COUNT(DISTINCT unit): a noisy number of units, or of those with a row where a value is there."""

    name = "count units"
    spellings = ()
    by_unit = True
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        return units_of(written.argument, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        return CountOf(collector.count(Measured.UNITS, aggregate.argument, 1.0))


def count_of(argument: Expr | None, text: str) -> Aggregate:
    """Return a count of rows; with an argument, of those where it is not NULL."""
    return Aggregate(Count.name, _present(argument), COUNTED, text)


def units_of(argument: Expr | None, text: str) -> Aggregate:
    """Return a count of units; with an argument, of those with a row where it is not NULL."""
    return Aggregate(CountUnits.name, _present(argument), COUNTED, text)


def _present(argument: Expr | None) -> tuple[Expr, ...]:
    return () if argument is None else (argument,)


@dataclass(frozen=True)
class CountOf(Estimate):
    """A noisy count, as it is."""

    measurement: int

    can_be_rounded: ClassVar[bool] = True
    with_any_centre: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset({self.measurement})

    def value(self, noisy: NoisyMeasurements) -> Values:
        return noisy.steps(self.measurement)

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        return noisy.around(self.measurement, confidence)

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return np.zeros(noisy.count, dtype=np.bool_)  # nothing counted is 0

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        return Fraction(noise.reach(self.measurement, confidence))

    def in_words(self) -> str:
        return f"measurement {self.measurement + 1}"

    @property
    def plain(self) -> int:
        return self.measurement

    @property
    def whole(self) -> bool:
        return True

    def never_negative(self, measurements: tuple[Measurement, ...]) -> bool:
        return True
