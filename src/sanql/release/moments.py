"""Variances, covariances and correlations from noisy centred sums, with intervals.

An interval holds whenever those of all sums and of the count do. A variance is E(x - a)² - (mean - a)²
for every a, so a may be chosen after the noise: with a the noisy mean, the first term is *linear* in
the sums, S₂ - 2 d S₁ + d² n over n with d = a - c, and the second is small. Covariances likewise.
"""

from __future__ import annotations

import numpy as np

from sanql.plan import Plan
from sanql.plan.measurements import CorrelationOf, CovarianceOf, VarianceOf
from sanql.release.bands import Around, Band, Reals, added, centre_of, divided, scaled
from sanql.release.cells import NoisyCells

LEAST_SHARE = 1e-4  # of the largest variance: below it a correlation is undefined


def variance_value(plan: Plan, cells: NoisyCells, estimate: VarianceOf) -> Reals:
    """Return a noisy variance or standard deviation in every group."""
    rows = _rows(cells, estimate.count, estimate.sample)
    mean = _sum(plan, cells, estimate.first) / rows
    square = _sum(plan, cells, estimate.second) / rows + centre_of(plan, estimate.second)
    found = np.clip(square - mean * mean, 0.0, float(estimate.half**2))
    return _finished(found, rows, estimate.sample, estimate.rooted)


def covariance_value(plan: Plan, cells: NoisyCells, estimate: CovarianceOf) -> Reals:
    """Return a noisy covariance in every group."""
    rows = _rows(cells, estimate.count, estimate.sample)
    means = [_sum(plan, cells, index) / rows for index in (estimate.first, estimate.other)]
    product = _sum(plan, cells, estimate.product) / rows + centre_of(plan, estimate.product)
    most = float(estimate.largest)
    found = np.clip(product - means[0] * means[1], -most, most)
    return _finished(found, rows, estimate.sample, rooted=False)


def correlation_value(plan: Plan, cells: NoisyCells, estimate: CorrelationOf) -> Reals:
    """Return a noisy correlation, or none where a value hardly varies."""
    covariance = covariance_value(plan, cells, estimate.covariance)
    spreads = [variance_value(plan, cells, part) for part in (estimate.variance, estimate.other)]
    least = [LEAST_SHARE * float(part.half**2) for part in (estimate.variance, estimate.other)]
    told = (spreads[0] > least[0]) & (spreads[1] > least[1])
    with np.errstate(all="ignore"):
        found = np.clip(covariance / np.sqrt(spreads[0] * spreads[1]), -1.0, 1.0)
    return np.where(told, found, np.nan)


def variance_band(plan: Plan, cells: NoisyCells, estimate: VarianceOf, around: Around) -> Band:
    """Return the interval of a variance or standard deviation."""
    rows = _at_least(around(estimate.count), 2.0 if estimate.sample else 1.0)
    first, second = around(estimate.first), around(estimate.second)
    shift = np.clip((first.low + first.high) / (rows.low + rows.high), *_reach(estimate))
    moved = added(scaled(first, -2 * shift), scaled(rows, shift * shift))
    spread = added(divided(added(second, moved), rows), _point(centre_of(plan, estimate.second)))
    error = added(divided(first, rows), _point(-shift))
    most = float(estimate.half**2)
    low = np.clip(spread.low - np.maximum(error.low**2, error.high**2), 0.0, most)
    band = Band(low, np.clip(spread.high, 0.0, most))
    return _finished_band(band, rows, estimate.sample, estimate.rooted)


def covariance_band(plan: Plan, cells: NoisyCells, estimate: CovarianceOf, around: Around) -> Band:
    """Return the interval of a covariance."""
    rows = _at_least(around(estimate.count), 2.0 if estimate.sample else 1.0)
    first, other = around(estimate.first), around(estimate.other)
    by_first, by_other = (
        (band.low + band.high) / (rows.low + rows.high) for band in (first, other)
    )
    moved = added(scaled(first, -by_other), scaled(other, -by_first))
    linear = added(around(estimate.product), added(moved, scaled(rows, by_first * by_other)))
    product = added(divided(linear, rows), _point(centre_of(plan, estimate.product)))
    errors = [
        added(divided(band, rows), _point(-shift))
        for band, shift in ((first, by_first), (other, by_other))
    ]
    corners = [
        a * b for a in (errors[0].low, errors[0].high) for b in (errors[1].low, errors[1].high)
    ]
    most = float(estimate.largest)
    band = Band(
        np.clip(product.low - np.maximum.reduce(corners), -most, most),
        np.clip(product.high - np.minimum.reduce(corners), -most, most),
    )
    return _finished_band(band, rows, estimate.sample, rooted=False)


def correlation_band(
    plan: Plan, cells: NoisyCells, estimate: CorrelationOf, around: Around
) -> Band:
    """Return the interval of a correlation; all of [-1, 1] where a value may hardly vary."""
    top = covariance_band(plan, cells, estimate.covariance, around)
    parts = [
        variance_band(plan, cells, part, around) for part in (estimate.variance, estimate.other)
    ]
    least, most = (np.sqrt(parts[0].low * parts[1].low), np.sqrt(parts[0].high * parts[1].high))
    with np.errstate(all="ignore"):
        low = np.where(top.low < 0, top.low / least, top.low / most)
        high = np.where(top.high > 0, top.high / least, top.high / most)
    return Band(
        np.clip(np.nan_to_num(low, nan=-1.0), -1.0, 1.0),
        np.clip(np.nan_to_num(high, nan=1.0), -1.0, 1.0),
    )


def _sum(plan: Plan, cells: NoisyCells, index: int) -> Reals:
    return cells.measurement(index).astype(np.float64) * float(plan.measurements[index].grid)


def _rows(cells: NoisyCells, count: int, sample: bool) -> Reals:
    """Return the noisy count, or none where it is too small to divide by."""
    rows = cells.measurement(count).astype(np.float64)
    return np.where(rows < (2 if sample else 1), np.nan, rows)


def _finished(found: Reals, rows: Reals, sample: bool, rooted: bool) -> Reals:
    if sample:
        found = found * rows / (rows - 1)
    return np.sqrt(found) if rooted else found


def _finished_band(band: Band, rows: Band, sample: bool, rooted: bool) -> Band:
    if sample:
        # n / (n - 1) falls as n grows: the larger end of a band that may be negative is either
        most, least = rows.low / (rows.low - 1), rows.high / (rows.high - 1)
        band = Band(
            np.where(band.low < 0, band.low * most, band.low * least),
            np.where(band.high > 0, band.high * most, band.high * least),
        )
    return Band(np.sqrt(band.low), np.sqrt(band.high)) if rooted else band


def _reach(estimate: VarianceOf) -> tuple[float, float]:
    return -float(estimate.half), float(estimate.half)


def _at_least(rows: Band, fewest: float) -> Band:
    """Return a count that is known to be large enough to divide by."""
    return Band(np.maximum(rows.low, fewest), np.maximum(rows.high, fewest))


def _point(value: Reals | float) -> Band:
    exact = np.asarray(value, dtype=np.float64)
    return Band(exact, exact)
