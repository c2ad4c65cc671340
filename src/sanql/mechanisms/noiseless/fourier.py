"""The divergence of a sum of many records from its shift, by a certified Fourier sum.

For a sum S with log-concave law and a shift s, G(t) = P(S ≥ t − s) − g·P(S ≥ t) rises to one
maximum, which is delta. On the line Re z = θ > 0, with steps h = 2π/T, Poisson summation gives

    (h/2π) Σ_n M(z_n) e^{−z_n t} (e^{z_n s} − g)/den(z_n) = Σ_j e^{θjT} G(t + jT),

den(z) = z, or 1 − e^{−z} on a lattice. Everything left out is bounded, in balls:

    aliases j < 0:   1 − g ≤ G ≤ 1, so at most g·q/(1 − q) away, q = e^{−θT};
    aliases j > 0:   0 ≤ P(S ≥ t − s + jT) and Chernoff's bound at 2θ; G ≥ −g P(S ≥ t + jT);
    nodes left out:  shells [U, 2U], [2U, 4U] … with the decay proved for each summand.

The maximiser is guessed in floats and then proved: G is enclosed at t − w, t and t + w, and if the
middle is surely above both, the maximum lies between. There the Fourier sum, whose derivative is
enclosed over the whole interval, is at most its value in the middle plus w times that. On a coarse
lattice the points between are few, and each is enclosed. `rising` does the same for many numbers
of records at once.
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
from sanql.mechanisms.noiseless.precision import precision
from sanql.mechanisms.noiseless.saddle import Saddle, saddle_at
from sanql.mechanisms.noiseless.summands import Summand

if TYPE_CHECKING:
    from flint import acb, acb_poly, arb

PRECISION = 128
BRACKET = 2.0**-18


def many_delta(
    summands: Sequence[Summand], counts: Sequence[int], shift: Fraction, epsilon: Fraction
) -> float:
    """Return an upper bound of delta for a sum of `counts[i]` copies of each summand.

    >>> from sanql.mechanisms.noiseless.summands import Interval
    >>> f"{many_delta([Interval()], [1000], Fraction(1, 2), Fraction(1, 5)):.8e}"
    '1.97466663e-06'
    """
    parts = [(part, count) for part, count in zip(summands, counts, strict=True) if count]
    level = epsilon
    for _ in range(4):
        saddle = saddle_at(parts, float(shift), float(level))
        # a smaller epsilon has a larger delta, so the clamp of a hopeless saddle stays a bound
        level = min(level, Fraction(saddle.epsilon)) if saddle.clamped else level
        found = _at_saddle(parts, shift, level, saddle)
        if found < 1.0 or not (saddle.clamped or level < epsilon):
            return found
        level *= Fraction(9, 10)
    return found


def _at_saddle(
    parts: Sequence[tuple[Summand, int]], shift: Fraction, level: Fraction, saddle: Saddle
) -> float:
    from flint import arb

    with precision(PRECISION):
        line = line_at(tuple(p for p, _ in parts), saddle.theta, saddle.period, shift, level)
        line.reach(saddle.nodes)
        numbers = tuple(count for _, count in parts)
        values = line.values(numbers, arb(saddle.point), saddle.nodes)
        rest = nodes_left_out(line, numbers, saddle)
        sums = _Sums(line, values, numbers, Fraction(saddle.point), rest)
        return sums.maximum(_stationary(line, values, saddle), saddle.deviation)


@dataclass
class Line:
    """The nodes on one vertical line and what does not depend on how many records there are."""

    summands: tuple[Summand, ...]
    theta: arb
    period: arb
    shift: arb
    g: arb

    def __post_init__(self) -> None:
        from flint import acb, arb

        self.step = 2 * arb.pi() / self.period
        self.lattice = self.summands[0].lattice
        self.points: list[acb] = []
        self.cumulants: list[tuple[acb, ...]] = []
        self.factors: list[acb] = []
        inner_outer = [
            part.cumulant_balls([acb(t * self.theta) for t in (1, 2)]) for part in self.summands
        ]
        self.inner = [near.real for near, _ in inner_outer]
        self.outer = [far.real for _, far in inner_outer]
        q = (-self.theta * self.period).exp()
        self.folded = (1 + self.g) * q / (1 - q)
        den = 1 - (-self.theta).exp() if self.lattice else self.theta
        self.height = ((self.theta * self.shift).exp() + self.g) / den

    def reach(self, last: int) -> None:
        """Compute nodes 0..last."""
        from flint import acb, arb

        begun = len(self.factors)  # the last to grow: what broke off in between is done again
        weight = self.step / arb.pi()
        more = [acb(self.theta, n * self.step) for n in range(begun, last + 1)]
        dens = [1 - (-z).exp() for z in more] if self.lattice else more
        self.points[begun:] = more
        self.cumulants[begun:] = zip(
            *(part.cumulant_balls(more) for part in self.summands), strict=True
        )
        self.factors[begun:] = [
            (weight / 2 if n == 0 else weight) * ((z * self.shift).exp() - self.g) / den
            for n, (z, den) in enumerate(zip(more, dens, strict=True), begun)
        ]

    def values(self, counts: tuple[int, ...], origin: arb, last: int) -> list[acb]:
        """Return the terms of the Fourier sum at an origin, up to the last node."""
        found = []
        for n in range(last + 1):
            exponent = -self.points[n] * origin
            for count, cumulant in zip(counts, self.cumulants[n], strict=True):
                exponent += count * cumulant
            found.append(exponent.exp() * self.factors[n])
        return found

    def height_at(self, counts: tuple[int, ...], t: arb) -> arb:
        """Return a bound of every term, up to the decay of its node, at t and beyond."""
        exponent = -self.theta * t
        for count, cumulant in zip(counts, self.inner, strict=True):
            exponent += count * cumulant
        return (exponent.exp() * self.height).upper()

    def aliases(self, counts: tuple[int, ...], t: arb) -> arb:
        """Return a bound of everything that folds onto t, or a point beyond, from j ≠ 0."""
        exponent = -2 * self.theta * (t - self.shift)
        for count, cumulant in zip(counts, self.outer, strict=True):
            exponent += count * cumulant
        return (self.folded * (1 + exponent.exp())).upper()


@lru_cache(maxsize=64)
def line_at(
    summands: tuple[Summand, ...], theta: float, period: float, shift: Fraction, level: Fraction
) -> Line:
    from flint import arb

    return Line(summands, arb(theta), arb(period), as_ball(shift), as_ball(level).exp())


@dataclass
class _Sums:
    """G near an origin: the Fourier sum of `values`, and bounds of what it leaves out."""

    line: Line
    values: list[acb]
    counts: tuple[int, ...]
    origin: Fraction
    rest: arb

    def maximum(self, guess: float, deviation: float) -> float:
        """Return an upper bound of the maximum of G, which is guessed at origin + guess."""
        from flint import acb_poly

        self.poly = acb_poly(self.values)
        if not self.line.lattice:
            return self._between(Fraction(guess), deviation * BRACKET, deviation)
        top = sum(
            (n * part.top for n, part in zip(self.counts, self.line.summands, strict=True)),
            Fraction(0),
        )
        # t is in the lattice where top − t is whole
        start = top - math.floor(top - self.origin - Fraction(guess)) - self.origin
        width = math.ceil(deviation * BRACKET)
        return (
            self._between(start, width, deviation) if width > 1 else self._around(start, deviation)
        )

    def _between(self, guess: Fraction, width: float, deviation: float) -> float:
        """Return a bound of G between points where it is surely smaller than in the middle."""
        from flint import acb_poly, arb

        middle, away = as_ball(guess), abs(float(guess))
        while away + width < deviation / 2:
            error = self._error(middle, width)
            low, high, centre = (self.at(middle + move) for move in (-width, width, 0))
            if centre - error > low + error and centre - error > high + error:
                turned = acb_poly(
                    [-z * v for z, v in zip(self.line.points, self.values, strict=False)]
                )
                steepest = abs(self.at(middle + arb(0, width * (1 + 2.0**-40)), turned))
                return min(1.0, upper(centre + width * steepest + error))
            width *= 64
        return 1.0

    def _around(self, start: Fraction, deviation: float) -> float:
        """Return the largest G of a coarse lattice, from a point outwards until it surely falls."""
        origin = as_ball(start)
        reach = 4 + math.ceil(deviation / 4)
        error = self._error(origin, reach)
        known: dict[int, arb] = {}

        def value(move: int) -> arb:
            if move not in known:
                known[move] = self.at(origin + move)
            return known[move]

        low, high = -1, 1
        while max(-low, high) <= reach:
            best = max((value(m) for m in range(low + 1, high)), key=lambda ball: float(ball.mid()))
            fallen = [best - error > value(end) + error for end in (low, high)]
            if all(fallen):
                return min(1.0, max(upper(value(m) + error) for m in range(low + 1, high)))
            low, high = low - (not fallen[0]), high + (not fallen[1])
        return 1.0

    def at(self, move: arb, poly: acb_poly | None = None) -> arb:
        """Return the Fourier sum `move` away from the origin."""
        from flint import acb

        angle = self.line.step * move
        turn = acb(angle.cos(), -angle.sin())
        total = (self.poly if poly is None else poly)(turn).real
        return (-self.line.theta * move).exp() * total

    def _error(self, middle: arb, width: float) -> arb:
        """Return a bound of everything left out within `width` of the middle."""
        least = as_ball(self.origin) + middle - width
        return self.line.height_at(self.counts, least) * self.rest + self.line.aliases(
            self.counts, least
        )


def _stationary(line: Line, values: list[acb], saddle: Saddle) -> float:
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
        if abs(step) <= saddle.deviation * 2.0**-30:
            break
    return move


def nodes_left_out(line: Line, counts: tuple[int, ...], saddle: Saddle) -> arb:
    """Return a bound of the nodes that are not summed, as a multiple of the first one's height."""
    from flint import arb

    if saddle.lattice and 2 * saddle.nodes + 1 >= saddle.period:
        return arb(0)
    limit = arb.pi() if saddle.lattice else None
    away, total = (saddle.nodes + 1) * line.step, arb(0)
    for _ in range(200):
        decay = arb(1)
        for part, count in zip(line.summands, counts, strict=True):
            decay *= part.decay(line.theta, away).max(arb(0)).sqrt() ** count
        shell = (away / line.step + 2) * decay
        total += shell
        if limit is not None:
            if 2 * away >= limit:
                break
        elif away > 4 and away > line.theta:
            # from here a doubling divides the squared decay by at least 5/2 for each record
            total += 2 * shell
            break
        away *= 2
    return total * line.step / arb.pi()
