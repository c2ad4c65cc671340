"""Intervals for every group at once, and arithmetic on them that never makes them too narrow."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """An interval for every group: arrays of lower and of upper ends."""

    low: Reals
    high: Reals


def off_grid(steps: Reals, grid: Fraction) -> Reals:
    """Return steps of a grid as values: the nearest numbers, for a grid of hundredths or the like.

    Times a rounded step they would be off by a little more, and look it:

    >>> [float(x) for x in off_grid(np.array([83493595.0]), Fraction(1, 100))], 83493595 * 0.01
    ([834935.95], 834935.9500000001)
    """
    return steps * float(grid.numerator) / float(grid.denominator)


def scaled(band: Band, factor: Reals | float) -> Band:
    """Return the band times a known factor of either sign."""
    ends = band.low * factor, band.high * factor
    return Band(np.minimum(*ends), np.maximum(*ends))


def added(a: Band, b: Band) -> Band:
    """Return the interval of a sum."""
    return Band(a.low + b.low, a.high + b.high)


def divided(sums: Band, counts: Band) -> Band:
    """Return the interval of a quotient whose divisor is above zero."""
    return Band(
        np.where(sums.low < 0, sums.low / counts.low, sums.low / counts.high),
        np.where(sums.high > 0, sums.high / counts.low, sums.high / counts.high),
    )


def valued(band: Band, grid: Fraction) -> Band:
    """Return intervals in grid steps as intervals of values."""
    return Band(off_grid(band.low, grid), off_grid(band.high, grid))


def at_least(rows: Band, fewest: float) -> Band:
    """Return the interval of a count that is known to be at least so large."""
    return Band(np.maximum(rows.low, fewest), np.maximum(rows.high, fewest))


def clipped(band: Band, low: float, high: float) -> Band:
    """Return the intervals cut down to what is possible."""
    return Band(np.clip(band.low, low, high), np.clip(band.high, low, high))


def point(value: Reals | float) -> Band:
    """Return the interval of a known value: a single point."""
    exact = np.asarray(value, dtype=np.float64)
    return Band(exact, exact)


def shared_confidence(confidence: Fraction, intervals: int) -> Fraction:
    """Return the confidence each of several intervals needs so that all hold together."""
    return 1 - (1 - confidence) / max(1, intervals)  # what rests on none is as sure as it can be
