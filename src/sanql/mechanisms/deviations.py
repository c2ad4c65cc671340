"""How far a weighted sum of independent noises can reach: Chernoff's bound, at its best rate.

P(Σ aᵢ Zᵢ ≥ x) ≤ exp(-t·x) Π E exp(t·aᵢ·Zᵢ) for every t > 0. Any t gives a valid bound, so the search for
the best one needs no care; the result is rounded up by a part in a billion for the floating point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from sanql.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Noise, NoNoise

_GOLDEN = (math.sqrt(5) - 1) / 2


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
