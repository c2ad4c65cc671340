"""How far a weighted sum of independent noises can reach: Chernoff's bound, at its best rate.

P(Σ aᵢ Zᵢ ≥ x) ≤ exp(-t·x) Π E exp(t·aᵢ·Zᵢ) for every t > 0. Any t gives a valid bound, so the search for
the best one needs no care; the result is rounded up by a part in a billion for the floating point.

Where few sums are looked at, discrete Laplace noise is convolved instead (`quantile_upper`): each aᵢ·Zᵢ
is rounded up to a multiple of a small width, which makes the sum no smaller, and the law of the sum of
these is computed by Fourier transform. What floating point and the ends of the array may have taken is
added to its tail. Chernoff's bound says how far the array must reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Noise, NoNoise

BINS = 2**14
BEYOND = 1e-15  # how likely the sum is to be off either end of the array
SLACK = 1e-11  # floating point, with room to spare
_AROUND = np.array([0.6, 0.75, 0.9, 1.0, 1.1])
_SHARES = 1 - 0.5 ** np.linspace(
    0.1, 7, 12
)  # of the largest rate, at which sums of many are bounded


@lru_cache(maxsize=4096)
def deviation_upper(
    noise: Noise, weights: tuple[tuple[float, int], ...], probability: float
) -> float:
    """Return an x that Σ aᵢ Zᵢ reaches with at most this probability; weights are (a, how many).

    >>> from fractions import Fraction
    >>> round(deviation_upper(DiscreteLaplace(Fraction(10)), ((1.0, 1),), 0.05), 1)
    50.2
    """
    used = [(abs(weight), count) for weight, count in weights if weight and count]
    if not used or isinstance(noise, NoNoise):
        return 0.0
    match noise:
        case DiscreteGaussian(sigma2):
            # the discrete Gaussian's moments are at most the continuous one's
            variance = float(sigma2) * math.fsum(count * weight**2 for weight, count in used)
            return math.sqrt(-2 * math.log(probability) * variance) * (1 + 1e-9)
        case DiscreteLaplace(scale):
            return _laplace(float(1 / scale), used, probability) * (1 + 1e-9)
        case _:
            raise AssertionError(f"sums of {noise} are not bounded here")


@lru_cache(maxsize=4096)
def quantile_upper(
    noise: Noise, weights: tuple[tuple[float, int], ...], probability: float
) -> float:
    """Return what `deviation_upper` does, nearer to the least there is, and slower.

    >>> from fractions import Fraction
    >>> round(quantile_upper(DiscreteLaplace(Fraction(10)), ((1.0, 1),), 0.05), 1)
    23.1
    """
    beyond = deviation_upper(noise, weights, probability)
    used = [(abs(weight), count) for weight, count in weights if weight and count]
    if not used or not isinstance(noise, DiscreteLaplace):
        return beyond
    reach = deviation_upper(noise, weights, BEYOND)
    counted = sum(count for _, count in used)
    width = 2 * reach / (BINS - 4 * counted)  # rounding up moves the sum by less than one a draw
    transformed = np.ones(BINS // 2 + 1, dtype=np.complex128)
    for weight, count in used:
        law = _rounded_up(float(1 / noise.scale), weight / width)
        transformed *= np.fft.rfft(np.roll(law, -(BINS // 2))) ** count
    masses = np.roll(np.fft.irfft(transformed, BINS), BINS // 2)
    above = (
        np.cumsum(np.maximum(masses, 0.0)[::-1])[::-1] + SLACK
    )  # of the multiples from -BINS/2 on
    enough = np.flatnonzero(above <= probability)
    found = (int(enough[0]) - BINS // 2) * width if enough.size else beyond
    return min(beyond, max(found, 0.0) * (1 + 1e-9))


def _rounded_up(rate: float, weight: float) -> NDArray[np.float64]:
    """Return the law of weight · Z rounded up to a whole number, from -BINS/2 to BINS/2 - 1."""
    steps = np.floor((np.arange(-BINS // 2, BINS // 2) + 1e-9) / weight)  # the largest Z up to each
    tail = np.exp(-rate * (np.abs(np.where(steps < 0, steps, steps + 1)))) / (1 + math.exp(-rate))
    upto = np.where(steps < 0, tail, 1 - tail)
    upto[-1] = 1.0
    return np.diff(upto, prepend=0.0)


def deviations_upper(
    noises: Sequence[DiscreteLaplace], weights: NDArray[np.float64], probability: float
) -> NDArray[np.float64]:
    """Return, for each row of weights, an x that Σ aᵢ Zᵢ reaches with at most this probability.

    There is a noise for each column. Rates are tried on a grid, so that many sums are bounded at once,
    each a little less sharply.

    >>> from fractions import Fraction
    >>> noises = [DiscreteLaplace(Fraction(10)), DiscreteLaplace(Fraction(20))]
    >>> [round(float(x)) for x in deviations_upper(noises, np.eye(2), 0.05)]
    [50, 100]
    """
    rates = np.array([float(1 / noise.scale) for noise in noises])
    sizes = np.abs(weights)
    most = np.max(sizes / rates, axis=1, initial=0.0)  # of one over the largest rate there can be
    relative = sizes / np.where(most > 0, most, 1.0)[:, None]
    best = np.full(len(sizes), np.inf)
    for share in _SHARES:
        t = share * relative
        moments = -np.log(-np.expm1(t - rates)) - np.log(-np.expm1(-t - rates))
        spent = np.sum(moments + 2 * np.log(-np.expm1(-rates)), axis=1)
        best = np.minimum(best, (spent - math.log(probability)) / share)
    reached: NDArray[np.float64] = best * most * (1 + 1e-9)
    return reached


def _laplace(rate: float, weights: Sequence[tuple[float, int]], probability: float) -> float:
    """Return the bound for discrete Laplace noise, E exp(t·Z) = (1-r)²/((1 - r·eᵗ)(1 - r/eᵗ)).

    The best rate is near that of a normal distribution where draws are many, and near the largest there
    can be where they are few.
    """
    largest = max(weight for weight, _ in weights)
    relative = math.fsum(count * (weight / largest) ** 2 for weight, count in weights)
    normal = math.sqrt(-math.log(probability) / relative)
    shares = np.minimum(np.concatenate([_SHARES, normal * _AROUND]), _SHARES[-1])
    t = shares * rate / largest
    spent = np.zeros(t.size)
    for weight, count in weights:
        moments = -np.log(-np.expm1(t * weight - rate)) - np.log(-np.expm1(-t * weight - rate))
        spent += count * (moments + 2 * math.log(-math.expm1(-rate)))
    return float(np.min((spent - math.log(probability)) / t))
