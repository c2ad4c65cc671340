"""Aggregates from noisy measurements, with intervals that hold at a stated confidence.

What each is computed from, its own file in statistics/ says. Where an estimate rests on several
measurements, each gets an equal share of the error probability and the intervals are combined by interval
arithmetic, which is safe whatever the values are.
"""

from __future__ import annotations

from fractions import Fraction

from sanql.measurements import Band, NoisyCells, shared_confidence
from sanql.plan import Level
from sanql.statistics import Mask, NoisyMeasurements, Values


def value_of(level: Level, cells: NoisyCells, aggregate: int) -> Values:
    """Return an aggregate's noisy value in every group."""
    return level.estimates[aggregate].value(_noisy(level, cells))


def band_of(
    level: Level, cells: NoisyCells, aggregate: int, confidence: Fraction, measurements: int | None
) -> Band | None:
    """Return an aggregate's interval when `measurements` in all must hold together, or None but it."""
    if measurements is None:
        return level.estimates[aggregate].band_alone(_noisy(level, cells), confidence)
    confidence_each = shared_confidence(confidence, measurements)
    return level.estimates[aggregate].band(_noisy(level, cells), confidence_each)


def may_be_null(
    level: Level, cells: NoisyCells, aggregate: int, confidence: Fraction, measurements: int
) -> Mask:
    """Return where the exact value may be NULL when every measurement is within its interval."""
    confidence_each = shared_confidence(confidence, measurements)
    return level.estimates[aggregate].missing(_noisy(level, cells), confidence_each)


def _noisy(level: Level, cells: NoisyCells) -> NoisyMeasurements:
    return NoisyMeasurements(level.planned_noise, cells)
