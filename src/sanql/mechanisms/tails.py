"""Rigorous tails: how likely integer noise is to reach a value.

Each function returns an enclosure of P(Z ≥ t) for t ≥ 1; symmetry gives the other side.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from sanql.mechanisms.enclosure import (
    Enclosure,
    exp_minus,
    normal_integral_above,
    pi,
    rational,
    square_root,
)

_SUMMED_SIGMA2 = 1 << 12  # up to here the mass function is summed term by term
_PATIENCE = 512  # bits beyond the target's size before an undecided question gets the safe answer


def laplace_tail(scale: Fraction, t: int, bits: int) -> Enclosure:
    """Return P(Z ≥ t) = exp(-t/scale) / (1 + exp(-1/scale))."""
    one = rational(Fraction(1), bits)
    return exp_minus(t / scale, bits) / (one + exp_minus(1 / scale, bits))


def truncated_tail(epsilon: Fraction, limit: int, t: int, bits: int) -> Enclosure:
    """Return P(Z ≥ t) = (r^t - r^(limit+1)) / (1 + r - 2·r^(limit+1)) with r = exp(-epsilon)."""
    if t > limit:
        return Enclosure(0, 0, bits)
    # Numerator and denominator can both be as small as epsilon: the bits lost there come on top.
    work = bits + epsilon.denominator.bit_length() + 16
    one, ratio = rational(Fraction(1), work), exp_minus(epsilon, work)
    beyond = exp_minus(epsilon * (limit + 1), work)
    whole = (one - beyond) + (ratio - beyond)
    return ((exp_minus(epsilon * t, work) - beyond) / whole).rounded_to(bits)


def gaussian_tail(sigma2: Fraction, t: int, bits: int) -> Enclosure:
    """Return P(Z ≥ t) for mass ∝ exp(-k²/(2·sigma2))."""
    if t * t / (2 * sigma2) > bits:
        return Enclosure(0, 1, bits)  # the tail is at most exp(-t²/(2·sigma2)), it is subgaussian
    if sigma2 <= _SUMMED_SIGMA2:
        return _gaussian_tail_summed(sigma2, t, bits)
    return _gaussian_tail_integrated(sigma2, t, bits)


def least_reaching(tail: Callable[[int, int], Enclosure], target: Fraction, guess: int) -> int:
    """Return the least t ≥ 1 with tail(t) ≤ target, by bisection outward from a guess.

    Every comparison is certain. Where even many bits leave a tie (only possible for a wide
    Gaussian, whose enclosure stops narrowing), the answer errs to the larger t.
    """

    def reached(t: int) -> bool:
        bits = 64 + max(0, target.denominator.bit_length() - target.numerator.bit_length())
        end = bits + _PATIENCE
        while bits <= end:
            verdict = tail(t, bits).compare(target)
            if verdict:
                return verdict < 0
            bits *= 2
        return False

    below, above, step = 0, max(1, guess), 1
    if reached(above):
        while above - step > 0 and reached(above - step):
            above, step = above - step, 2 * step
        below = max(0, above - step)
    else:
        while not reached(above + step):
            above, step = above + step, 2 * step
        below, above = above, above + step
    while above - below > 1:
        middle = (below + above) // 2
        if reached(middle):
            above = middle
        else:
            below = middle
    return above


def _gaussian_tail_summed(sigma2: Fraction, t: int, bits: int) -> Enclosure:
    work = bits + 32  # every term rounds once
    beyond = _gaussian_sums(sigma2, work)
    one = rational(Fraction(1), work)
    whole = one + beyond[1] + beyond[1]
    return (beyond[min(t, len(beyond) - 1)] / whole).rounded_to(bits)


@lru_cache(maxsize=32)
def _gaussian_sums(sigma2: Fraction, bits: int) -> list[Enclosure]:
    """Return the sums of exp(-k²/(2·sigma2)) over k ≥ t, listed by t until they vanish."""
    one = 1 << bits
    weight = Enclosure(one, one, bits)
    factor, shrink = exp_minus(1 / (2 * sigma2), bits), exp_minus(1 / sigma2, bits)
    weights = [weight]
    while weight.lower or len(weights) == 1:
        weight, factor = weight * factor, factor * shrink
        weights.append(weight)
    # From the last weight on, neighbours shrink at least by this factor: a geometric series.
    rest = -(-weight.upper * factor.upper // (one - factor.upper))
    sums = [Enclosure(0, weight.upper + rest, bits)]
    for weight in reversed(weights[:-1]):
        sums.append(sums[-1] + weight)
    return sums[::-1]


def _gaussian_tail_integrated(sigma2: Fraction, t: int, bits: int) -> Enclosure:
    """Return the tail of a wide Gaussian by Euler and Maclaurin's formula.

    With f(x) = exp(-x²/(2·sigma2)) and z = t/sigma, the sum of f over k ≥ t is the integral from
    t plus f(t)/2 - f'(t)/12, up to an error of at most ∫|f''''|/360 (the term in f''' is at most
    half of it, the remainder the other half, since 2ζ(4)/(2π)⁴ = B₄/4! = 1/720). That integral is
    at most ((z³ + 9z)·f(t) + 12·∫_z^∞ exp(-u²/2) du)/sigma³. The whole sum is sigma·√(2π) up to a
    relative 2·exp(-2π²·sigma2) by Poisson's formula, far below one unit here.
    """
    work = bits + sigma2.numerator.bit_length() + 16
    sigma = square_root(sigma2, work)
    squared = t * t / sigma2
    z = square_root(squared, work)
    value = exp_minus(squared / 2, work)
    integral = normal_integral_above(squared, work)
    slope = z * value / sigma
    twelve, half = rational(Fraction(12), work), rational(Fraction(1, 2), work)
    fourth = z * z * z * value + rational(Fraction(9), work) * z * value + twelve * integral
    error = fourth / (sigma * sigma * sigma) / rational(Fraction(360), work)
    total = sigma * integral + half * value + slope / twelve
    total = Enclosure(max(0, total.lower - error.upper), total.upper + error.upper, work)
    whole = sigma * _square_root_of_two_pi(work)
    whole = Enclosure(whole.lower, whole.upper + 1, work)
    return (total / whole).rounded_to(bits)


def _square_root_of_two_pi(bits: int) -> Enclosure:
    circle = pi(bits)
    lower = square_root(Fraction(2 * circle.lower, 1 << bits), bits)
    upper = square_root(Fraction(2 * circle.upper, 1 << bits), bits)
    return Enclosure(lower.lower, upper.upper, bits)
