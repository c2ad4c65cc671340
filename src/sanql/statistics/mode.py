"""MODE: the value that most rows have, of values known without the data or selected privately.

Where they are known, rows are counted by value, every count has noise of its own, and the value with the
largest noisy count is told, the first listed among equals. A value whose count may be the largest, by the
intervals of all counts together, may be the mode: numbers have the range of those values as interval.

Where they are not, rows are counted in a level apart, grouped by the value as by any unknown key, and the
value with the largest noisy count among those that appear is told. One that does not appear may have more
rows than it, if few units have them, so there is no interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import Band, Reals
from sanql.question import Aggregate, LiteralValue, Type
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written
from sanql.statistics.values import check_some_value

NUMBERS = (Type.INTEGER, Type.REAL)


class Mode(Statistic):
    """MODE(x): the value with the largest noisy count of rows."""

    name = "mode"
    spellings = ("MODE",)
    written = "`MODE(x)`, `MODE() WITHIN GROUP (ORDER BY x)`"
    found = (
        "the value with the largest of noisy counts, one for each declared value (the interval of a "
        "number has all values whose count may be the largest), or for each that is selected privately"
    )
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        check_some_value(written)
        facts = replace(written.argument.facts, nullable=True)
        return Aggregate(self.name, (written.argument,), facts, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        place = collector.count_apart(aggregate)
        if place is not None:
            return SelectedModeOf(place)
        return ModeOf(collector.histogram(aggregate, 1.0), aggregate.facts.type in NUMBERS)


@dataclass(frozen=True)
class ModeOf(Estimate):
    """The value whose noisy count of rows is the largest."""

    counts: int
    is_number: bool

    depends_on_spread: ClassVar[bool] = True
    width_in: ClassVar[str] = ", in rows that another value may have more"

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset({self.counts})

    def value(self, noisy: NoisyMeasurements) -> Values:
        """Return the value in every group, or none where no count sees a row."""
        counts = noisy.vectors(self.counts)
        listed = noisy.measurement(self.counts).values
        values = np.empty(len(counts), dtype=object)
        values[:] = [
            _shown(listed[place]) if most >= 1 else None
            for place, most in zip(counts.argmax(axis=1), counts.max(axis=1), strict=True)
        ]
        return values

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band | None:
        """Return the least and the greatest number whose count may be the largest of all."""
        if not self.is_number:
            return None
        counts = noisy.vectors_around(self.counts, confidence)
        possible = counts.high >= counts.low.max(axis=1, keepdims=True)
        listed = noisy.measurement(self.counts).values
        numbers = np.array([float(v) for v in listed if isinstance(v, int | Fraction)])
        return Band(
            np.where(possible, numbers, np.inf).min(axis=1),
            np.where(possible, numbers, -np.inf).max(axis=1),
        )

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        fewest: Reals = noisy.vectors_around(self.counts, confidence).low.max(axis=1)
        return fewest < 1

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return by how many rows the value told may fall short: both counts can be off."""
        return Fraction(2 * noise.reach_of_all(self.counts, confidence))

    def in_words(self) -> str:
        return f"the value with the largest count of measurement {self.counts + 1}"

    def caveat(self) -> str:
        if self.is_number:
            return ""
        return (
            "has the largest noisy count; another value may have more rows (explain says how many)"
        )


@dataclass(frozen=True)
class SelectedModeOf(Estimate):
    """The value whose noisy count of rows is the largest in a level apart, of those selected there."""

    place: int

    depends_on_spread: ClassVar[bool] = True
    has_interval: ClassVar[bool] = False

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset()

    def value(self, noisy: NoisyMeasurements) -> Values:
        values = np.empty(noisy.count, dtype=object)
        values[:] = noisy.cells.found(self.place)
        return values

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> None:
        return None

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return np.array([value is None for value in noisy.cells.found(self.place)], dtype=np.bool_)

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        return Fraction(0)

    def in_words(self) -> str:
        return "the value with the largest noisy count in a level of its own, of those that appear there"

    def caveat(self) -> str:
        return "is the most frequent of the values that enough units share to appear; NULL: none is"


def _shown(value: LiteralValue) -> object:
    return float(value) if isinstance(value, Fraction) else value
