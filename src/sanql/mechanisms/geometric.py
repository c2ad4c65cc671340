"""Exact draws with mass falling geometrically on both sides of zero, digit by digit.

Write the integer as k = m when its sign bit s is 0 and k = -1-m when it is 1, with m ≥ 0. Then
exp(-|k|·rate) = exp(-m·rate)·exp(-s·rate): sign and size are independent, and zero has only one
spelling, so nothing need be rejected. Write m in binary and exp(-m·rate) is again a product, one
factor for each group of digits: the groups are independent. So a draw is one wheel for the sign
and the leading digits together, and one wheel of at most 256 symbols for every eight digits
below. The number of wheels grows with the logarithm of the scale, and each is spun exactly
(wheel.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sanql.entropy import Entropy
from sanql.mechanisms.enclosure import exp_minus
from sanql.mechanisms.wheel import Integers, Weights, Wheel

SATURATION = 1 << 62

_DIGIT = 8
_LEADING = 16  # the leading wheel's own scale stays below this: a few hundred symbols


def draw_laplace(scale: Fraction, entropy: Entropy, count: int) -> Integers:
    """Return `count` draws with P(k) ∝ exp(-|k|/scale), saturated at ±2^62."""
    below = max(0, (scale.numerator // (scale.denominator * _LEADING)).bit_length())
    sign, size = _signed_geometric(1 / scale, below, None).draw(entropy, count)
    return size ^ -sign  # the complement of m is -1-m


def draw_geometric(scale: Fraction, entropy: Entropy, count: int) -> Integers:
    """Return `count` draws with P(k) ∝ exp(-k/scale) on k ≥ 0, saturated at 2^62."""
    below = max(0, (scale.numerator // (scale.denominator * _LEADING)).bit_length())
    return _signed_geometric(1 / scale, below, None).draw(entropy, count)[1]


def draw_truncated(epsilon: Fraction, limit: int, entropy: Entropy, count: int) -> Integers:
    """Return draws with P(k) ∝ exp(-epsilon·|k|) on [-limit, limit], at most `count` of them.

    Sizes are drawn below the next power of two and those beyond the limit are left out, which
    leaves the conditional distribution; at least a quarter survive.
    """
    width = limit.bit_length()
    below = max(0, width - _DIGIT)
    sign, size = _signed_geometric(epsilon, below, 1 << (width - below)).draw(entropy, count)
    return (size ^ -sign)[size <= limit - sign]


@dataclass(frozen=True)
class _SignedGeometric:
    leading: Wheel
    below: int
    digits: tuple[tuple[int, Wheel], ...]

    def draw(self, entropy: Entropy, count: int) -> tuple[Integers, Integers]:
        """Return independent sign bits and sizes."""
        symbols = self.leading.spin(entropy, count)
        sign = symbols & 1
        size = np.minimum(symbols >> 1, SATURATION >> self.below) << self.below
        for place, wheel in self.digits:
            size += wheel.spin(entropy, count) << place
        return sign, np.minimum(size, SATURATION - 1)


@lru_cache(maxsize=64)
def _signed_geometric(rate: Fraction, below: int, leading_size: int | None) -> _SignedGeometric:
    """Return the wheels for sizes with `below` digits under the leading wheel's (None: endless)."""
    places = range(0, below, _DIGIT)
    return _SignedGeometric(
        Wheel(lambda bits: _leading_weights(rate, below, leading_size, bits)),
        below,
        tuple((place, _digit_wheel(rate, place, min(_DIGIT, below - place))) for place in places),
    )


def _digit_wheel(rate: Fraction, place: int, width: int) -> Wheel:
    return Wheel(lambda bits: Weights(*powers(rate * (1 << place), 1 << width, bits), 0))


def _leading_weights(rate: Fraction, below: int, size: int | None, bits: int) -> Weights:
    """Return the weights exp(-(h·2^below + s)·rate) of the symbols 2h + s."""
    lower, upper = powers(rate * (1 << below), size, bits)
    negative = exp_minus(rate, bits)
    weights = Weights([], [], 0)
    for low, high in zip(lower, upper, strict=True):
        weights.lower.extend((low, low * negative.lower >> bits))
        weights.upper.extend((high, -(-high * negative.upper >> bits)))
    if size is not None:
        return weights
    # The powers left out sum to the last one times ratio / (1 - ratio), for either sign.
    ratio = exp_minus(rate * (1 << below), bits).upper
    rest = -(-2 * upper[-1] * ratio // ((1 << bits) - ratio))
    return weights._replace(rest_upper=max(1, rest))


def powers(rate: Fraction, size: int | None, bits: int) -> tuple[list[int], list[int]]:
    """Return enclosures of 1, exp(-rate), exp(-2·rate), …: `size` of them, or until they vanish."""
    ratio = exp_minus(rate, bits)
    low = high = 1 << bits
    lower, upper = [low], [high]
    while len(lower) != size and (size is not None or low):
        low = low * ratio.lower >> bits
        high = -(-high * ratio.upper >> bits)
        lower.append(low)
        upper.append(high)
    return lower, upper
