"""Neighbouring output distributions of the standard mechanisms, in closed form.

Each class is the pair P = noise, Q = noise + shift, symmetric under swapping. It knows its hockey
stick (rounded up), its trade-off curve (rounded down) and the tail of its privacy loss (rounded
up); that is all `sanql.theory.meaning` needs to say what an attacker can learn from the actual
mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Protocol

from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError
from sanql.theory.exact import (
    Real,
    as_count,
    as_epsilon,
    as_fraction,
    as_level,
    as_loss,
    as_positive,
    as_rate,
    as_width,
    down,
    exp_lower,
    exp_upper,
    float_lower,
    float_upper,
    log_lower,
    quoted,
    up,
)

_NORMAL = NormalDist()
_SMALL_LOSS = 1e-5
_TINIEST = 8 * math.ulp(0.0)
_SLACK = 1e-12  # covers the rounding of erfc, whose relative error grows with its argument
_TINY = 1e-300  # covers underflow
EXPONENT_MAX = 700.0  # beyond it e^x leaves the range of a double


class Pair(Protocol):
    """Two neighbouring output distributions, as far as privacy is concerned."""

    @property
    def epsilon_max(self) -> float:
        """The largest privacy loss of any output; infinite when there is none."""

    def hockey_stick(self, gamma: float) -> float:
        """Return an upper bound on H_gamma, the same in both orders, for gamma >= 1."""

    def tradeoff(self, false_positive: float) -> float:
        """Return a lower bound on the least false negative rate at a false positive rate."""

    def loss_tail(self, epsilon: float) -> float:
        """Return an upper bound on Pr[|privacy loss| > epsilon] under either distribution."""


@dataclass(frozen=True)
class LaplacePair:
    """Laplace noise of scale b and a shift D: everything depends on epsilon_0 = D/b.

    >>> pair = LaplacePair(scale=1.0, shift=1.0)
    >>> round(pair.statistical_difference, 6), round(pair.hockey_stick(1.0), 6)
    (0.393469, 0.393469)
    """

    scale: float
    shift: float = 1.0

    def __post_init__(self) -> None:
        as_width(self.scale, "scale")
        as_width(self.shift, "shift")

    @property
    def epsilon_max(self) -> float:
        """The ratio shift/scale."""
        return up(self.shift / self.scale, 1)

    @property
    def statistical_difference(self) -> float:
        """The value 1 - e^(-epsilon_0 / 2)."""
        return -math.expm1(-self.shift / self.scale / 2)

    @property
    def standard_deviation(self) -> float:
        """The noise's standard deviation sqrt(2) b (the printed Cor. 5.2 says b)."""
        return math.sqrt(2) * self.scale

    @property
    def kl_divergence(self) -> float:
        """The value epsilon_0 - 1 + e^(-epsilon_0)."""
        loss = self.shift / self.scale
        # near 0 the three terms cancel
        return loss**2 / 2 * (1 - loss / 3) if loss < _SMALL_LOSS else loss + math.expm1(-loss)

    def renyi_moment(self, order: float) -> float:
        """Return a/(2a-1) e^((a-1) epsilon_0) + (a-1)/(2a-1) e^(-a epsilon_0)."""
        order = _order(order)
        loss, weight = self.shift / self.scale, 2 * order - 1
        if (order - 1) * loss > EXPONENT_MAX:
            return math.inf
        return order / weight * math.exp((order - 1) * loss) + (order - 1) / weight * math.exp(
            -order * loss
        )

    def hockey_stick(self, gamma: float) -> float:
        """Return 1 - sqrt(gamma e^(-epsilon_0)) up to e^epsilon_0, then 0; rounded up."""
        gamma = as_level(gamma)
        gap = down(log_lower(gamma) - self.epsilon_max, 1)
        return 0.0 if gap >= 0 else min(1.0, up(-math.expm1(gap / 2)))

    def tradeoff(self, false_positive: float) -> float:
        """Return the best false negative rate; rounded down."""
        false_positive = as_rate(false_positive, "false_positive")
        if false_positive == 0:
            return 1.0
        shrink = max(0.0, down(math.exp(-self.epsilon_max)))
        if false_positive < shrink / 2:
            best = 1 - false_positive / shrink
        elif false_positive <= 0.5:
            best = shrink / (4 * false_positive)
        else:
            best = shrink * (1 - false_positive)
        return max(0.0, down(best))

    def loss_tail(self, epsilon: float) -> float:
        """Return 1 - e^(-(e0-eps)/2)/2 + e^(-(e0+eps)/2)/2 below e0, then 0."""
        epsilon = as_loss(epsilon)
        if reaches(epsilon, self.scale, self.shift):
            return 0.0
        loss = self.epsilon_max
        near, far = math.exp((epsilon - loss) / 2), math.exp(-(epsilon + loss) / 2)
        return min(1.0, up(1 - (near - far) / 2 + _SLACK * far, 8))


@dataclass(frozen=True)
class GaussianPair:
    """Gaussian noise: everything depends on mu = shift / standard deviation.

    >>> GaussianPair(mu=1.0).hockey_stick(math.e) < 0.127
    True
    """

    mu: float

    def __post_init__(self) -> None:
        as_width(self.mu, "mu")

    @property
    def epsilon_max(self) -> float:
        """Infinite: some output is arbitrarily telling."""
        return math.inf

    @property
    def kl_divergence(self) -> float:
        """The value mu^2/2."""
        return self.mu**2 / 2

    def renyi_divergence(self, order: float) -> float:
        """Return order mu^2/2."""
        return _order(order) * self.mu**2 / 2

    def hockey_stick(self, gamma: float) -> float:
        """Return Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), rounded up."""
        gamma = as_level(gamma)
        epsilon = min(math.log(gamma), EXPONENT_MAX)  # beyond, a smaller level bounds from above
        gamma = min(gamma, math.exp(EXPONENT_MAX))
        caught, below = (_normal_below(z) for z in self._ends(epsilon))
        # a tail below the normal floats has few digits, and gamma makes them large
        blamed = gamma * max(0.0, below - _TINIEST)
        return min(1.0, max(0.0, caught - blamed) + _SLACK * (caught + blamed) + _TINY)

    def tradeoff(self, false_positive: float) -> float:
        """Return Phi(Phi^-1(1 - alpha) - mu), rounded down."""
        false_positive = as_rate(false_positive, "false_positive")
        if false_positive <= 0 or false_positive >= 1:
            return 1.0 if false_positive <= 0 else 0.0
        threshold = -_NORMAL.inv_cdf(false_positive)
        return max(0.0, _normal_below(threshold - self.mu) * (1 - 1e-12) - 1e-300)

    def loss_tail(self, epsilon: float) -> float:
        """Return Pr[|N(mu^2/2, mu^2)| > epsilon], rounded up."""
        epsilon = as_loss(epsilon)
        if epsilon == math.inf:
            return 0.0
        above, below = (_normal_below(z) for z in self._ends(epsilon))
        return min(1.0, (above + below) * (1 + _SLACK) + _TINY)

    def _ends(self, epsilon: float) -> tuple[float, float]:
        """mu/2 - eps/mu and -mu/2 - eps/mu, each rounded once: for a large mu the terms cancel."""
        mu, loss = Fraction(self.mu), Fraction(epsilon)
        return float_upper(mu / 2 - loss / mu), float_upper(-mu / 2 - loss / mu)


@dataclass(frozen=True)
class GuaranteedPair:
    """The worst pair a bare (epsilon, delta) guarantee allows.

    With probability delta the output tells everything, otherwise it is randomised response with
    odds e^epsilon; every (epsilon, delta)-indistinguishable pair is a post-processing of it.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        as_epsilon(as_loss(self.epsilon))
        as_rate(self.delta, "delta")

    @property
    def epsilon_max(self) -> float:
        """Epsilon itself when delta is 0, else infinite."""
        return self.epsilon if self.delta == 0 else math.inf

    def hockey_stick(self, gamma: float) -> float:
        """Return delta + (1 - delta) (e^epsilon - gamma)_+ / (e^epsilon + 1), rounded up."""
        gamma = as_level(gamma)
        if self.epsilon > 2 * EXPONENT_MAX:
            return 1.0
        # beyond the floats e^epsilon is the square of a float
        parts = 1 if self.epsilon <= EXPONENT_MAX else 2
        delta, odds = Fraction(self.delta), Fraction(exp_upper(self.epsilon / parts)) ** parts
        if gamma >= odds:
            return float(self.delta)
        return float_upper(delta + (1 - delta) * (odds - Fraction(gamma)) / (1 + odds))

    def tradeoff(self, false_positive: float) -> float:
        """Return max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)), rounded down."""
        alpha = Fraction(as_rate(false_positive, "false_positive"))
        rest = 1 - Fraction(self.delta)
        if self.epsilon > EXPONENT_MAX:
            return float_lower(rest) if alpha == 0 else 0.0
        gamma = Fraction(exp_upper(self.epsilon))
        return float_lower(max(Fraction(0), rest - gamma * alpha, (rest - alpha) / gamma))

    def loss_tail(self, epsilon: float) -> float:
        """Return the largest chance of a loss above epsilon that the guarantee allows.

        Above the guaranteed epsilon it is delta (1 + 1/g') / (1 - g/g') with g' = e^epsilon: the
        corrected, sharp form of Kasiviswanathan-Smith Claim 3.3(2). At or below it may be 1.
        """
        epsilon = as_loss(epsilon)
        if epsilon >= self.epsilon and self.delta == 0:
            return 0.0
        if epsilon <= self.epsilon:
            return 1.0
        odds, top = exp_lower(epsilon), exp_upper(self.epsilon)
        if top >= odds:
            return 1.0
        level = Fraction(odds)
        return float_upper(
            min(Fraction(1), Fraction(self.delta) * (level + 1) / (level - Fraction(top)))
        )


def reaches(epsilon: float, scale: float, shift: float) -> bool:
    """Return whether epsilon is at least shift/scale, decided without rounding."""
    return epsilon == math.inf or Fraction(epsilon) * Fraction(scale) >= Fraction(shift)


def geometric_mass(ratio: Real, k: int) -> Fraction:
    """Return (1 - a)/(1 + a) a^|k|, the exact mass of two-sided geometric noise at k."""
    a = _geometric_ratio(ratio)
    return (1 - a) / (1 + a) * a ** abs(k)


def geometric_pair(ratio: Real, shift: int = 1) -> tuple[Distribution, Distribution]:
    """Return the exact pair of two-sided geometric noise around 0 and around the shift, clamped.

    Clamping to [0, shift] merges only outcomes of equal likelihood ratio, so every divergence is
    that of the unclamped pair. At shift 1 it is randomised response with odds 1/a.

    >>> p, q = geometric_pair("1/2")
    >>> p.masses, q.masses
    ((Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3)))
    """
    a = _geometric_ratio(ratio)
    as_count(shift, "shift", most=10_000)
    ends = 1 / (1 + a)
    p = [ends, *(geometric_mass(a, k) for k in range(1, shift)), a**shift * ends]
    return Distribution.over(p), Distribution.over(reversed(p))


def randomised_response_pair(odds: Real) -> tuple[Distribution, Distribution]:
    """Return (r, 1)/(1+r) and its mirror: the truth is told with odds r against the lie."""
    r = as_positive(odds, "odds")
    return Distribution.over([r / (1 + r), 1 / (1 + r)]), Distribution.over(
        [1 / (1 + r), r / (1 + r)]
    )


def _geometric_ratio(ratio: Real) -> Fraction:
    a = as_fraction(ratio, "ratio")
    if not 0 < a < 1:
        raise TheoryError(
            "ratio",
            f"the geometric ratio is {quoted(ratio)}, it lies between 0 and 1",
            "give 0 < ratio < 1",
        )
    return a


def _order(order: float) -> float:
    if as_loss(order, "the order") <= 1 or order == math.inf:
        raise TheoryError(
            "renyi_order", f"the order is {order}, it must be above 1 and finite", "give order > 1"
        )
    return float(order)


def _normal_below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))
