"""Aggregates from noisy measurements, with intervals that hold at a stated confidence.

Intervals cover the noise: the exact value *of the bounded data* lies inside with the confidence or
more. Those of counts and plain sums are exact quantiles of the noise. Where an estimate rests on
several measurements, each gets an equal share of the error probability and the intervals are combined
by interval arithmetic, which is safe whatever the values are.

Of keys selected privately they hold given that the key is shown: the count that selects has a lower end
made for that (appearing.py), and the noise of everything else has no part in the selection.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms import Geometric, NoNoise
from sanql.mechanisms.appearing import least_counts
from sanql.plan import Plan
from sanql.plan.accuracy import shared_confidence
from sanql.plan.measurements import (
    AverageOf,
    CorrelationOf,
    CountOf,
    CovarianceOf,
    QuantileOf,
    SumOf,
    VarianceOf,
)
from sanql.release import moments, quantiles
from sanql.release.bands import Band, Reals, added, centre_of, divided, off_grid, scaled
from sanql.release.cells import NoisyCells

SATURATION = float(2**62)


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
            return steps if whole else off_grid(steps.astype(np.float64), parts[index].grid)
        case AverageOf(index, count, low, high):
            counted = cells.measurement(count).astype(np.float64)
            rows = np.where(counted < 1, np.nan, counted)  # too few rows to speak of an average
            mean = cells.measurement(index).astype(np.float64) / rows + parts[index].centre
            return np.clip(mean * float(parts[index].grid), float(low), float(high))
        case VarianceOf() as estimate:
            return moments.variance_value(plan, cells, estimate)
        case CovarianceOf() as estimate:
            return moments.covariance_value(plan, cells, estimate)
        case CorrelationOf() as estimate:
            return moments.correlation_value(plan, cells, estimate)
        case QuantileOf() as estimate:
            return quantiles.quantile_value(plan, cells, estimate)


def _moved(steps: NDArray[np.int64], counts: NDArray[np.int64], centre: int) -> NDArray[np.int64]:
    """Return centred sums moved back by centre · count, saturating instead of overflowing."""
    moved = steps.astype(np.float64) + counts.astype(np.float64) * centre
    beyond = np.abs(moved) >= SATURATION
    exact = np.where(beyond, 0, counts) * np.int64(centre) + np.where(beyond, 0, steps)
    return np.where(beyond, np.where(moved > 0, 2**62, -(2**62)), exact).astype(np.int64)


def band_of(
    plan: Plan, cells: NoisyCells, aggregate: int, confidence: Fraction, measurements: int
) -> Band:
    """Return an aggregate's interval when `measurements` in all must hold together."""
    each = shared_confidence(confidence, measurements)
    parts = plan.measurements

    def around(index: int) -> Band:
        """Return the interval of a noisy measurement, in the units of its values."""
        return _valued(_around(plan, cells, index, each), parts[index].grid)

    match plan.estimates[aggregate]:
        case CountOf(index) | SumOf(index, None):
            return around(index)
        case SumOf(index, count):
            assert count is not None  # noqa: S101  (the case above took None)
            moved = scaled(_around(plan, cells, count, each), float(parts[index].centre))
            return _valued(added(_around(plan, cells, index, each), moved), parts[index].grid)
        case AverageOf(index, count, low, high):
            rows = around(count)
            # an average of nothing is not asked about: at least one row, at most the upper end
            rows = Band(np.maximum(rows.low, 1.0), np.maximum(rows.high, 1.0))
            mean, centre = divided(around(index), rows), centre_of(plan, index)
            return Band(
                np.clip(mean.low + centre, float(low), float(high)),
                np.clip(mean.high + centre, float(low), float(high)),
            )
        case VarianceOf() as estimate:
            return moments.variance_band(plan, cells, estimate, around)
        case CovarianceOf() as estimate:
            return moments.covariance_band(plan, cells, estimate, around)
        case CorrelationOf() as estimate:
            return moments.correlation_band(plan, cells, estimate, around)
        case QuantileOf() as estimate:
            return quantiles.quantile_band(plan, cells, estimate, each)


def missing_of(
    plan: Plan, cells: NoisyCells, aggregate: int, confidence: Fraction, measurements: int
) -> NDArray[np.bool_]:
    """Return where the exact value may be NULL when every measurement is within its interval.

    Counts and sums of nothing are 0. Averages and variances need rows, and have them where the lower
    end of their count says so. A quantile has rows wherever its interval is narrower than the bounds:
    the counts around it then tell rows on one side from none. A correlation may lack variation.
    """
    each = shared_confidence(confidence, measurements)
    match plan.estimates[aggregate]:
        case CountOf() | SumOf():
            return np.zeros(cells.count, dtype=np.bool_)
        case AverageOf(count=count):
            return _around(plan, cells, count, each).low < 1
        case VarianceOf(count=count, sample=sample) | CovarianceOf(count=count, sample=sample):
            return _around(plan, cells, count, each).low < (2 if sample else 1)
        case QuantileOf() as estimate:
            band = quantiles.quantile_band(plan, cells, estimate, each)
            low, high = quantiles.widest(plan, estimate)
            return (band.low <= low) & (band.high >= high)
        case CorrelationOf():
            return np.ones(cells.count, dtype=np.bool_)


def _valued(band: Band, grid: Fraction) -> Band:
    """Return a band of steps as one of values."""
    return Band(off_grid(band.low, grid), off_grid(band.high, grid))


def _around(plan: Plan, cells: NoisyCells, index: int, confidence: Fraction) -> Band:
    values = cells.measurement(index).astype(np.float64)
    noise, measuring = plan.noises[index], plan.outline.measuring
    width: Reals | float = float(noise.half_width(confidence))
    if index != measuring.selection or isinstance(noise, NoNoise):
        return Band(values - width, values + width)
    if measuring.rest is not None:
        width = np.where(cells.rest, plan.noises[measuring.rest].half_width(confidence), width)
    low = np.where(cells.rest, values - width, _given_shown(plan, cells, index, confidence))
    return Band(low, values + width)


def _given_shown(plan: Plan, cells: NoisyCells, index: int, confidence: Fraction) -> Reals:
    """Return lower ends of the count that selects keys: it is seen only where noise lets it be."""
    noise, threshold = plan.noises[index], plan.priced.threshold
    if threshold is None or isinstance(noise, Geometric):
        raise AssertionError("a count that selects keys has a threshold and noise of both signs")
    return least_counts(noise, threshold, cells.measurement(index), confidence)
