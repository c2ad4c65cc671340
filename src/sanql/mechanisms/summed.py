"""Tails of the sum of several draws of one noise: what the interval of a sum of noisy cells needs.

*Discrete Gaussian.* The sum of n draws has nearly the law of one draw of n times the variance: the
logarithms of their probabilities differ by at most 10 Σ_{k<n} exp(-2π² σ² k/(k+1)) (Kairouz, Liu and
Steinke, ICML 2021), by which the tail is enclosed. Where that is not next to nothing, σ is so small
that the sum is convolved like the other:

*Discrete Laplace.* Each draw Z is rounded up to a multiple of a width w, which makes the sum no
smaller; the n-fold convolution of that law is computed by Fourier transform, and what floating point
and the ends of the array may have taken is added to its tails. Rounded down, the law is the mirror
image, and the sum is no larger: that encloses the tail from below. How far the array must reach is
Chernoff's bound: at t = c/s, c < 1, E exp(tZ) = (cosh(1/s) - 1) / (cosh(1/s) - cosh(c/s)) is at most
1/(1 - c²), as the series of cosh shows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms.enclosure import Enclosure
from sanql.mechanisms.tails import gaussian_tail

BINS_MAX = 2**16
BEYOND = 1e-15  # how likely the sum is to be off either end of the array
SLACK = 1e-11  # floating point, with room to spare
DIFFERENCE_MAX = 1e-3  # of logarithms, up to which a sum of Gaussian draws is taken for one draw

Masses = NDArray[np.float64]


def summed_gaussian_tail(sigma2: Fraction, count: int, t: int, bits: int) -> Enclosure:
    """Return P(Z ≥ t), t ≥ 1, for the sum of draws with mass ∝ exp(-k²/(2·sigma2))."""
    difference = _difference(sigma2, count)
    if difference is None:
        return _enclosed(1, _gaussian_above(sigma2, count), t, bits)
    one = gaussian_tail(count * sigma2, t, bits)
    less, more = Fraction(1 - difference), Fraction(1 + 2 * difference)
    return Enclosure(math.floor(one.lower * less), math.ceil(one.upper * more), bits)


def summed_laplace_tail(scale: Fraction, count: int, t: int, bits: int) -> Enclosure:
    """Return P(Z ≥ t), t ≥ 1, for the sum of draws with mass ∝ exp(-|k|/scale)."""
    return _enclosed(*_laplace_above(scale, count), t, bits)


def _enclosed(width: int, above: Masses, t: int, bits: int) -> Enclosure:
    """Return the tail enclosed by those of draws rounded up, and down; multiple 0 is in the middle."""
    place, middle = -(-t // width), above.size // 2
    inside = place < middle
    upper = float(above[middle + place]) if inside else 0.0
    lower = 1 - float(above[middle + 1 - place]) if inside else 0.0
    return Enclosure(
        math.floor(Fraction(max(0.0, lower - SLACK)) * (1 << bits)),
        math.ceil(Fraction(upper + SLACK) * (1 << bits)),
        bits,
    )


@lru_cache(maxsize=256)
def _difference(sigma2: Fraction, count: int) -> float | None:
    """Return by how much the logarithms of probabilities of a sum and of one draw differ, if little."""
    if sigma2 < 1:
        return None
    rate = 2 * math.pi**2 * float(sigma2)
    first = math.fsum(math.exp(-rate * k / (k + 1)) for k in range(1, min(count, 64)))
    others = max(0, count - 64) * math.exp(-rate * 64 / 65)
    difference = 10 * (first + others) * (1 + 1e-9)
    return difference if difference <= DIFFERENCE_MAX else None


@lru_cache(maxsize=64)
def _gaussian_above(sigma2: Fraction, count: int) -> Masses:
    """Return how likely a sum of narrow Gaussian draws is at least each whole number."""
    reach = math.sqrt(-2 * math.log(BEYOND) * count * float(sigma2))  # it is subgaussian
    half = 1 << math.ceil(math.log2(max(reach, 40.0) + 2))
    places = np.arange(-half, half, dtype=np.float64)
    masses = np.exp(-(places**2) / float(2 * sigma2))
    return _summed_above(masses / masses.sum(), count)


@lru_cache(maxsize=64)
def _laplace_above(scale: Fraction, count: int) -> tuple[int, Masses]:
    """Return a width, and how likely a sum of draws rounded up is at least each of its multiples."""
    share = min(0.5, 1 / math.sqrt(count))
    spent = -count * math.log1p(-(share**2)) - math.log(BEYOND)
    reach = spent * float(scale) / share
    width = max(1, math.ceil(reach / BINS_MAX))
    half = 1 << math.ceil(math.log2(reach / width + count + 2))
    return width, _summed_above(_laplace_rounded_up(scale, width, half), count)


def _laplace_rounded_up(scale: Fraction, width: int, half: int) -> Masses:
    """Return the law of a draw rounded up to a multiple of the width, from -half to half - 1 of them."""
    rate = float(1 / scale)
    steps = np.arange(half + 1, dtype=np.float64) * width
    reaching = np.exp(-rate * steps) / (1 + math.exp(-rate))  # P(Z >= step), but for step 0
    beyond = np.exp(-rate * (steps + 1)) / (1 + math.exp(-rate))  # P(Z > step)
    law = np.zeros(2 * half)
    law[half + 1 :] = beyond[: half - 1] - beyond[1:half]  # (k-1)w < Z <= kw
    law[half] = 1 - beyond[0] - reaching[1]  # -w < Z <= 0
    law[1:half] = (reaching[1:half] - reaching[2 : half + 1])[::-1]  # kw <= -Z < (k+1)w
    return law


def _summed_above(law: Masses, count: int) -> Masses:
    """Return how likely the sum of so many draws is at least each place; 0 is in the middle."""
    half = law.size // 2
    transformed = np.fft.rfft(np.roll(law, -half))  # place 0 first, negative ones at the end
    masses = np.roll(np.fft.irfft(transformed**count, law.size), half)
    return np.asarray(np.cumsum(np.maximum(masses, 0.0)[::-1])[::-1])
