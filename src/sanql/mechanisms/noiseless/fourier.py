"""The divergence of a sum of many records from its shift, by a certified Fourier sum.

For a sum S with log-concave law and a shift s, G(t) = P(S ≥ t − s) − g·P(S ≥ t) rises to one
maximum, which is delta. On the line Re z = θ > 0, with steps h = 2π/T, Poisson summation gives

    (h/2π) Σ_n M(z_n) e^{−z_n t} (e^{z_n s} − g)/den(z_n) = Σ_j e^{θjT} G(t + jT),

den(z) = z, or 1 − e^{−z} on a lattice. Everything left out is bounded, in balls:

    aliases j < 0:   1 − g ≤ G ≤ 1, so at most g·q/(1 − q) away, q = e^{−θT};
    aliases j > 0:   0 ≤ P(S ≥ t − s + jT) and Chernoff's bound at 2θ; G ≥ −g P(S ≥ t + jT);
    nodes left out:  shells [U, 2U], [2U, 4U] … with the decay proved for each summand.

The maximiser is guessed in floats and then proved: G is enclosed at t − w, t and t + w, and if the
middle is surely above both, the maximum lies between, where G is enclosed over the whole interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from sanql.mechanisms.noiseless.numbers import as_ball, upper
from sanql.mechanisms.noiseless.saddle import Saddle, saddle_at
from sanql.mechanisms.noiseless.summands import Summand

if TYPE_CHECKING:
    from flint import acb, arb

PRECISION = 160
_BRACKET = 2.0**-36


@dataclass
class _Line:
    """The nodes on one vertical line and what does not depend on how many records there are."""

    summands: tuple[Summand, ...]
    theta: arb
    step: arb
    shift: arb
    g: arb

    def __post_init__(self) -> None:
        self.points: list[acb] = []
        self.cumulants: list[tuple[acb, ...]] = []
        self.factors: list[acb] = []

    def reach(self, last: int) -> None:
        """Compute nodes 0..last."""
        from flint import acb

        lattice = self.summands[0].lattice
        for n in range(len(self.points), last + 1):
            z = acb(self.theta, n * self.step)
            den = 1 - (-z).exp() if lattice else z
            weight = self.step / (2 * arb_pi()) * (1 if n == 0 else 2)
            self.points.append(z)
            self.cumulants.append(tuple(part.cumulant_ball(z) for part in self.summands))
            self.factors.append(weight * ((z * self.shift).exp() - self.g) / den)


def arb_pi() -> arb:
    """Return π at the current precision."""
    from flint import arb

    return arb.pi()


def many_delta(
    summands: Sequence[Summand], counts: Sequence[int], shift: Fraction, epsilon: Fraction
) -> float:
    """Return an upper bound of delta for a sum of `counts[i]` copies of each summand.

    >>> from sanql.mechanisms.noiseless.summands import Interval
    >>> f"{many_delta([Interval()], [1000], Fraction(1, 2), Fraction(1, 5)):.8e}"
    '1.97466663e-06'
    """
    from flint import ctx

    parts = [(part, count) for part, count in zip(summands, counts, strict=True) if count]
    saddle = saddle_at(parts, float(shift), float(epsilon))
    # a smaller epsilon has a larger delta, so the clamp of a hopeless saddle stays a bound
    level = min(epsilon, Fraction(saddle.epsilon)) if saddle.clamped else epsilon
    with ctx.workprec(PRECISION):
        return _certify(tuple(parts), shift, level, saddle)


@lru_cache(maxsize=64)
def _line(
    summands: tuple[Summand, ...], theta: float, period: float, shift: Fraction, level: Fraction
) -> _Line:
    from flint import arb

    step = 2 * arb.pi() / arb(period)
    return _Line(summands, arb(theta), step, as_ball(shift), as_ball(level).exp())


def _certify(
    parts: tuple[tuple[Summand, int], ...], shift: Fraction, level: Fraction, saddle: Saddle
) -> float:
    from flint import arb

    line = _line(tuple(p for p, _ in parts), saddle.theta, saddle.period, shift, level)
    line.reach(saddle.nodes)
    origin = arb(saddle.point)
    values = []
    for z, cumulants, factor in zip(
        line.points[: saddle.nodes + 1], line.cumulants, line.factors, strict=False
    ):
        exponent = -z * origin
        for (_, count), cumulant in zip(parts, cumulants, strict=True):
            exponent += count * cumulant
        values.append(exponent.exp() * factor)
    left_out = _left_out(line, parts, saddle, origin)
    if saddle.lattice:
        return _lattice_maximum(line, values, left_out, parts, saddle, origin)
    guess = _stationary(line, values, saddle)
    width = saddle.deviation * _BRACKET
    while abs(guess) + width < saddle.slack:
        error = (left_out + _aliases(line, parts, saddle, origin + guess - width)) * arb(0, 1)
        low, middle, high = (
            _enclose(line, values, arb(guess + move)) + error for move in (-width, 0.0, width)
        )
        if middle > low and middle > high:
            bracket = _enclose(line, values, arb(guess, width * (1 + 2.0**-40)))
            return min(1.0, upper(bracket + error))
        width *= 64
    return 1.0


def _lattice_maximum(
    line: _Line,
    values: list[acb],
    left_out: arb,
    parts: tuple[tuple[Summand, int], ...],
    saddle: Saddle,
    origin: arb,
) -> float:
    """Return the largest G over lattice points; G(t) is known wherever t is in the lattice."""
    from flint import arb

    start = round(_stationary(line, values, saddle))
    error = left_out + _aliases(line, parts, saddle, origin - arb(saddle.slack))
    known: dict[int, arb] = {}

    def at(move: int) -> arb:
        if move not in known:
            known[move] = _enclose(line, values, arb(move)) + error * arb(0, 1)
        return known[move]

    low, high = start - 1, start + 1
    while max(-low, high) < saddle.slack:
        best = max((at(move) for move in range(low + 1, high)), key=lambda ball: float(ball.mid()))
        if best > at(low) and best > at(high):
            return min(1.0, max(upper(at(move)) for move in range(low + 1, high)))
        low, high = (low if best > at(low) else low - 1), (high if best > at(high) else high + 1)
    return 1.0


def _enclose(line: _Line, values: list[acb], move: arb) -> arb:
    """Return the Fourier sum `move` away from the origin of the values."""
    from flint import acb, arb

    first = (-line.theta * move).exp()
    angle = line.step * move
    turn = acb(angle.cos(), -angle.sin())
    total, power = arb(0), acb(1)
    for value in values:
        total += (value * power).real
        power *= turn
    return first * total


def _stationary(line: _Line, values: list[acb], saddle: Saddle) -> float:
    """Return, in floats, how far from the origin of the values G has its maximum."""
    scale = abs(values[1]).upper()  # the first may be zero: there e^{zs} = g
    heights = np.array([complex(value / scale) for value in values])
    z = np.array([complex(point) for point in line.points[: len(values)]])
    move = 0.0
    for _ in range(30):
        terms = heights * np.exp(-z * move)
        first, second = -(z * terms).sum().real, (z * z * terms).sum().real
        if second >= 0 or not math.isfinite(first):
            break
        step = -first / second
        step = math.copysign(min(abs(step), saddle.deviation), step)
        move += step
        if abs(step) <= saddle.deviation * 2.0**-46:
            break
    return move


def _aliases(line: _Line, parts: tuple[tuple[Summand, int], ...], saddle: Saddle, t: arb) -> arb:
    """Return a bound of everything that folds onto t from j ≠ 0."""
    from flint import acb, arb

    period = arb(saddle.period)
    q = (-line.theta * period).exp()
    steep = 2 * line.theta
    exponent = -steep * (t - line.shift)
    for part, count in parts:
        exponent += count * part.cumulant_ball(acb(steep)).real
    chernoff = exponent.exp() * (1 + line.g)
    return (1 + line.g) * q / (1 - q) + chernoff * q / (1 - q)


def _left_out(
    line: _Line, parts: tuple[tuple[Summand, int], ...], saddle: Saddle, origin: arb
) -> arb:
    """Return a bound of the nodes that are not summed, near the origin of the values."""
    from flint import acb, arb

    if saddle.lattice and 2 * saddle.nodes + 1 >= saddle.period:
        return arb(0)
    theta = line.theta
    exponent = -theta * (origin - arb(saddle.slack))
    for part, count in parts:
        exponent += count * part.cumulant_ball(acb(theta)).real
    den = 1 - (-theta).exp() if saddle.lattice else theta
    outside = exponent.exp() * ((theta * line.shift).exp() + line.g) / den
    limit = arb.pi() if saddle.lattice else None
    away, total = (saddle.nodes + 1) * line.step, arb(0)
    for _ in range(200):
        decay = arb(1)
        for part, count in parts:
            decay *= (part.decay(theta, away).max(arb(0)).sqrt()) ** count
        shell = (away / line.step + 2) * decay
        total += shell
        if limit is not None:
            if 2 * away >= limit:
                break
        elif away > 4 and away > theta:
            # from here a doubling divides the squared decay by at least 5/2 for each record
            total += 2 * shell
            break
        away *= 2
    return outside * total * line.step / arb.pi()
