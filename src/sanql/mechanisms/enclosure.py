"""Real numbers as pairs of integers that provably contain them.

Deciding a random outcome or a privacy threshold with floating point would make the guarantee hang
on rounding nobody has proved. Here a real is an interval `[lower, upper]·2^-bits` of integers,
every operation rounds outward, and whoever needs a decision asks again with more bits until the
interval no longer straddles the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A real number, at least zero, that lies in [lower, upper]·2^-bits."""

    lower: int
    upper: int
    bits: int

    def __add__(self, other: Enclosure) -> Enclosure:
        return Enclosure(self.lower + other.lower, self.upper + other.upper, self.bits)

    def __sub__(self, other: Enclosure) -> Enclosure:
        """Return the difference, known by the caller to be at least zero."""
        return Enclosure(
            max(0, self.lower - other.upper), max(0, self.upper - other.lower), self.bits
        )

    def __mul__(self, other: Enclosure) -> Enclosure:
        return Enclosure(
            self.lower * other.lower >> self.bits,
            -(-self.upper * other.upper >> self.bits),
            self.bits,
        )

    def __truediv__(self, other: Enclosure) -> Enclosure:
        """Return the quotient; the divisor's lower end must be above zero."""
        return Enclosure(
            (self.lower << self.bits) // other.upper,
            -((-self.upper << self.bits) // other.lower),
            self.bits,
        )

    def __float__(self) -> float:
        return float(Fraction(self.lower + self.upper, 1 << (self.bits + 1)))

    @property
    def upper_fraction(self) -> Fraction:
        """The upper end as a rational."""
        return Fraction(self.upper, 1 << self.bits)

    def compare(self, other: Fraction) -> int:
        """Return -1 or 1 when the real is surely at most or surely above `other`, else 0."""
        numerator, denominator = other.as_integer_ratio()
        bound = numerator << self.bits
        if self.upper * denominator <= bound:
            return -1
        return 1 if self.lower * denominator > bound else 0

    def rounded_to(self, bits: int) -> Enclosure:
        """Return the same real with fewer bits."""
        spare = self.bits - bits
        return Enclosure(self.lower >> spare, -(-self.upper >> spare), bits)


def rational(value: Fraction, bits: int) -> Enclosure:
    """Return an enclosure of a rational, at most one unit wide."""
    numerator, denominator = value.as_integer_ratio()
    scaled = numerator << bits
    return Enclosure(scaled // denominator, -(-scaled // denominator), bits)


def square_root(value: Fraction, bits: int) -> Enclosure:
    """Return an enclosure of the square root of a rational."""
    numerator, denominator = value.as_integer_ratio()
    root = isqrt((numerator << 2 * bits) // denominator)
    return Enclosure(root, root + 1, bits)


@lru_cache(maxsize=256)
def exp_minus(exponent: Fraction, bits: int) -> Enclosure:
    """Return an enclosure of exp(-exponent) for an exponent of at least zero.

    The exponent is halved until it is below 2^-8, the alternating Taylor series is summed there
    (each partial sum errs by less than the first term left out), and the result is squared back.
    Every squaring can double the relative error, which the guard bits absorb.
    """
    if exponent > bits:
        return Enclosure(0, 1, bits)  # exp(-x) < 2^-x
    halvings = (exponent.numerator // exponent.denominator).bit_length() + 8
    work = bits + halvings + 16
    power = _exp_minus_small(rational(exponent / (1 << halvings), work))
    lower, upper = power.lower, power.upper
    for _ in range(halvings):  # the product of an enclosure with itself, on plain integers
        lower, upper = lower * lower >> work, -(-upper * upper >> work)
    return Enclosure(lower, upper, work).rounded_to(bits)


def _exp_minus_small(small: Enclosure) -> Enclosure:
    bits, one = small.bits, 1 << small.bits
    low = high = one  # the ends of one term of the series
    lower, upper, order = one, one, 0
    while high > 1:
        order += 1
        low = (low * small.lower >> bits) // order
        high = -((-high * small.upper >> bits) // order)
        if order % 2:
            lower, upper = lower - high, upper - low
        else:
            lower, upper = lower + low, upper + high
    return Enclosure(lower - high, min(one, upper + high), bits)


@lru_cache(maxsize=32)
def pi(bits: int) -> Enclosure:
    """Return an enclosure of π by Machin's formula, 16·arctan(1/5) - 4·arctan(1/239)."""
    work = bits + 16
    five, large = _arctan_inverse(5, work), _arctan_inverse(239, work)
    return Enclosure(
        16 * five.lower - 4 * large.upper, 16 * five.upper - 4 * large.lower, work
    ).rounded_to(bits)


def _arctan_inverse(value: int, bits: int) -> Enclosure:
    power, order, total, error = (1 << bits) // value, 1, 0, 1
    while power:
        total += power // order if order % 4 == 1 else -(power // order)
        power //= value * value
        order += 2
        error += 2  # each term is short by less than two units
    return Enclosure(total - error, total + error, bits)


def normal_integral_above(squared: Fraction, bits: int) -> Enclosure:
    """Return an enclosure of ∫ exp(-u²/2) du from z to infinity, where z² = `squared`.

    The part below z is z·exp(-z²/2)·Σ z^(2n) / (2n+1)!!, a series of positive terms
    (Abramowitz & Stegun 26.2.11); it is taken from the half line's √(π/2).
    """
    size = squared.numerator // squared.denominator + 1
    work = bits + 2 * size + 32  # the series grows like exp(z²/2) before it is scaled down
    one = 1 << work
    square = rational(squared, work)
    term = total = Enclosure(one, one, work)
    order = 1
    while term.upper > 1 or order <= 2 * size:
        order += 2
        product = term * square
        term = Enclosure(product.lower // order, -(-product.upper // order), work)
        total += term
    # From here each term is under half the one before, so the rest is at most the last term.
    total = Enclosure(total.lower, total.upper + term.upper, work)
    below = square_root(squared, work) * exp_minus(squared / 2, work) * total
    return (_half_line(work) - below).rounded_to(bits)


def _half_line(bits: int) -> Enclosure:
    """Return an enclosure of √(π/2), the whole integral above zero."""
    whole = pi(bits)
    lower = square_root(Fraction(whole.lower, 2 << bits), bits)
    upper = square_root(Fraction(whole.upper, 2 << bits), bits)
    return Enclosure(lower.lower, upper.upper, bits)
