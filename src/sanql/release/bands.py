"""Intervals for every group at once, and the arithmetic that keeps them honest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sanql.plan import Plan

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """A lower and an upper end for every group."""

    low: Reals
    high: Reals


Around = Callable[[int], Band]  # the interval of a measurement, in its own units


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
    """Return what the sum can be."""
    return Band(a.low + b.low, a.high + b.high)


def divided(sums: Band, counts: Band) -> Band:
    """Return what a sum over a count above zero can be."""
    return Band(
        np.where(sums.low < 0, sums.low / counts.low, sums.low / counts.high),
        np.where(sums.high > 0, sums.high / counts.low, sums.high / counts.high),
    )


def centre_of(plan: Plan, index: int) -> float:
    """Return what was taken off every value of a sum, in the value's own units."""
    part = plan.measurements[index]
    return float(part.centre * part.grid)
