"""Aggregates from noisy measurements, with intervals that hold at a stated confidence.

Intervals cover the noise: the exact value *of the bounded data* lies inside with the confidence or
more. Those of counts and plain sums are exact quantiles of the noise. Where an estimate rests on
several measurements, each gets an equal share of the error probability and the intervals are combined
by interval arithmetic, which is safe whatever the values are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sanql.plan import Plan
from sanql.plan.accuracy import shared_confidence
from sanql.plan.measurements import AverageOf, CountOf, Estimate, SumOf
from sanql.release.cells import NoisyCells

Reals = NDArray[np.float64]
SATURATION = float(2**62)


@dataclass(frozen=True)
class Band:
    """A lower and an upper end for every group."""

    low: Reals
    high: Reals


def value_of(plan: Plan, cells: NoisyCells, aggregate: int) -> NDArray[np.float64 | np.int64]:
    """Return an aggregate's noisy value in every group."""
    parts = plan.measurements
    match plan.estimates[aggregate]:
        case CountOf(index):
            return cells.measurement(index)
        case SumOf(index, count, whole):
            steps = cells.measurement(index)
            if count is not None:
                steps = _moved(steps, cells.measurement(count), parts[index].centre)
            return steps if whole else steps.astype(np.float64) * float(parts[index].grid)
        case AverageOf(index, count, low, high):
            counted = cells.measurement(count).astype(np.float64)
            rows = np.where(counted < 1, np.nan, counted)  # too few rows to speak of an average
            mean = cells.measurement(index).astype(np.float64) / rows + parts[index].centre
            return np.clip(mean * float(parts[index].grid), float(low), float(high))


def _moved(steps: NDArray[np.int64], counts: NDArray[np.int64], centre: int) -> NDArray[np.int64]:
    """Return centred sums moved back by centre · count, saturating instead of overflowing."""
    moved = steps.astype(np.float64) + counts.astype(np.float64) * centre
    beyond = np.abs(moved) >= SATURATION
    exact = np.where(beyond, 0, counts) * np.int64(centre) + np.where(beyond, 0, steps)
    return np.where(beyond, np.where(moved > 0, 2**62, -(2**62)), exact).astype(np.int64)


def measurements_of(estimate: Estimate) -> frozenset[int]:
    """Return the measurements an estimate rests on."""
    match estimate:
        case CountOf(index) | SumOf(index, None):
            return frozenset({index})
        case SumOf(index, count) | AverageOf(index, count):
            return frozenset({index, count}) if count is not None else frozenset({index})


def band_of(
    plan: Plan, cells: NoisyCells, aggregate: int, confidence: Fraction, measurements: int
) -> Band:
    """Return an aggregate's interval when `measurements` in all must hold together."""
    each = shared_confidence(confidence, measurements)
    parts = plan.measurements
    match plan.estimates[aggregate]:
        case CountOf(index):
            return _around(plan, cells, index, each)
        case SumOf(index, None):
            return _scaled(_around(plan, cells, index, each), float(parts[index].grid))
        case SumOf(index, count):
            assert count is not None  # noqa: S101  (the case above took None)
            own = _around(plan, cells, index, each)
            moved = _scaled(_around(plan, cells, count, each), float(parts[index].centre))
            both = Band(own.low + moved.low, own.high + moved.high)
            return _scaled(both, float(parts[index].grid))
        case AverageOf(index, count, low, high):
            own = _scaled(_around(plan, cells, index, each), float(parts[index].grid))
            rows = _around(plan, cells, count, each)
            # an average of nothing is not asked about: at least one row, at most the upper end
            fewest, most = np.maximum(rows.low, 1.0), np.maximum(rows.high, 1.0)
            centre = float(parts[index].centre * parts[index].grid)
            bottom = np.where(own.low < 0, own.low / fewest, own.low / most) + centre
            top = np.where(own.high > 0, own.high / fewest, own.high / most) + centre
            return Band(
                np.clip(bottom, float(low), float(high)), np.clip(top, float(low), float(high))
            )


def _around(plan: Plan, cells: NoisyCells, index: int, confidence: Fraction) -> Band:
    values = cells.measurement(index).astype(np.float64)
    width = float(plan.noises[index].half_width(confidence))
    return Band(values - width, values + width)


def _scaled(band: Band, factor: float) -> Band:
    ends = band.low * factor, band.high * factor
    return Band(np.minimum(*ends), np.maximum(*ends))
