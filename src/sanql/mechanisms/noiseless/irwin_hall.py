"""The divergence of a sum of few uniform records from its shift, exactly.

For K uniform summands and a shift s, with G(y) = P(S ≤ y + s) − g·P(S ≤ y) and S the sum moved to
start at 0, delta_K = max over y ≥ 0 of G(y). The laws are log-concave, so f(y + s)/f(y) falls and
G rises to one maximum. Both distribution functions are alternating sums,

    interval: Σ_j (−1)^j C(K, j) (y − j)_+^K / K!
    lattice:  Σ_j (−1)^j C(K, j) C(y − jN + K, K) / N^K

evaluated with whole numbers or with enough bits that what cancels does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.mechanisms.noiseless.numbers import as_ball, upper
from sanql.mechanisms.noiseless.precision import precision
from sanql.mechanisms.noiseless.summands import Interval, Lattice

if TYPE_CHECKING:
    from flint import arb

EXACT_MAX = 48
"""Up to this many summands the alternating sums are used, above it Fourier sums."""


def few_delta(summand: Interval | Lattice, count: int, shift: Fraction, epsilon: Fraction) -> float:
    """Return an upper bound of delta_K, tight to twelve digits.

    >>> round(few_delta(Interval(), 3, Fraction(1, 2), Fraction(1)), 9)
    0.128618686
    """
    if count == 0 or shift >= count * 2 * summand.top + summand.lattice:
        return 1.0  # the two laws do not meet
    match summand:
        case Interval():
            return _interval(count, shift, epsilon)
        case Lattice(points):
            return _lattice(count, points, int(shift), epsilon)


def _interval(count: int, shift: Fraction, epsilon: Fraction) -> float:
    if count == 1:
        return min(1.0, upper(as_ball(shift)))
    with precision(192 + 6 * count):
        s, level = as_ball(shift), as_ball(epsilon)

        def log_ratio(y: float) -> float:
            above = _spline(count, y + s, count - 1)
            below = _spline(count, _point(y), count - 1)
            if not below > 0:
                return math.inf
            if not above > 0:
                return -math.inf
            return float((above / below).log() - level)

        end = float(Fraction(count) - shift) / 2
        y = _crossing(log_ratio, _guess(Interval(), count, shift, epsilon), 0.0, end)
        width = end * 2.0**-44
        for _ in range(40):
            low, high = max(0.0, y - width), min(end, y + width)
            # at `end`, the middle, the ratio is at most 1 by symmetry, so below g for certain
            if (low == 0.0 or log_ratio(low) > 0) and (high == end or log_ratio(high) < 0):
                break
            width *= 4
        else:
            low, high = 0.0, end
        top = _spline(count, _point(high) + s, count)
        return min(1.0, upper(top - level.exp() * _spline(count, _point(low), count)))


def _guess(summand: Interval | Lattice, count: int, shift: Fraction, epsilon: Fraction) -> float:
    """Return about where the ratio crosses g, from the saddle of the law."""
    mean = summand.slope(float(epsilon / shift))[0]
    return count * (float(summand.top) - mean) - float(shift) / 2


def _point(y: float) -> arb:
    from flint import arb

    return arb(y)


def _spline(count: int, y: arb, power: int) -> arb:
    """Return Σ_j (−1)^j C(K, j) (y − j)_+^power / power!: the law at K, its density at K − 1."""
    from flint import arb

    total = arb(0)
    for j in range(count + 1):
        gap = y - j
        if gap < 0:
            break
        # a ball across a knot: the positive part is between 0 and the upper end
        part = gap if gap > 0 else gap.nonnegative_part()
        total += (-1) ** j * math.comb(count, j) * part**power
    return total / math.factorial(power)


def _lattice(count: int, points: int, shift: int, epsilon: Fraction) -> float:
    from flint import arb

    with precision(192):
        g = as_ball(epsilon).exp()

        def log_ratio(y: int) -> float:
            below, above = _ways(count, points, y, -1), _ways(count, points, y + shift, -1)
            if below == 0:
                return math.inf
            return float((arb(above) / arb(below) / g).log()) if above else -math.inf

        middle = max(0, (count * (points - 1) - shift) // 2 + 1)
        # G(y) − G(y − 1) is positive as long as the ratio of masses at y is above g
        guess = round(_guess(Lattice(points), count, Fraction(shift), epsilon))
        low, high = _whole_crossing(log_ratio, guess, middle)
        whole = arb(points) ** count
        best = [
            (_ways(count, points, y + shift, 0) - g * _ways(count, points, y, 0)) / whole
            for y in range(max(-1, low - 1), high + 2)  # neighbours: a tie may round either way
        ]
        return min(1.0, max(upper(value) for value in best))


def _ways(count: int, points: int, y: int, order: int) -> int:
    """Return in how many ways K values of 0..N−1 have a sum of at most y (order 0) or of y (−1)."""
    total = 0
    for j in range(min(count, max(y, -1) // points) + 1):
        total += (
            (-1) ** j
            * math.comb(count, j)
            * math.comb(y - j * points + count + order, count + order)
        )
    return total


def _whole_crossing(log_ratio: Callable[[int], float], guess: int, middle: int) -> tuple[int, int]:
    """Return neighbours, the last whole number with a positive value and the first without.

    −1 counts as positive and the middle as not. Steps from the guess grow until they cross; then
    straight lines lead to the root, by turns a little over and a little short of it, so that the
    bracket closes from both sides.
    """
    low, high, step = -1, middle, max(1, middle // 4096)
    at_low, at_high = math.inf, -math.inf
    probe, turn = guess, 0
    while high - low > 1:
        turn, probe = turn + 1, min(max(probe, low + 1), high - 1)
        value = log_ratio(probe)
        if value > 0:
            low, at_low, beyond, side = probe, value, probe + step, 1
        else:
            high, at_high, beyond, side = probe, value, probe - step, -1
        step *= 8
        if math.isfinite(at_low) and math.isfinite(at_high) and turn % 8:
            root = low + round((high - low) * (at_low / (at_low - at_high)))
            probe = root + side * (1 + (high - low) // 2**12)
        else:
            probe = beyond if low < beyond < high else (low + high) // 2
    return low, high


def _crossing(log_ratio: Callable[[float], float], guess: float, low: float, high: float) -> float:
    """Return roughly where a falling function crosses zero, by secants kept in a bracket."""
    probe, last, at_last = min(max(guess, low), high), math.nan, math.nan
    for _ in range(80):
        value = log_ratio(probe)
        if abs(value) < 2.0**-44 or high - low <= 2.0**-46 * high:
            return probe
        low, high = (probe, high) if value > 0 else (low, probe)
        slope = (value - at_last) / (probe - last) if probe != last else math.nan
        last, at_last = probe, value
        probe = probe - value / slope if slope < 0 else math.nan
        if not low < probe < high:  # also where it is not a number
            probe = low + (high - low) / (2 if not math.isnan(slope) else 1024 if value > 0 else 2)
    return (low + high) / 2
