"""Squares around a noisy mean: one number instead of two, where the number of rows is public.

Let n rows be public, values x lie between low and high, and let the noisy sum of x say that their mean is
near a. The variance is the mean of (x - a)² less (mean - a)², and the last part is next to nothing. One
row moves the sum of (x - a)² by at most M = max(a - low, high - a)². That is a quarter of the squared
width where a is in the middle, and never more than all of it, by which one row can move n times the
variance. As a is known from what was released before, epsilons add up (adaptive composition).

What is released is Q, the sum of squares, in parts of M: floor(PARTS · Q / M) + noise. So the noise is
known beforehand, though M is not. Q is computed from sums that the engine has, of t and of s: t is x - c
in steps of a grid g, and s is (x - c)² in steps of another grid h. With a in steps of g, from c on,
Q = h Σs - 2 a g² Σt + a² g² n. Where s is not exactly t², each row's part of Q is off by at most e, so
one row moves PARTS · Q / M by at most PARTS · (M + 2 e) / M: at most PARTS + 1 where 2 e PARTS <= M. What
moves by no more than a whole number moves by no more when it is rounded down.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.measurements.measurement import Measurement

PARTS = 2**10


def can_be_around(first: Measurement, second: Measurement, whole: bool) -> bool:
    """Return whether squares can be taken around a noisy mean: their rounding moves next to nothing.

    Of whole numbers squares are exact. Of others e = h/2 + g (2 H + g) is more than enough, with H half
    of the width: a value is at most g/2 from its step, so their squares differ by g/2 times their sum.
    """
    half = Fraction(first.high - first.low, 2) * first.grid
    if whole and second.grid == first.grid**2:
        return half > 0
    apart = second.grid / 2 + first.grid * (2 * half + first.grid)
    return 2 * apart * PARTS <= half**2


def noisy_mean(first: Measurement, noisy: int, rows: int) -> Fraction:
    """Return the noisy mean of what a sum adds up, in steps of its grid, between its bounds."""
    if rows < 1:
        return Fraction(0)
    return min(max(Fraction(noisy, rows), Fraction(first.low)), Fraction(first.high))


def furthest_square(first: Measurement, mean: Fraction) -> Fraction:
    """Return the square of how far a value can be from the mean, in the units of values."""
    return (max(mean - first.low, first.high - mean) * first.grid) ** 2


def squares_around(
    first: Measurement, second: Measurement, mean: Fraction, sums: tuple[int, int], rows: int
) -> int:
    """Return the sum of squares around a mean, in parts of the furthest there can be."""
    steps, squares = sums
    total = second.grid * (squares + rows * second.centre)
    total += first.grid**2 * (mean * mean * rows - 2 * mean * steps)
    return math.floor(PARTS * total / furthest_square(first, mean))
