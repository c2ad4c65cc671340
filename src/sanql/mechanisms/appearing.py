"""How small the count behind a key may be, given that the key appears.

A key is shown because its noisy count y = n + Z reached a threshold, and the same y is shown beside it.
Over all keys y ± w holds; over those that are *shown* it does not, for a small count is only seen when
noise lifted it. Given that it is shown, y has the law of n + Z cut off below the threshold t, and

    g(n) = P(n + Z ≥ y | n + Z ≥ t) = P(Z ≥ y - n) / P(Z ≥ t - n)

rises with n, since the noise is log-concave (its tails fall ever faster, so that moving both by one
helps the further tail more). The least n with g(n) > alpha/2 is therefore a lower end that exceeds the
true count with probability at most alpha/2 among answers in which the key is shown. The upper end
needs nothing: what is cut off lies below y, so P(n + Z ≤ y | n + Z ≥ t) is at most P(n + Z ≤ y), and
y + w, made for the latter, is above the one made for the former.

A key that nobody has is never a candidate, so n is at least 1. Tails are computed in floating point, with
a relative error far below `SLACK`, by which the comparison errs to the smaller n. Where both are too
small for it, as far below a threshold that was raised, g is held against a bound: 0 for noise that cannot
reach that far, exp(-d / b) for Laplace noise, and exp(-(d a + d²/2) / sigma²) for Gaussian noise with
a = t - n and d = y - t, as each term of the further tail is that much smaller than its fellow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, NoNoise, TruncatedGeometric

SLACK = 1e-6
HALVINGS = 64  # counts have no more bits
SUMMED_MAX = 10**5  # sigma up to which a Gaussian's mass is summed up, number by number
REACH = 39  # in sigmas: beyond, the mass is below the smallest double

Reals = NDArray[np.float64]
Tail = Callable[[Reals], Reals]
Selecting = NoNoise | DiscreteLaplace | DiscreteGaussian | TruncatedGeometric


def least_counts(
    noise: Selecting, threshold: int, shown: NDArray[np.int64], confidence: Fraction
) -> Reals:
    """Return the lower ends of two-sided intervals for counts that reached the threshold.

    >>> from sanql.mechanisms.selection import truncated_geometric
    >>> noise = truncated_geometric(Fraction(1), Fraction(1, 10**6))
    >>> noise.limit, least_counts(noise, 15, np.array([15, 16, 25, 90]), Fraction(95, 100)).tolist()
    (14, [1.0, 2.0, 22.0, 87.0])
    """
    if isinstance(noise, NoNoise):
        return shown.astype(np.float64)
    values, places = np.unique(shown.astype(np.float64), return_inverse=True)
    tail = _tail_of(noise)
    enough = float((1 - confidence) / 2) * (1 - SLACK)
    low = np.zeros(len(values))  # too few, or nobody
    high = np.maximum(values, 1.0)  # enough: noise is as often below as above
    with np.errstate(all="ignore"):
        for _ in range(HALVINGS):
            open_ = high - low > 1
            if not open_.any():
                break
            middle = np.floor((low + high) / 2)
            ratio = tail(values - middle) / tail(threshold - middle)
            beyond = _ratio_upper(noise, threshold - middle, values - threshold)
            is_enough = np.where(np.isnan(ratio), beyond, ratio) > enough
            high = np.where(open_ & is_enough, middle, high)
            low = np.where(open_ & ~is_enough, middle, low)
    return high[places]


def _tail_of(noise: DiscreteLaplace | DiscreteGaussian | TruncatedGeometric) -> Tail:
    """Return P(Z ≥ t) for whole numbers t, of either sign."""
    match noise:
        case DiscreteLaplace(scale):
            rate = 1 / float(scale)
            above: Tail = lambda t: np.exp(-rate * t) / (1 + math.exp(-rate))  # noqa: E731
        case TruncatedGeometric(epsilon, limit):
            above = _truncated(float(epsilon), float(limit))
        case DiscreteGaussian(sigma2):
            above = _gaussian(math.sqrt(sigma2))
        case _:
            assert_never(noise)

    def tail(t: Reals) -> Reals:
        beyond = above(np.where(t >= 1, t, 1 - t))
        return np.where(t >= 1, beyond, 1 - beyond)

    return tail


def _ratio_upper(
    noise: DiscreteLaplace | DiscreteGaussian | TruncatedGeometric, above: Reals, further: Reals
) -> Reals:
    """Return an upper bound of P(Z ≥ a + d) / P(Z ≥ a) for a and d of at least zero."""
    match noise:
        case DiscreteLaplace(scale):
            return np.exp(-further / float(scale))
        case TruncatedGeometric():
            return np.zeros_like(above)  # its tail is 0 only where it cannot reach
        case DiscreteGaussian(sigma2):
            return np.exp(-(further * above + further**2 / 2) / float(sigma2))
        case _:
            assert_never(noise)


def _truncated(epsilon: float, limit: float) -> Tail:
    whole = -math.expm1(-epsilon * (limit + 1)) - math.exp(-epsilon) * math.expm1(-epsilon * limit)

    def above(t: Reals) -> Reals:
        left = np.maximum(limit + 1 - t, 0.0)
        return np.exp(-epsilon * t) * -np.expm1(-epsilon * left) / whole

    return above


def _gaussian(sigma: float) -> Tail:
    if sigma > SUMMED_MAX:  # then the sum is the integral, up to a relative (REACH / sigma)²
        scaled = np.vectorize(lambda z: math.erfc(z / math.sqrt(2)) / 2, otypes=[np.float64])
        return lambda t: scaled((t - 0.5) / sigma)
    masses = np.exp(-0.5 * (np.arange(math.ceil(REACH * sigma) + 2) / sigma) ** 2)
    sums = np.cumsum(masses[::-1])[::-1]
    whole = 2 * sums[0] - masses[0]
    return lambda t: sums[np.minimum(t, len(sums) - 1).astype(np.int64)] / whole
