"""Tails of a sum of log-likelihood ratios from both sides, by a smoothed contour integral.

S = Σ ln(h(X_i)/f(X_i)) for n records drawn from f. With Z standard normal and Y = S + τZ,

    P(Y > v) = e^{nK(c)+τ²c²/2−cv} · (1/2π) ∫ φ(t)^n e^{−τ²t²/2} e^{it(τ²c−v)}/(c + it) dt,   c > 0,

φ the characteristic function of a ratio tilted by c, e^{K(c)} = Σ f^{1−c} h^c. A sum over steps 2π/Λ
adds e^{cjΛ}·P(Y > v + jΛ) for j ≠ 0, all positive: at most Σ e^{−cjΛ} for j < 0, and Chernoff's
bound at a greater c for j > 0. What is beyond the last node is at most a normal tail. S and Y differ
by more than η = rτ with the chance p of a normal beyond r, which gives

    P(S > u) ≤ P(Y > u − η)/(1 − p)        since S > u and τZ > −η make Y > u − η,
    P(S > u) ≥ P(Y > u + η) − p·e^{nK(s)−su}   as P(Z > r + w/τ) ≤ p·e^{−rw/τ}, for s ≤ r/τ.

Ties: where all ratios are powers of one number S has atoms, and u is put between two of them by
exact arithmetic; elsewhere an atom counts for the upper and not for the lower bound. Floats are
rounded outward by bounds of what each operation can have lost, stated where they are made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sanql.mechanisms.noiseless.numbers import as_ball
from sanql.mechanisms.noiseless.precision import precision

NODES_MAX = 1_000_000
_FINENESS = 1000
"""A record's least ratio is so many times as wide as what is smoothed, if the nodes suffice."""
_CHUNK = 1 << 16
_REACH = 5.5
"""How many τ a normal is followed: r, and beyond the last node."""
_BEYOND = math.erfc(_REACH / math.sqrt(2)) / 2 * (1 + 1e-12)
_LATTICE_POWERS = 64
_BITS_MAX = 1_000_000
_ROUNDOFF = 2.0**-50
"""Four units: each operation below loses at most two in floats of 53 bits."""


@dataclass(frozen=True)
class Ratios:
    """The law of one log-likelihood ratio ln(h/f) under f."""

    chances: tuple[Fraction, ...]
    ratios: tuple[Fraction, ...]

    @property
    def logs(self) -> np.ndarray:
        """The logarithms of the ratios, right to two units in the last place of the larger part."""
        return np.array([log_of(ratio) for ratio in self.ratios])

    def base(self) -> tuple[Fraction, tuple[int, ...]] | None:
        """Return G > 1 and whole m with ratios[i] = ratios[0]·G^m[i], or None.

        >>> thirds = (Fraction(1, 3),) * 3
        >>> Ratios(thirds, (Fraction(5, 2), Fraction(1), Fraction(2, 5))).base()
        (Fraction(5, 2), (0, -1, -2))
        """
        steps = [ratio / self.ratios[0] for ratio in self.ratios]
        others = sorted({step if step > 1 else 1 / step for step in steps} - {Fraction(1)})
        if not others:
            return None
        generator = others[0]
        for step in others[1:]:
            found = _common_root(generator, step)
            if found is None:
                return None
            generator = found
        return generator, tuple(_power_of(generator, step) for step in steps)


def tails(
    ratios: Ratios, count: int, weights: Sequence[tuple[Fraction, bool]], nodes: int = NODES_MAX
) -> list[tuple[float, float]]:
    """Return bounds (lower, upper) of P(w·Π ratios > 1), or ≥ 1 where ties count, for each (w, ties).

    >>> coin = Ratios((Fraction(3, 5), Fraction(2, 5)), (Fraction(2, 3), Fraction(3, 2)))
    >>> [(low, high)] = tails(coin, 20, [(Fraction(1), False)])
    >>> round(low, 4), round(high, 4)  # more than 10 of 20 at 0.4
    (0.1275, 0.1275)
    """
    levels = [_level(ratios, count, weight, ties) for weight, ties in weights]
    order = sorted(range(len(levels)), key=lambda i: levels[i].point)
    found: list[tuple[float, float]] = [(0.0, 1.0)] * len(levels)
    line = None
    for i in order:
        level = levels[i]
        if line is None or not line.serves(level):
            line = _Line(ratios, count, level, nodes)
        found[i] = line.bounds(level)
    return found


def log_of(value: Fraction) -> float:
    """Return ln of a positive rational, right to a few units in the last place of the result.

    >>> log_of(Fraction(10**200 + 1, 10**200))
    1e-200
    """
    if Fraction(1, 2) < value < 2:
        away = value - 1
        return math.log1p(float(away))
    return math.log(value.numerator) - math.log(value.denominator)


@dataclass(frozen=True)
class _Level:
    """A threshold of S, and how far from it another one means the same."""

    point: float
    spare: float
    slip: float


def _level(ratios: Ratios, count: int, weight: Fraction, ties: bool) -> _Level:
    logs = ratios.logs
    slip = (count * float(np.abs(logs).max()) + abs(log_of(weight)) + 1) * 2 * _ROUNDOFF
    base = ratios.base()
    if base is not None:
        generator, powers = base
        atom = _last_atom(ratios.ratios[0], generator, count, weight, ties)
        if atom is not None:
            width = log_of(generator)
            point = count * float(logs[0]) + (atom + 0.5) * width
            slip += (abs(atom) + count * max(map(abs, powers)) + 1) * width * 2 * _ROUNDOFF
            return _Level(point, width / 2, slip)
    return _Level(-log_of(weight), 0.0, slip)


def _last_atom(
    first: Fraction, generator: Fraction, count: int, weight: Fraction, ties: bool
) -> int | None:
    """Return the greatest whole m with weight·first^count·generator^m not above (below) 1."""
    with precision(256):
        place = -(as_ball(weight).log() + count * as_ball(first).log()) / as_ball(generator).log()
        whole = place.floor().unique_fmpz()
        if whole is not None:
            return int(whole)
        near = (place.mid() + as_ball(Fraction(1, 2))).floor().unique_fmpz()
    if near is None or _bits(first) * count + _bits(generator) * abs(int(near)) > _BITS_MAX:
        return None
    at = weight * first**count * generator ** int(near)
    return int(near) - (1 if at > 1 or (at == 1 and ties) else 0)


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


class _Line:
    """The terms of the sum at one c, for thresholds near to each other."""

    def __init__(self, ratios: Ratios, count: int, level: _Level, nodes: int) -> None:
        self.logs, self.count = ratios.logs, count
        self.chances = np.array([float(p) for p in ratios.chances])
        self.spread = float(self.logs.max() - self.logs.min())
        self.c = self._best_power(level.point)
        tilted = self.chances * np.exp(self.c * (self.logs - self.logs.max()))
        self.tilted = tilted / tilted.sum()
        self.mean = float(self.tilted @ self.logs)
        self.deviation = math.sqrt(
            max(float(self.tilted @ (self.logs - self.mean) ** 2), 1e-300) * count
        )
        self.height = self._height(self.c)
        rare = max(0.0, self.c * level.point - self.height)
        self.period = max(9 * self.deviation, (rare + 24) / self.c)
        wanted = (
            level.spare / 2 or float(np.abs(self.logs[self.logs != 0]).min(initial=1.0)) / _FINENESS
        )
        self.eta = max(wanted, _REACH**2 * self.period / (2 * math.pi * nodes))
        self.tau = self.eta / _REACH
        self._sum(level)

    def serves(self, level: _Level) -> bool:
        """Return whether a threshold is near enough, and spares as much as this line needs."""
        same = abs(level.point - self.point) <= min(self.deviation, 3 / self.c)
        return same and (level.spare > 0) == (self.spare > 0)

    def bounds(self, level: _Level) -> tuple[float, float]:
        """Return bounds of P(S > level)."""
        moved = self.eta + level.slip
        low, high = self._lower(level.point, moved), self._upper(level.point, moved)
        return (low, high) if math.isfinite(low) and math.isfinite(high) else (0.0, 1.0)

    def _best_power(self, point: float) -> float:
        """Return about the c > 0 with the least e^{nK(c)−cv}/c: its logarithm is convex."""
        low, high = 1e-9, 64.0
        for _ in range(60):
            c = math.sqrt(low * high)
            terms = self.chances * np.exp(c * (self.logs - self.logs.max()))
            slope = self.count * float(terms @ self.logs / terms.sum()) - point - 1 / c
            low, high = (low, c) if slope > 0 else (c, high)
        return math.sqrt(low * high)

    def _height(self, c: float) -> float:
        """Return nK(c)."""
        top = float((c * self.logs).max())
        return self.count * (top + math.log(float(self.chances @ np.exp(c * self.logs - top))))

    def _sum(self, level: _Level) -> None:
        """Keep the nodes whose terms are not negligible, and a bound of what is left out."""
        self.point, self.spare = level.point, level.spare
        self.step = 2 * math.pi / self.period
        last = math.ceil(_REACH / (self.tau * self.step))
        moved = self.logs - self.mean
        places, terms, dropped = [], [], 0.0
        for begin in range(0, last + 1, _CHUNK):
            t = np.arange(begin, min(begin + _CHUNK, last + 1)) * self.step
            law = np.exp(1j * np.outer(t, moved)) @ self.tilted
            size = np.maximum(np.abs(law), 1e-300)
            depth = self.count * np.log(size) - (self.tau * t) ** 2 / 2
            kept = depth > -45
            dropped += float(np.exp(depth[~kept]).sum() + (~kept).sum() * 1e-19) / self.c
            at = t[kept]
            turn = self.count * np.angle(law[kept]) + self.tau**2 * self.c * at
            terms.append(np.exp(depth[kept] + 1j * turn) / (self.c + 1j * at))
            places.append(at)
        self.places, self.terms = np.concatenate(places), np.concatenate(terms)
        self.terms[0] /= 2
        mass = float(np.abs(self.terms).sum()) * self.step / math.pi
        angle = float(self.places[-1]) * (self.spread + 1)
        lost = (self.count * (angle + len(self.logs) + 8) + 64) * 2 * _ROUNDOFF
        self.left_out = dropped * self.step / math.pi + mass * lost
        self.far, self.lost = self._normal_rest(last), lost

    def _normal_rest(self, last: int) -> float:
        """Return a bound of (step/π) Σ e^{−τ²t²/2}/t over the nodes beyond the last."""
        t = (last + 1) * self.step
        first = math.exp(-((self.tau * t) ** 2) / 2) / t
        ratio = math.exp(-(self.tau**2) * t * self.step)
        return first / (1 - ratio) * self.step / math.pi * (1 + 1e-9)

    def _at(self, v: float) -> tuple[float, float, float]:
        """Return the sum at v, what it may be off, and the logarithm of both's factor."""
        away = v - self.count * self.mean
        turned = (self.terms * np.exp(-1j * self.places * away)).real
        total = float(turned.sum()) * self.step / math.pi
        mass = float(np.abs(self.terms).sum()) * self.step / math.pi
        phase = float(self.places[-1]) * abs(away) * 2 * _ROUNDOFF * mass
        factor = self.height + (self.tau * self.c) ** 2 / 2 - self.c * v
        grown = (abs(self.height) + abs(self.c * v) + self.count + 64) * 8 * _ROUNDOFF
        error = self.left_out + self.far + phase + (total + mass) * grown
        return total, error, factor

    def _upper(self, u: float, moved: float) -> float:
        total, error, factor = self._at(u - moved)
        tail = (total + error) * _exp(factor) / (1 - _BEYOND) * (1 + 1e-12)
        chernoff = _exp(self.height - self.c * u) * (1 + self.lost)
        return tail + chernoff if math.isnan(tail) else max(0.0, min(tail, chernoff, 1.0))

    def _lower(self, u: float, moved: float) -> float:
        v = u + moved
        total, error, factor = self._at(v)
        tail = (total - error) * _exp(factor) * (1 - 1e-12)
        aliases = self._aliases(v)
        power = min(self.c, _REACH / self.tau)
        unsmoothed = _BEYOND * _exp(self._height(power) - power * u) * (1 + self.lost)
        low = tail - aliases - unsmoothed
        return low if math.isnan(low) else min(1.0, max(0.0, low))

    def _aliases(self, v: float) -> float:
        """Return a bound of Σ e^{cjΛ} P(Y > v + jΛ) over j ≠ 0."""
        q = math.exp(-self.c * self.period)
        above = min(
            self._height(self.c + k) + (self.tau * (self.c + k)) ** 2 / 2 - (self.c + k) * v
            - k * self.period - math.log(-math.expm1(-k * self.period))
            for k in (2.0**i / self.period for i in range(3, 15))
        )  # fmt: skip
        return (q / (1 - q) + _exp(above)) * (1 + self.lost + 1e-9)


def _exp(power: float) -> float:
    return math.exp(min(power, 700.0))


def _common_root(first: Fraction, second: Fraction) -> Fraction | None:
    """Return the greatest G > 1 of which both are whole powers, if the powers are small."""
    small, large = sorted((first, second))
    for _ in range(_LATTICE_POWERS):
        if small == 1:
            return large
        if large > small ** (_LATTICE_POWERS + 1):
            return None
        while large >= small:
            large /= small
        if max(large.numerator.bit_length(), small.numerator.bit_length()) > 4000:
            return None
        small, large = sorted((small, large))
    return None


def _power_of(generator: Fraction, value: Fraction) -> int:
    power = round(log_of(value) / log_of(generator))
    if generator**power != value:
        raise ArithmeticError("a ratio is no power of the base that was found")
    return power
