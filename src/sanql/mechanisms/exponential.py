"""Real numbers with P(X > x) = exp(-x), exactly, as far as their digits are asked for.

The whole part is h with probability proportional to exp(-h). What is left has a density proportional to
exp(-x) on [0, 1) whatever h is, and its digits, eight at a time, are numbers j below 256, independent,
with probabilities proportional to exp(-j/256), exp(-j/256²), …: the exponential of a sum is a product.
Each is a wheel, spun exactly (wheel.py).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from sanql.entropy import Entropy
from sanql.mechanisms.enclosure import exp_minus
from sanql.mechanisms.geometric import powers
from sanql.mechanisms.wheel import Weights, Wheel

_DIGIT = 8


class Exponential:
    """One draw, of which no digit is known before it is asked for."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._bits = -_DIGIT
        self._floor = 0

    def floor(self, bits: int) -> int:
        """Return the whole part of X · 2^bits."""
        while self._bits < bits:
            self._bits += _DIGIT
            drawn = int(_wheel(self._bits).spin(self._entropy, 1)[0])
            self._floor = (self._floor << _DIGIT) + drawn
        return self._floor >> (self._bits - bits)


@lru_cache(maxsize=64)
def _wheel(bits: int) -> Wheel:
    """Return the wheel for the digits down to 2^-bits; for none after the point, of the whole part."""
    if bits:
        return Wheel(lambda fine: Weights(*powers(Fraction(1, 1 << bits), 1 << _DIGIT, fine), 0))
    return Wheel(_whole_parts)


def _whole_parts(bits: int) -> Weights:
    lower, upper = powers(Fraction(1), None, bits)
    ratio = exp_minus(Fraction(1), bits).upper
    # what is left out sums to the last times ratio / (1 - ratio)
    return Weights(lower, upper, max(1, -(-upper[-1] * ratio // ((1 << bits) - ratio))))
