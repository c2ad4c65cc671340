"""Intervals of a variance by the law of all its noises together.

Let N values be x, u the mean of x - c, and V their variance; S₁ and S₂ the exact sums of x - c and of
(x - c)² - e. With d = N, or N - 1 where V is that of a sample,

    S₂ - 2u S₁ + (u² + e) N - d V = 0,

so with what is seen of the three it is Z₂ - 2u Z₁ + (u² + e - V) Z₀ for their noises. Whatever the data
are, that is within w(u, V) with the chance that is allowed for it, and S₁ - u N, with what is seen of
both, is Z₁ - u Z₀, within w'(u). The interval is of all V such that both hold for some u: they do for
the true ones, with the confidence asked for (Fieller's method, as for averages in quotients.py). One
part in twelve of what may be missed is for u: what it is off by enters squared.

It is found by halving in: where u and V must lie between some ends, w and w' are at most what they are
at the furthest of these, which leaves narrower ends. That holds of every round, so that it does not
matter how many there are.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sanql.measurements import Band, Reals
from sanql.statistics.noisy import NoisyMeasurements

MEAN_PARTS = 12
ROUNDS = 5


def variance_band(
    noisy: NoisyMeasurements,
    places: tuple[int, int, int],
    largest: float,
    less: int,
    confidence: Fraction,
) -> Band | None:
    """Return the interval of a variance from sums of values and squares and a count, at these places.

    `less` is what is taken off the number of rows; a variance is never above the largest. None where no
    law of the three noises is known.
    """
    enough = noisy.reals(places[2]) - less >= 1
    missed = 1 - confidence
    means = _means(noisy, places, less, 1 - missed / MEAN_PARTS)
    if means is None:
        return None
    found = Band(np.zeros(noisy.count), np.full(noisy.count, largest))
    for _ in range(ROUNDS):
        narrower = _nearer(noisy, places, less, means, found, 1 - missed + missed / MEAN_PARTS)
        if narrower is None:
            return None
        found = narrower
    return Band(np.where(enough, found.low, 0.0), np.where(enough, found.high, largest))


def _means(
    noisy: NoisyMeasurements, places: tuple[int, int, int], less: int, confidence: Fraction
) -> Band | None:
    """Return between which ends u lies."""
    first, _, count = places
    part, sums = noisy.measurement(first), noisy.reals(first)
    rows = np.maximum(noisy.reals(count), 1.0 + less)
    means = Band(*(np.full(noisy.count, float(end * part.grid)) for end in (part.low, part.high)))
    for _ in range(ROUNDS):
        weights = {first: np.ones(1), count: _furthest(means)}
        reach = noisy.noise.reaches_of_form(weights, confidence)
        if reach is None:
            return None
        means = _kept(means, (sums - reach) / rows, (sums + reach) / rows)
    return means


def _nearer(
    noisy: NoisyMeasurements,
    places: tuple[int, int, int],
    less: int,
    means: Band,
    found: Band,
    confidence: Fraction,
) -> Band | None:
    """Return between which ends V lies where it lies between those that are found."""
    first, second, count = places
    sums, squares, middle = noisy.reals(first), noisy.reals(second), noisy.centre(second)
    rows = np.maximum(noisy.reals(count), 1.0 + less)
    furthest, nearest = _furthest(means), np.clip(0.0, means.low, means.high)
    weight = np.maximum(
        np.abs(furthest**2 + middle - found.low), np.abs(nearest**2 + middle - found.high)
    )
    weights = {second: np.ones(1), first: 2 * furthest, count: weight}
    reach = noisy.noise.reaches_of_form(weights, confidence)
    if reach is None:
        return None
    least, *most = (
        squares - 2 * u * sums + (u * u + middle) * rows
        for u in (np.clip(sums / rows, means.low, means.high), means.low, means.high)
    )
    divisor = rows - less
    return _kept(found, (least - reach) / divisor, (np.maximum(*most) + reach) / divisor)


def _furthest(means: Band) -> Reals:
    return np.maximum(np.abs(means.low), np.abs(means.high))


def _kept(band: Band, low: Reals, high: Reals) -> Band:
    """Return what two bands share; where that is nothing, the end of the first that is nearer."""
    return Band(np.clip(low, band.low, band.high), np.clip(high, band.low, band.high))
