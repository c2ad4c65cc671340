"""How far a noise and the square of another one reach together: what one end of a variance rests on.

P(Z + b Z'² > h), b >= 0, is the mean of P(Z > h - b k²) over k = |Z'|, which grows with k. So |Z'| may be
taken for the upper end of the range that it is in, of some ranges from k₁ < k₂ < … on: summed by parts,

    P <= g₁ + Σ P(|Z'| >= kᵢ) (gᵢ₊₁ - gᵢ),   gᵢ = P(Z > h - b (kᵢ - 1)²), and 1 for the last,

in which every tail may be larger than it is. P(Z >= t) is at most that of a continuous noise of the same
scale beyond t - 1/2 (two_noises.py has the proof).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

_RANGES = 96
_RARE = 1000  # times less likely than what may be missed is what lies beyond all ranges
_HALVINGS = 30
_SLACK = 1 + 1e-9  # floating point, with room to spare


@lru_cache(maxsize=256)
def reach_with_square(
    noise: DiscreteLaplace | DiscreteGaussian,
    squared: DiscreteLaplace | DiscreteGaussian,
    weight: float,
    probability: Fraction,
) -> float:
    """Return an h with P(Z + weight · Z'² > h) <= probability, for Z' the noise that is squared.

    >>> laplace = DiscreteLaplace(Fraction(100))
    >>> [round(reach_with_square(laplace, laplace, b, Fraction(1, 40))) for b in (0.0, 0.01)]
    [300, 1441]
    """
    furthest = squared.half_width(1 - probability / _RARE) + 1
    starts = np.unique(np.linspace(1, furthest, _RANGES).astype(np.int64))
    reaching = [2 * float(squared.tail_upper(int(start))) for start in starts]
    shifts = weight * (starts - 1.0) ** 2
    most = float(probability) / _SLACK

    def chance(h: float) -> float:
        beyond = np.append(_beyond(noise, h - shifts), 1.0)
        return float(beyond[0] + np.dot(reaching, np.diff(beyond)))

    low, high = 0.0, float(noise.half_width(1 - probability / 4) + 1 + shifts[-1])
    while chance(high) > most:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle) <= most else (middle, high)
    return high


def _beyond(
    noise: DiscreteLaplace | DiscreteGaussian, ends: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Return at least P(Z > end) for each end."""
    beyond = np.floor(ends) + 0.5  # the least whole number beyond an end, less a half
    match noise:
        case DiscreteLaplace(scale):
            tails = np.exp(-np.maximum(beyond, 0.0) / float(scale)) / 2
        case DiscreteGaussian(sigma2):
            deviation = math.sqrt(2 * float(sigma2))
            tails = np.array([math.erfc(max(end, 0.0) / deviation) / 2 for end in beyond])
    return np.where(beyond > 0, tails, 1.0)
