"""Where a Fourier sum is taken, chosen in floats; and the same sum in floats, for searching.

The choice decides only how tight and how quick a certificate is, never whether it is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms.noiseless.summands import Interval, Lattice, Summand

_DEPTH = 720.0
_DIGITS = 44.0
"""What is left out is about e^-44 of the answer: the proof of the maximiser needs e^-26."""
_RUN = Fraction(5, 4)
"""One line serves numbers of records up to this far apart."""


@dataclass(frozen=True)
class Saddle:
    """A line Re z = theta, its period and nodes, and the place where the maximum is expected."""

    epsilon: float
    clamped: bool
    theta: float
    period: float
    nodes: int
    point: float
    deviation: float
    lattice: bool

    @property
    def slack(self) -> float:
        """How far from the point the maximum may turn out to be before it is given up."""
        return _slack(self.deviation, lattice=self.lattice)


Parts = Sequence[tuple[Summand, int]]
Summands = Sequence[Summand]
Counts = tuple[int, ...]
Floats = NDArray[Any]


def _slack(deviation: float, *, lattice: bool) -> float:
    return deviation / 2 + (4 if lattice else 0)


def saddle_at(
    parts: Parts,
    shift: float,
    epsilon: float,
    *,
    theta_least: float = 0.0,
    period_least: float = 0.0,
) -> Saddle:
    """Return the line through the saddle of a sum of `count` copies of each summand."""
    lattice = parts[0][0].lattice
    top = float(sum(part.top * count for part, count in parts))
    room = _room(shift, lattice=lattice)
    tilt = epsilon / shift

    def hopeless(theta: float) -> bool:
        mean = _moments(parts, theta)[0]
        return top - mean < room or _cumulant(parts, theta) - theta * mean < -_DEPTH

    clamped = hopeless(tilt)
    tilt = _steepest(hopeless) if clamped else tilt
    level = tilt * shift * (1 - 1e-9) if clamped else epsilon
    mean, variance = _moments(parts, tilt)
    deviation = math.sqrt(variance)
    # lines are shared by neighbouring numbers of records, so the inner radius is a power of 2^¼
    theta = max(tilt, 2.0 ** (math.ceil(4 * math.log2(3 / deviation)) / 4), theta_least)
    point = mean + shift / 2
    if lattice:
        point = top - round(top - point)
    height = _cumulant(parts, theta) - theta * point
    steep = _cumulant(parts, 2 * theta) - 2 * theta * (point - shift)
    small = 2 * math.log1p(theta * deviation) + level + theta * _slack(deviation, lattice=lattice)
    wide = (_DIGITS + small + max(0.0, max(steep, 0.0) - height)) / theta
    period = max(2.0 ** (math.ceil(4 * math.log2(wide)) / 4), period_least)
    if lattice:
        period = 2 * math.ceil((period - 1) / 2) + 1.0
    nodes = _nodes(parts, theta, 2 * math.pi / period, _DIGITS + small)
    if lattice:
        nodes = min(nodes, int(period - 1) // 2)
    return Saddle(level, clamped, theta, period, nodes, point, deviation, lattice)


def _room(shift: float, *, lattice: bool) -> float:
    """Return how far from the edge of the sum's range a saddle describes the law."""
    return max(2 * shift, 4.0 if lattice else 0.0)


def near_edge(summands: Summands, counts: Counts, shift: float, epsilon: float) -> bool:
    """Return whether the saddle of a sum is too near the edge of its range."""
    parts = parts_of(summands, counts)
    top = float(sum(part.top * count for part, count in parts))
    lattice = summands[0].lattice
    return top - _moments(parts, epsilon / shift)[0] < _room(shift, lattice=lattice)


def edge_count(part: Summand, shift: float, epsilon: float) -> float:
    """Return up to how many copies of a summand the saddle is too near the edge."""
    away = float(part.top) - part.slope(epsilon / shift)[0]
    return _room(shift, lattice=part.lattice) / away if away > 0 else math.inf


def shared_saddle(
    summands: Summands, first: Counts, last: Counts, shift: float, epsilon: float
) -> Saddle | None:
    """Return a saddle whose line serves all numbers on the straight way between two; None if it is
    clamped. Deviations and decays along the way are between those of its ends."""
    ends = [parts_of(summands, first), parts_of(summands, last)]
    found = [saddle_at(parts, shift, epsilon) for parts in ends]
    if any(saddle.clamped for saddle in found):
        return None
    theta = max(saddle.theta for saddle in found)
    if any(saddle.theta < theta for saddle in found):
        found = [saddle_at(parts, shift, epsilon, theta_least=theta) for parts in ends]
    period = max(saddle.period for saddle in found)
    if any(saddle.period < period for saddle in found):
        found = [
            saddle_at(parts, shift, epsilon, theta_least=theta, period_least=period)
            for parts in ends
        ]
    return max(found, key=lambda saddle: saddle.nodes)


def parts_of(summands: Summands, counts: Counts) -> Parts:
    """Return the summands with their numbers, without those of which there are none."""
    return [(part, count) for part, count in zip(summands, counts, strict=True) if count]


def runs(counts: Sequence[int]) -> Iterator[list[int]]:
    """Yield stretches of rising numbers of records that can share a line."""
    run: list[int] = []
    for count in counts:
        if run and count > run[0] * _RUN:
            yield run
            run = []
        run.append(count)
    if run:
        yield run


@dataclass(frozen=True)
class Maxima:
    """Where on a line the maxima of a run are, in floats: at counts·slopes + shift/2 + move."""

    slopes: list[float]
    moves: Floats
    deviations: Floats
    deltas: Floats


def maxima(
    summands: Summands, rows: Sequence[Counts], shift: float, epsilon: float, saddle: Saddle
) -> Maxima:
    """Return the maxima of G for each row of numbers, all at once: Newton's method in floats."""
    many = np.array(rows, dtype=np.float64)
    slopes, variances = np.array([part.slope(epsilon / shift) for part in summands]).T
    deviations = np.sqrt(many @ variances)[:, None]
    step = 2 * math.pi / saddle.period
    z = saddle.theta + 1j * step * np.arange(saddle.nodes + 1)
    cumulants = np.array([_cumulants(part, z) for part in summands])
    exponent = many @ (cumulants - slopes[:, None] * z) - z * shift / 2 + epsilon
    scale = exponent[:, :1].real
    weight = np.full(len(z), step / math.pi)
    weight[0] /= 2
    heights = weight * np.exp(exponent - scale) * np.expm1(z * shift - epsilon)
    moves = np.zeros_like(deviations)
    for _ in range(8):
        terms = heights * np.exp(-z * moves)
        first, second = -terms.sum(axis=1).real, (z * terms).sum(axis=1).real
        newton = np.where(second < 0, -first / np.where(second < 0, second, -1.0), 0.0)
        newton = np.clip(newton[:, None], -deviations / 4, deviations / 4)
        moves = moves + newton
        if np.all(np.abs(newton) <= 1e-4 * deviations):  # what is left is the square of it
            break
    den = -np.expm1(-z) if saddle.lattice else z
    at = moves
    if saddle.lattice:
        tops = np.array([float(part.top) for part in summands])
        origin = (many @ (tops - slopes))[:, None] - shift / 2
        at = origin - np.floor(origin - moves)  # the first point from which G does not rise
    values = (heights * np.exp(-z * at) / den).sum(axis=1).real
    with np.errstate(over="ignore"):
        deltas = np.where(values > 0, np.exp(np.minimum(scale[:, 0], 700.0)) * values, 1.0)
    return Maxima(slopes.tolist(), moves[:, 0], deviations[:, 0], np.minimum(deltas, 1.0))


def rough_delta(parts: Parts, shift: float, epsilon: float) -> float:
    """Return delta in floats: right to nine digits or so, and not a bound.

    >>> f"{rough_delta([(Interval(), 1000)], 0.5, 0.2):.6e}"
    '1.974667e-06'
    """
    saddle = saddle_at(parts, shift, epsilon)
    step = 2 * math.pi / saddle.period
    z = saddle.theta + 1j * step * np.arange(saddle.nodes + 1)
    exponent = -z * saddle.point + saddle.epsilon
    for part, count in parts:
        exponent += count * _cumulants(part, z)
    scale = exponent[0].real
    den = -np.expm1(-z) if saddle.lattice else z
    weight = np.full(len(z), step / math.pi)
    weight[0] /= 2
    heights = weight * np.exp(exponent - scale) * np.expm1(z * shift - saddle.epsilon) / den
    move = 0.0
    for _ in range(12):
        terms = heights * np.exp(-z * move)
        first, second = -(z * terms).sum().real, (z * z * terms).sum().real
        if second >= 0:
            break
        move += max(-saddle.deviation, min(saddle.deviation, -first / second))
    moves = [round(move) + k for k in (-1, 0, 1)] if saddle.lattice else [move]
    best = max(float((heights * np.exp(-z * m)).sum().real) for m in moves)
    return min(1.0, best * math.exp(scale)) if best > 0 and scale < 700 else 1.0


def _cumulants(part: Summand, z: Floats) -> Floats:
    """Return the cumulant function on an array of points."""
    match part:
        case Interval():
            return _log_sinhc(z)
        case Lattice(points):
            return _log_sinhc(points * z) - _log_sinhc(z)
        case _:
            p = float(part.heads)
            logs: Floats = np.log1p(p * np.expm1(z))
            return logs


def _log_sinhc(z: Floats) -> Floats:
    y = z * z
    series = y / 24 - y**2 / 2880 + y**3 / 181440 - y**4 / 9676800 + y**5 / 479001600
    small = np.abs(z) < 0.35
    safe = np.where(small, 1.0, z)
    return np.where(small, series, safe / 2 + np.log(-np.expm1(-safe) / safe))


def _moments(parts: Parts, theta: float) -> tuple[float, float]:
    mean = variance = 0.0
    for part, count in parts:
        first, second = part.slope(theta)
        mean, variance = mean + count * first, variance + count * second
    return mean, variance


def _cumulant(parts: Parts, theta: float) -> float:
    return sum(count * part.cumulant(complex(theta)).real for part, count in parts)


def _steepest(hopeless: Callable[[float], bool]) -> float:
    """Return about the largest tilt that is not hopeless.

    Near the edge of the sum's range floats lose everything and the saddle stops describing the
    law; and below e^-720 delta is beyond what floats hold, while a Fourier sum gets ever longer.
    """
    low, high = 0.0, 1e-9
    while high < 1e6 and not hopeless(high):
        low, high = high, 4 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if hopeless(middle) else (middle, high)
    return max(low, 1e-12)


def _nodes(parts: Parts, theta: float, step: float, digits: float) -> int:
    """Return how many nodes it takes until what follows is below e^-digits of the first."""
    start = _cumulant(parts, theta)

    def enough(last: float) -> bool:
        return _drop(parts, theta, last * step, start) >= digits + math.log1p(last)

    high = 8.0
    while high < 1e6 and not enough(high):
        high *= 1.5
    return math.ceil(high)


def _drop(parts: Parts, theta: float, away: float, start: float) -> float:
    """Return minus the logarithm of the proved decay, in floats."""
    total = 0.0
    for part, count in parts:
        total -= 0.5 * count * math.log(max(_decay(part, theta, away), 1e-300))
    return total


def _decay(part: Summand, theta: float, away: float) -> float:
    match part:
        case Interval():
            side = (math.sin(away / 2) / (away / 2)) ** 2 if away <= 4 else 4 / away**2
            side *= math.exp(-2 * part.cumulant(complex(theta)).real)
            return 1 - (1 - side) * away**2 / (theta**2 + away**2)
        case Lattice(points):
            away = min(away, math.pi)
            b = math.sin(away / 2) ** 2
            a = math.sinh(min(theta / 2, 300)) ** 2
            side = (math.sin(points * away / 2) ** 2 if away * points <= 4 else 1) / (points**2 * b)
            side *= math.exp(-2 * part.cumulant(complex(theta)).real)
            return 1 - (1 - side) * b / (a + b)
        case _:
            p = float(part.heads)
            height = (1 - p + p * math.exp(theta)) ** 2
            away = min(away, math.pi)
            return 1 - 4 * p * (1 - p) * math.exp(theta) * math.sin(away / 2) ** 2 / height
