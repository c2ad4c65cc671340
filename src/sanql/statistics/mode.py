"""MODE: the value that most rows have, among values that are known without the data.

Rows are counted by value, every count has noise of its own, and the value with the largest noisy count
is told, the first listed among equals. A value whose count may be the largest, by the intervals of all
counts together, may be the mode: numbers have the range of those values as their interval.
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

NUMBERS = (Type.INTEGER, Type.REAL)


class Mode(Statistic):
    """MODE(x): the value with the largest noisy count of rows."""

    name = "mode"
    spellings = ("MODE",)
    written = "`MODE(x)`, `MODE() WITHIN GROUP (ORDER BY x)`, of x with declared values"
    found = (
        "the value with the largest of noisy counts, one for each value (rows with other values are left "
        "out); the interval of a number has all values whose count may be the largest"
    )
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        facts = replace(written.argument.facts, nullable=True)
        return Aggregate(self.name, (written.argument,), facts, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
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


def _shown(value: LiteralValue) -> object:
    return float(value) if isinstance(value, Fraction) else value
