"""The laws a certificate adds up: a uniform interval, a uniform lattice, a coin.

Each has its cumulant function `kappa(z) = log E e^{zX}`, in floats for searching and in balls for
certifying, and a proved bound on how fast it decays along a vertical line of the complex plane,
which is what cuts a Fourier sum off. For the uniform laws the squared modulus of `E e^{zX}` at
θ + iu is a weighted mean of its values A at u = 0 and B(u) at θ = 0,

    |M(θ + iu)|² = (a A + b B(u)) / (a + b),    hence  |M(θ + iu)|²/A = 1 − (1 − B/A)·b/(a + b),

with a = θ²/4, b = u²/4 (interval) or a = sinh²(θ/2), b = sin²(u/2) (lattice). b grows with u and
B stays below a falling envelope, so the right side at U bounds every u ≥ U.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.computed_once import computed_once
from sanql.mechanisms.noiseless.numbers import as_ball

if TYPE_CHECKING:
    from flint import acb, arb

SERIES_BELOW = 0.35


@dataclass(frozen=True)
class Interval:
    """The uniform law on [−1/2, 1/2]."""

    lattice = False

    @property
    def top(self) -> Fraction:
        """The largest value."""
        return Fraction(1, 2)

    def cumulant(self, z: complex) -> complex:
        """Return kappa(z) in floats."""
        return _log_sinhc(z)

    def slope(self, theta: float) -> tuple[float, float]:
        """Return the first and second derivative of kappa at a real point."""
        return _slope(theta)

    def cumulant_balls(self, points: list[acb]) -> list[acb]:
        """Return kappa in balls, for Re z > 0; any branch of the logarithm will do."""
        return _logs([(z / 2).sinh() / (z / 2) for z in points])

    def decay(self, theta: arb, away: arb) -> arb:
        """Return a bound of |M(θ + iu)/M(θ)|² over all |u| ≥ away."""
        height = ((theta / 2).sinh() / (theta / 2)) ** 2
        # sin²(u/2)/(u/2)² falls until 2π and stays below its value at 4 from there on
        side = ((away / 2).sin() / (away / 2)) ** 2 if away <= 4 else 4 / away**2
        return 1 - (1 - side / height) * away**2 / (theta**2 + away**2)


@dataclass(frozen=True)
class Lattice:
    """The uniform law on `points` consecutive integers, moved to have mean zero."""

    points: int
    lattice = True

    @property
    def top(self) -> Fraction:
        """The largest value, a whole or a half number."""
        return Fraction(self.points - 1, 2)

    def cumulant(self, z: complex) -> complex:
        """Return kappa(z) in floats."""
        return _log_sinhc(self.points * z) - _log_sinhc(z)

    def slope(self, theta: float) -> tuple[float, float]:
        """Return the first and second derivative of kappa at a real point."""
        wide, fine = _slope(self.points * theta), _slope(theta)
        return self.points * wide[0] - fine[0], self.points**2 * wide[1] - fine[1]

    def cumulant_balls(self, points: list[acb]) -> list[acb]:
        """Return kappa in balls, for Re z > 0; any branch of the logarithm will do."""
        count = self.points
        return _logs([(count * z / 2).sinh() / (count * (z / 2).sinh()) for z in points])

    def decay(self, theta: arb, away: arb) -> arb:
        """Return a bound of |M(θ + iu)/M(θ)|² over away ≤ |u| ≤ π."""
        count = self.points
        a, b = (theta / 2).sinh() ** 2, (away / 2).sin() ** 2
        height = (count * theta / 2).sinh() ** 2 / (count**2 * a)
        # sin²(Nu/2)/(N sin(u/2))² falls until 2π/N; later lobes lie below its value at 4/N
        within = away * count <= 4
        side = ((count * away / 2).sin() ** 2 if within else 1) / (count**2 * b)
        return 1 - (1 - side / height) * b / (a + b)


@dataclass(frozen=True)
class Coin:
    """The law of a coin: 1 with the given probability, else 0."""

    heads: Fraction
    lattice = True

    @computed_once
    def _p(self) -> float:
        return float(self.heads)

    @property
    def top(self) -> Fraction:
        """The largest value."""
        return Fraction(1)

    def cumulant(self, z: complex) -> complex:
        """Return kappa(z) in floats."""
        return cmath.log(1 - self._p + self._p * cmath.exp(z))

    def slope(self, theta: float) -> tuple[float, float]:
        """Return the first and second derivative of kappa at a real point."""
        tilted = self._p / (self._p + (1 - self._p) * math.exp(-theta))
        return tilted, tilted * (1 - tilted)

    def cumulant_balls(self, points: list[acb]) -> list[acb]:
        """Return kappa in balls; any branch of the logarithm will do."""
        p = as_ball(self.heads)
        rest = 1 - p
        return _logs([rest + p * z.exp() for z in points])

    def decay(self, theta: arb, away: arb) -> arb:
        """Return a bound of |M(θ + iu)/M(θ)|² over away ≤ |u| ≤ π; here it is exact."""
        p = as_ball(self.heads)
        height = (1 - p + p * theta.exp()) ** 2
        return 1 - 4 * p * (1 - p) * theta.exp() * (away / 2).sin() ** 2 / height


Summand = Interval | Lattice | Coin


def _logs(values: list[acb]) -> list[acb]:
    """Return logarithms whose cut is kept away from the value: counts are whole, so 2πi is 0."""
    from flint import acb, arb

    turn = acb(0, arb.pi())
    return [(-value).log() + turn if value.real < 0 else value.log() for value in values]


def _log_sinhc(z: complex) -> complex:
    """Return log(sinh(z/2)/(z/2)), by its series near zero where the formula would cancel."""
    if abs(z) < SERIES_BELOW:
        y = z * z
        return y / 24 - y**2 / 2880 + y**3 / 181440 - y**4 / 9676800 + y**5 / 479001600
    # e^{z/2} is taken out so that a large real part cannot overflow
    return z / 2 + cmath.log((1 - cmath.exp(-z)) / z)


def _slope(theta: float) -> tuple[float, float]:
    """Return the first and second derivative of log(sinh(θ/2)/(θ/2))."""
    if abs(theta) < SERIES_BELOW:
        y = theta * theta
        first = theta * (1 / 12 - y / 720 + y**2 / 30240 - y**3 / 1209600)
        return first, 1 / 12 - y / 240 + y**2 / 6048 - y**3 / 172800
    half = theta / 2
    if abs(half) > 300:
        return math.copysign(0.5, half) - 1 / theta, 1 / theta**2
    return 0.5 / math.tanh(half) - 1 / theta, 1 / theta**2 - 0.25 / math.sinh(half) ** 2
