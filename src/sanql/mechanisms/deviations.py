"""How far a weighted sum of independent noises can reach: Chernoff's bound, at its best rate.

P(Σ aᵢ Zᵢ ≥ x) ≤ exp(-t·x) Π E exp(t·aᵢ·Zᵢ) for every t > 0. Any t gives a valid bound, so the search for
the best one needs no care; the result is rounded up by a part in a billion for the floating point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Noise, NoNoise

_GOLDEN = (math.sqrt(5) - 1) / 2
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
    50.1
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
    """Return the bound for discrete Laplace noise, E exp(t·Z) = (1-r)²/((1 - r·eᵗ)(1 - r/eᵗ))."""
    most = rate / max(weight for weight, _ in weights)

    def reached(share: float) -> float:
        t = share * most
        spent = math.fsum(count * _log_moment(rate, t * weight) for weight, count in weights)
        return (spent - math.log(probability)) / t

    low, high = 1e-6, 1 - 1e-9
    for _ in range(80):
        a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if reached(a) <= reached(b):
            high = b
        else:
            low = a
    return reached((low + high) / 2)


def _log_moment(rate: float, t: float) -> float:
    return (
        2 * math.log(-math.expm1(-rate))
        - math.log(-math.expm1(t - rate))
        - math.log(-math.expm1(-t - rate))
    )
