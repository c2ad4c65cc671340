"""Interval arithmetic: the bounds of a result from the bounds of its operands, exactly.

>>> multiply((Fraction(-2), Fraction(3)), (Fraction(4), Fraction(5)))
(Fraction(-10, 1), Fraction(15, 1))
>>> divide((Fraction(1), Fraction(2)), (Fraction(-1), Fraction(1))) is None
True
"""

from __future__ import annotations

import math
from fractions import Fraction

Interval = tuple[Fraction, Fraction]


def negate(a: Interval) -> Interval:
    """Return the interval of -x."""
    return -a[1], -a[0]


def add(a: Interval, b: Interval) -> Interval:
    """Return the interval of x + y."""
    return a[0] + b[0], a[1] + b[1]


def subtract(a: Interval, b: Interval) -> Interval:
    """Return the interval of x - y."""
    return a[0] - b[1], a[1] - b[0]


def multiply(a: Interval, b: Interval) -> Interval:
    """Return the interval of x * y: the extremes lie at corners."""
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def divide(a: Interval, b: Interval) -> Interval | None:
    """Return the interval of x / y, or None where y comes arbitrarily close to zero."""
    if b[0] <= 0 <= b[1]:
        return None
    return multiply(a, (1 / b[1], 1 / b[0]))


def divide_by_integer(a: Interval, b: Interval) -> Interval | None:
    """Return the interval of x / y for a whole y other than zero (zero makes NULL)."""
    quotients = []
    if b[0] <= -1:
        quotients.append(divide(a, (b[0], min(b[1], Fraction(-1)))))
    if b[1] >= 1:
        quotients.append(divide(a, (max(b[0], Fraction(1)), b[1])))
    sides = [quotient for quotient in quotients if quotient is not None]
    if not sides:
        return Fraction(0), Fraction(0)
    return hull(*sides)


def absolute(a: Interval) -> Interval:
    """Return the interval of |x|."""
    if a[0] <= 0 <= a[1]:
        return Fraction(0), max(-a[0], a[1])
    low, high = sorted((abs(a[0]), abs(a[1])))
    return low, high


def remainder(a: Interval, b: Interval) -> Interval:
    """Return the interval of x % y for whole x and y: x's sign, below |y|, no larger than |x|."""
    size = max(Fraction(0), min(max(abs(b[0]), abs(b[1])) - 1, max(abs(a[0]), abs(a[1]))))
    return (-size if a[0] < 0 else Fraction(0)), (size if a[1] > 0 else Fraction(0))


def power(a: Interval, exponent: int) -> Interval:
    """Return the interval of x ** exponent for a whole exponent >= 0."""
    corners = [a[0] ** exponent, a[1] ** exponent]
    if exponent > 0 and exponent % 2 == 0 and a[0] <= 0 <= a[1]:
        corners.append(Fraction(0))
    return min(corners), max(corners)


def hull(*intervals: Interval) -> Interval:
    """Return the smallest interval around all of them."""
    return min(interval[0] for interval in intervals), max(interval[1] for interval in intervals)


def round_outward(a: Interval, digits: int) -> Interval:
    """Return the interval of x rounded to `digits` decimals, whatever the rounding of ties."""
    step = Fraction(10) ** -digits
    return math.floor(a[0] / step) * step, math.ceil(a[1] / step) * step


def real_remainder(a: Interval, b: Interval) -> Interval:
    """Return the interval of x % y for real x and y: x's sign, not beyond |x| or |y|."""
    size = min(max(abs(b[0]), abs(b[1])), max(abs(a[0]), abs(a[1])))
    return (-size if a[0] < 0 else Fraction(0)), (size if a[1] > 0 else Fraction(0))


def bits(a: Interval) -> int:
    """Return how many bits the whole numbers of an interval need, without their sign."""
    low, high = math.floor(a[0]), math.ceil(a[1])
    return max(high.bit_length() if high > 0 else 0, (-low - 1).bit_length() if low < 0 else 0)


def bitwise(a: Interval, b: Interval) -> Interval:
    """Return an interval around x & y, x | y and xor(x, y): no bit is set that neither could have."""
    size = Fraction(2 ** max(bits(a), bits(b)))
    return (-size if min(a[0], b[0]) < 0 else Fraction(0)), size - 1
