"""Closed forms of delta for a k-truncated histogram: Poisson and binomial sampling.

The protected person is in the sample. The released cell shows c + 1 (with the person) or c
(without), and 0 below k. Direction 1 compares with against without, direction 2 the reverse. Both
are maximised over the size of the cell, exactly:

Poisson, over its mean:      P(C ≥ k−1) − g·P(C ≥ k) at mean (k−1)/g,
                             P(C ≤ k−1) − g·P(C ≤ k−2) at mean (k−1)·g;
binomial with rate p, over its population m: the same at
                             m₁ = k−2 + ⌈(k−1)(1−p)/(g·p)⌉ and m₂ = k−2 + ⌈g·(k−1)(1−p)/p⌉.

Both fall as k rises. With V_k(m) either difference, one more member of the population gives
V_{k+1}(m) = p·V_k(m−1) + (1−p)·V_{k+1}(m−1), so at the best m, max V_{k+1} ≤ p·max V_k +
(1−p)·max V_{k+1}, that is max V_{k+1} ≤ max V_k. For Poisson numbers the derivative of V_{k+1} in the
mean is V_k − V_{k+1}, which is 0 at the maximum.

The differences are summed as series of positive terms whose ratios are rational, from a first term
computed in balls; the rounding of the float sums is bounded by counting operations.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sanql.mechanisms.noiseless.numbers import (
    SMALLEST,
    UNIT_ROUNDOFF,
    as_ball,
    grown,
    upper,
)
from sanql.mechanisms.noiseless.precision import precision

if TYPE_CHECKING:
    from flint import arb

_PRECISION = 192
_TERMS_MAX = 4_000_000


def poisson_deltas(threshold: int, epsilon: Fraction) -> tuple[float, float]:
    """Return upper bounds of delta in both directions for Poisson sampling.

    >>> [f"{delta:.6e}" for delta in poisson_deltas(26, Fraction(1))]
    ['6.949633e-07', '4.298246e-11']
    """
    from flint import arb

    if threshold <= 1:
        return 1.0, 1.0
    k = threshold
    with precision(_PRECISION):
        g = as_ball(epsilon).exp()
        thin, thick = (k - 1) / g, (k - 1) * g
        terms = _terms(k, float(epsilon))
        j = np.arange(terms, dtype=np.float64)
        up = float(thin) / (k + j)
        first = (-thin + (k - 1) * thin.log() - arb(k).lgamma()).exp()
        one = _series(first, up, (j + 1) / (k + j), 0.0)
        if k == 2:
            return one, upper((-thick).exp())
        j = j[: k - 1]
        down = (k - 2 - j) / float(thick)
        first = (-thick + (k - 2) * thick.log() - arb(k - 1).lgamma()).exp()
        two = _series(first, down, (j + 1) / (k - 1), 0.0)
        return one, two


def binomial_deltas(threshold: int, epsilon: Fraction, rate: Fraction) -> tuple[float, float]:
    """Return upper bounds of delta in both directions for sampling at a rate below 1.

    >>> [f"{delta:.6e}" for delta in binomial_deltas(60, Fraction(1), Fraction(1, 2))]
    ['9.833613e-07', '4.880088e-14']
    """
    if threshold <= 1:
        return 1.0, 1.0
    with precision(_PRECISION):
        return direction_one(threshold, as_ball(epsilon), rate), direction_two(
            threshold, as_ball(epsilon), rate
        )


def direction_one(threshold: int, level: arb, rate: Fraction) -> float:
    """Return sup over m of P(C ≥ k−1) − g·P(C ≥ k), C ~ Bin(m, rate), g = e^level.

    It grows with the rate: at the best m its derivative in the rate, m·[b(k−2) − g·b(k−1)] with
    m − 1 trials, is positive because m₁ < k−1 + (k−1)(1−p)/(g·p), and a maximum of growing
    functions grows.
    """
    k, g = threshold, level.exp()
    p, q = float(rate), float(1 - rate)
    worst = 0.0
    for whole in _ceilings((k - 1) * as_ball((1 - rate) / rate) / g):
        m = k - 2 + max(1, whole)
        j = np.arange(min(m + 2 - k, _terms(k, float(level))), dtype=np.float64)
        up = (m + 1 - k - j) * p / ((k + j) * q)
        worst = max(worst, _series(_mass(m, rate, k - 1), up, None, float(g)))
    return worst


def direction_two(threshold: int, level: arb, rate: Fraction) -> float:
    """Return sup over m of P(C ≤ k−1) − g·P(C ≤ k−2), C ~ Bin(m, rate), g = e^level."""
    k, g = threshold, level.exp()
    p, q = float(rate), float(1 - rate)
    worst = 0.0
    for whole in _ceilings((k - 1) * as_ball((1 - rate) / rate) * g):
        m = k - 2 + max(1, whole)
        j = np.arange(min(k, _terms(k, float(level))), dtype=np.float64)
        c = k - 1 - j
        down = c * q / ((m + 1 - c) * p)
        worst = max(worst, _series(_mass(m, rate, k - 1), down, None, float(g)))
    return worst


def _series(first: arb, ratios: np.ndarray, factors: np.ndarray | None, g: float) -> float:
    """Return first·Σ_j (Π_{i<j} ratio_i)·factor_j; factor_j is 1 − g·ratio_j if not given.

    Ratios fall, so what follows the last term is below a geometric series.
    """
    weights = np.concatenate([[1.0], np.cumprod(ratios[:-1])])
    if factors is None:
        factors = np.maximum(1 - g * ratios, 0.0) + 16 * UNIT_ROUNDOFF
    total = float((weights * factors).sum())
    last = float(ratios[-1])
    if last > 0:
        rest = weights[-1] * last / (1 - min(last, 1 - 1e-9))
        total += float(rest)
    return max(upper(first) * grown(total, 10 * len(ratios) + 32), SMALLEST)


def _terms(threshold: int, epsilon: float) -> int:
    """Return how many terms reach far below the digits of a float."""
    gaussian = 14 * math.sqrt(threshold) + 400
    return int(min(gaussian, 90 / max(epsilon, 1e-9) + 100, _TERMS_MAX))


def _ceilings(value: arb) -> list[int]:
    """Return the ceiling of a ball: one whole number, or the two it may be."""
    ends = (value.lower().ceil().unique_fmpz(), value.upper().ceil().unique_fmpz())
    return sorted({int(end) for end in ends if end is not None})


def _mass(trials: int, rate: Fraction, successes: int) -> arb:
    """Return P(C = successes), C ~ Bin(trials, rate)."""
    from flint import arb

    ways = arb(trials + 1).lgamma() - arb(successes + 1).lgamma()
    ways -= arb(trials - successes + 1).lgamma()
    p = as_ball(rate)
    return (ways + successes * p.log() + (trials - successes) * (1 - p).log()).exp()
