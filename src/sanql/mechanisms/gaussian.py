"""Exact draws with mass falling like a bell on both sides of zero.

As in geometric.py an integer is k = m or k = -1-m by its sign bit s, so that |k| = m + s. Let
m = h·L + l with l below the block length L, a power of two, a sixteenth to a thirty-second of
sigma. A wheel proposes (h, s) with weight exp(-(h·L + s)²/(2·sigma2)), the block's largest; l is
uniform bits; and the proposal is kept with probability exp(-gamma), where
gamma = l·(2·h·L + 2·s + l)/(2·sigma2), which makes the product exactly exp(-k²/(2·sigma2)). About
one in fifty is dropped. For a small sigma L is 1, l is 0 and the wheel is the distribution itself.

Keeping means a uniform U lies below exp(-gamma). Sixteen digits of U and a fixed-point upper
bound of gamma settle most lanes, since exp(-gamma) ≥ 1 - gamma; partial sums of the alternating
series, which bound exp(-gamma) from both sides, settle most others; whatever still straddles is
settled with exact rationals and more digits of U. Each test only ever answers when it is certain,
so the decision is that of the infinite expansion and no rounding enters.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sanql.entropy import Entropy
from sanql.mechanisms.enclosure import exp_minus
from sanql.mechanisms.geometric import SATURATION
from sanql.mechanisms.wheel import Integers, Weights, Wheel

_BLOCKS = 16  # blocks in one sigma: from this many to twice as many

_WORD = 16  # digits of U, and of l/L, in the fixed-point tests
_RATE = 28  # digits of L²/(2·sigma2)
_GAMMA = 2 * _WORD + _RATE  # digits of gamma: 60
_SERIES = 30  # digits of the series
_BLOCK_LIMIT = 1 << 8  # below it gamma is at most about 1; other lanes go to the exact test


def draw_gaussian(sigma2: Fraction, entropy: Entropy, count: int) -> Integers:
    """Return draws with P(k) ∝ exp(-k²/(2·sigma2)), saturated at ±2^62, at most `count` of them."""
    below = max(0, (isqrt(sigma2.numerator // sigma2.denominator) // _BLOCKS).bit_length() - 1)
    symbols = _block_wheel(sigma2, below).spin(entropy, count)
    sign, block = symbols & 1, symbols >> 1
    low = _uniform_bits(entropy, below, count)
    size = (np.minimum(block, SATURATION >> below) << below) + low
    values: Integers = np.minimum(size, SATURATION - 1) ^ -sign
    if below:
        values = values[_kept(sigma2, below, _Proposals(sign, block, low), entropy)]
    return values


@lru_cache(maxsize=64)
def _block_wheel(sigma2: Fraction, below: int) -> Wheel:
    return Wheel(lambda bits: _block_weights(sigma2, below, bits))


def _block_weights(sigma2: Fraction, below: int, bits: int) -> Weights:
    """Return the weights exp(-(h·L + s)²/(2·sigma2)) of the symbols 2h + s.

    From h to h+1 the exponent grows by L·(L + 2·s + 2·h·L)/(2·sigma2), so the factor between
    neighbours shrinks by exp(-L²/sigma2) each time and two products give the next weight. Past the
    last weight listed the factors only shrink further: a geometric series bounds the rest.
    """
    length = 1 << below
    shrink = exp_minus(length * length / sigma2, bits)
    weight = [exp_minus(sign / (2 * sigma2), bits) for sign in (0, 1)]
    factor = [exp_minus(length * (length + 2 * sign) / (2 * sigma2), bits) for sign in (0, 1)]
    listed = weight[:]
    while weight[0].lower:
        weight = [weight[sign] * factor[sign] for sign in (0, 1)]
        factor = [factor[sign] * shrink for sign in (0, 1)]
        listed += weight
    last, ratio = weight[0].upper, factor[0].upper
    rest = -(-2 * last * ratio // ((1 << bits) - ratio))
    return Weights([each.lower for each in listed], [each.upper for each in listed], max(1, rest))


def _uniform_bits(entropy: Entropy, width: int, count: int) -> Integers:
    """Return `count` uniform integers of `width` binary digits."""
    if width == 0:
        return np.zeros(count, dtype=np.int64)
    size = 2 if width <= 16 else 4 if width <= 32 else 8
    words = np.frombuffer(entropy.bytes(size * count), dtype=f"<u{size}")
    return (words >> (8 * size - width)).astype(np.int64)


class _Proposals(NamedTuple):
    sign: Integers
    block: Integers
    low: Integers


def _kept(
    sigma2: Fraction, below: int, proposals: _Proposals, entropy: Entropy
) -> NDArray[np.bool_]:
    """Return, for each proposal, whether a uniform real falls below exp(-gamma)."""
    sign, block, low = proposals
    words = np.frombuffer(entropy.bytes(2 * block.size), dtype="<u2").astype(np.int64)
    rate = (1 << 2 * below) / (2 * sigma2) * (1 << _RATE)
    part = low >> (below - _WORD) if below > _WORD else low << (_WORD - below)
    reach = (np.minimum(block, _BLOCK_LIMIT) << (_WORD + 1)) + part + (sign << (_WORD + 1) >> below)
    gamma_upper = (part + 1) * (reach + 2) * ceil(rate)
    within = block < _BLOCK_LIMIT
    kept: NDArray[np.bool_] = (
        (words + 1 << (_GAMMA - _WORD)) + gamma_upper <= 1 << _GAMMA
    ) & within

    lanes = np.flatnonzero(~kept)
    gamma_lower = part[lanes] * reach[lanes] * floor(rate)
    sure, unsure = _compare(words[lanes], gamma_lower, gamma_upper[lanes])
    unsure |= ~within[lanes]
    kept[lanes] = sure & ~unsure
    for lane in lanes[unsure]:
        l, h, s = int(low[lane]), int(block[lane]), int(sign[lane])  # noqa: E741  (the docstring's)
        gamma = l * ((h << (below + 1)) + 2 * s + l) / (2 * sigma2)
        kept[lane] = _below_exp(int(words[lane]), gamma, entropy)
    return kept


def _compare(
    words: Integers, gamma_lower: Integers, gamma_upper: Integers
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which lanes are surely kept, and which cannot be told from sixteen digits.

    exp(-x) lies between 1 - x + x²/2 - x³/6 and that plus x⁴/24 for every x ≥ 0. Each product below
    is short by a few units at most; eight units either way cover them all.
    """
    slack, cell = 8, _SERIES - _WORD
    high = _cubic((gamma_upper >> (_GAMMA - _SERIES)) + 1) - slack
    x = gamma_lower >> (_GAMMA - _SERIES)
    square = x * x >> _SERIES
    above = _cubic(x) + (square * square >> _SERIES) // 24 + slack
    surely_kept = words + 1 << cell <= high
    surely_dropped = words << cell >= above
    return surely_kept, ~(surely_kept | surely_dropped)


def _cubic(x: Integers) -> Integers:
    square = x * x >> _SERIES
    value: Integers = (1 << _SERIES) - x + (square >> 1) - (square * x >> _SERIES) // 6
    return value


def _below_exp(cell: int, gamma: Fraction, entropy: Entropy) -> bool:
    """Return whether a uniform real that begins with the digits `cell` is below exp(-gamma)."""
    bits = _WORD
    while True:
        edge = exp_minus(gamma, bits)
        if cell < edge.lower:
            return True
        if cell >= edge.upper:
            return False
        cell = cell << 64 | int.from_bytes(entropy.bytes(8), "little")
        bits += 64
