"""Integer noise as data: the distribution, what it proves and how far it reaches.

A noise is a frozen description. sampler.py draws from it; the numbers here (intervals, tails) are
computed with integer enclosures and rounded to the side that promises less.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from sanql.errors import Refused
from sanql.mechanisms.enclosure import Enclosure, exp_minus
from sanql.mechanisms.summed import summed_gaussian_tail, summed_laplace_tail
from sanql.mechanisms.tails import gaussian_tail, laplace_tail, least_reaching, truncated_tail

SCALE_MAX = Fraction(1 << 52)  # scales lie between 1/SCALE_MAX and SCALE_MAX
LIMIT_MAX = 1 << 61

_TAIL_BITS = 192


class SymmetricNoise(ABC):
    """Noise on the integers that is as likely to be k as -k."""

    @abstractmethod
    def describe(self) -> str:
        """Return the distribution in a few words."""

    @property
    @abstractmethod
    def argument(self) -> str:
        """Why noise of this kind gives its claim, with the source."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """The root mean square of the noise."""

    @abstractmethod
    def tail(self, t: int, bits: int) -> Enclosure:
        """Return an enclosure of P(Z ≥ t) for t ≥ 1."""

    @abstractmethod
    def _guess(self, target: Fraction) -> float:
        """Return roughly the t where P(Z ≥ t) falls to the target; it only saves time."""

    def half_width(self, confidence: Fraction) -> int:
        """Return the least w with P(|Z| ≤ w) ≥ confidence; never less than the true one."""
        if not 0 < confidence < 1:
            raise Refused(
                "confidence_invalid",
                f"a confidence of {confidence} is not between 0 and 1",
                "ask for a confidence such as 0.95",
            )
        return self.quantile((1 + confidence) / 2)

    def quantile(self, probability: Fraction) -> int:
        """Return the least q ≥ 0 with P(Z ≤ q) ≥ probability; never less than the true one."""
        if not 0 < probability < 1:
            raise Refused(
                "confidence_invalid",
                f"a probability of {probability} is not between 0 and 1",
                "ask for a probability such as 0.95",
            )
        return self.least_reaching(1 - probability) - 1

    def least_reaching(self, target: Fraction) -> int:
        """Return the least t ≥ 1 with P(Z ≥ t) ≤ target; never less than the true one."""
        if 2 * target >= 1:
            return 1  # by symmetry less than half of the mass is above zero
        return _least_reaching(self, target)

    def tail_upper(self, t: int) -> Fraction:
        """Return an upper bound of P(Z ≥ t), within 2^-190 of it (1e-6 for a wide Gaussian)."""
        if t >= 1:
            return min(Fraction(1), self.tail(t, _TAIL_BITS).upper_fraction)
        beyond = self.tail(1 - t, _TAIL_BITS)
        return Fraction((1 << beyond.bits) - beyond.lower, 1 << beyond.bits)


@lru_cache(maxsize=256)
def _least_reaching(noise: SymmetricNoise, target: Fraction) -> int:
    return least_reaching(noise.tail, target, int(noise._guess(target)))


@lru_cache(maxsize=256)
def _described_laplace(scale: Fraction) -> str:
    return f"discrete Laplace, scale {_short(scale)}"


@lru_cache(maxsize=256)
def _deviation_of_laplace(scale: Fraction) -> float:
    rate = float(1 / scale)
    return math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate)


@dataclass(frozen=True)
class NoNoise(SymmetricNoise):
    """No noise, for a value that no privacy unit can move."""

    def describe(self) -> str:
        return "no noise: the value is public"

    @property
    def argument(self) -> str:
        return (
            "The value is the same on all neighbouring datasets, so releasing it reveals nothing."
        )

    @property
    def standard_deviation(self) -> float:
        return 0.0

    def tail(self, t: int, bits: int) -> Enclosure:
        return Enclosure(0, 0, bits)

    def _guess(self, target: Fraction) -> float:
        return 1.0


@dataclass(frozen=True)
class DiscreteLaplace(SymmetricNoise):
    """Noise with P(k) ∝ exp(-|k|/scale)."""

    scale: Fraction

    def __post_init__(self) -> None:
        _check_positive("scale of a discrete Laplace", self.scale)
        _check_range("scale of a discrete Laplace", self.scale, SCALE_MAX)

    def describe(self) -> str:
        return _described_laplace(self.scale)

    @property
    def argument(self) -> str:
        return (
            "Moving an integer by d changes the probability of each outcome by a factor of at most "
            "exp(d/scale), so integers that move by at most D in all are (D/scale)-differentially "
            "private (Ghosh, Roughgarden & Sundararajan, STOC 2009)."
        )

    @property
    def standard_deviation(self) -> float:
        return _deviation_of_laplace(self.scale)

    def tail(self, t: int, bits: int) -> Enclosure:
        return laplace_tail(self.scale, t, bits)

    def _guess(self, target: Fraction) -> float:
        return float(self.scale) * (_minus_log(target) - math.log1p(math.exp(-1 / self.scale)))


@dataclass(frozen=True)
class DiscreteGaussian(SymmetricNoise):
    """Noise with P(k) ∝ exp(-k²/(2·sigma2))."""

    sigma2: Fraction

    def __post_init__(self) -> None:
        _check_positive("sigma2 of a discrete Gaussian", self.sigma2)
        _check_range("sigma2 of a discrete Gaussian", self.sigma2, SCALE_MAX**2)

    def describe(self) -> str:
        return f"discrete Gaussian, sigma {_short(math.sqrt(self.sigma2))}"

    @property
    def argument(self) -> str:
        return (
            "Integers that move by at most D in Euclidean length satisfy concentrated differential "
            "privacy with rho = D²/(2·sigma2), as with the continuous Gaussian (Canonne, Kamath & "
            "Steinke, NeurIPS 2020, Theorem 4)."
        )

    @property
    def standard_deviation(self) -> float:
        if self.sigma2 >= 4:
            return math.sqrt(self.sigma2)  # from above, and closer than a double can tell
        masses = [math.exp(-k * k / float(2 * self.sigma2)) for k in range(80)]
        return math.sqrt(
            2
            * math.fsum(k * k * mass for k, mass in enumerate(masses))
            / (2 * math.fsum(masses) - 1)
        )

    def tail(self, t: int, bits: int) -> Enclosure:
        return gaussian_tail(self.sigma2, t, bits)

    def _guess(self, target: Fraction) -> float:
        minus_log = _minus_log(target)
        if minus_log > 700:
            return math.sqrt(2 * minus_log * self.sigma2)
        return -NormalDist(0, math.sqrt(self.sigma2)).inv_cdf(math.exp(-minus_log))


@dataclass(frozen=True)
class TruncatedGeometric(SymmetricNoise):
    """Noise with P(k) ∝ exp(-epsilon·|k|) on the integers from -limit to limit."""

    epsilon: Fraction
    limit: int

    def __post_init__(self) -> None:
        _check_positive("epsilon of a truncated geometric", self.epsilon)
        if type(self.limit) is not int or self.limit < 1:
            raise _invalid("limit of a truncated geometric", "a whole number", self.limit)
        _check_range("1/epsilon of a truncated geometric", 1 / self.epsilon, SCALE_MAX)
        _check_range("limit of a truncated geometric", Fraction(self.limit), Fraction(LIMIT_MAX))

    def describe(self) -> str:
        return f"truncated geometric, epsilon {_short(self.epsilon)}, limit {self.limit}"

    @property
    def argument(self) -> str:
        return (
            "When a count moves by one, each outcome changes by a factor of at most exp(epsilon), "
            "except for one at either end, of probability P(Z = limit): the count is (epsilon, "
            "delta)-differentially private with that probability as delta (Desfontaines, Voss, "
            "Gipson & Mandayam, PoPETs 2022)."
        )

    @property
    def standard_deviation(self) -> float:
        n = self.limit
        with localcontext() as context:
            # Numerator and denominator cancel down to the cube of epsilon.
            context.prec = 40 + 3 * len(str(self.epsilon.denominator)) + 2 * len(str(n))
            rate = Decimal(self.epsilon.numerator) / Decimal(self.epsilon.denominator)
            r, beyond = (-rate).exp(), (-rate * (n + 1)).exp()
            squares = r * (1 + r) - beyond * (
                (n + 1) ** 2 - (2 * n * n + 2 * n - 1) * r + n * n * r * r
            )
            return float((2 * squares / ((1 - r) ** 2 * (1 + r - 2 * beyond))).sqrt())

    def tail(self, t: int, bits: int) -> Enclosure:
        return truncated_tail(self.epsilon, self.limit, t, bits)

    def _guess(self, target: Fraction) -> float:
        return min(float(self.limit), _minus_log(target) / float(self.epsilon))


@dataclass(frozen=True)
class Geometric:
    """Noise with P(k) ∝ exp(-k/scale) on k = 0, 1, 2, …, for choosing the largest of noisy scores.

    Of many candidates one is chosen by permute and flip (choice.py), which is the same with scores and
    noise that are real numbers, and needs no draw for each.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        _check_positive("scale of a geometric", self.scale)
        _check_range("scale of a geometric", self.scale, SCALE_MAX)

    def describe(self) -> str:
        return f"largest noisy score, geometric noise of scale {_short(self.scale)}"

    @property
    def argument(self) -> str:
        return (
            "Given the others' noise a candidate wins when its own noise reaches some number. If no "
            "score moves by more than d, that number moves by at most 2d, and the chance of reaching "
            "it by a factor of at most exp(2d/scale): (2d/scale)-differentially private (report "
            "noisy max; with this noise it is the permute-and-flip mechanism of McKenna & Sheldon, "
            "NeurIPS 2020, by which one of many candidates is chosen)."
        )

    @property
    def standard_deviation(self) -> float:
        rate = float(1 / self.scale)
        return math.exp(-rate / 2) / -math.expm1(-rate)

    def half_width(self, confidence: Fraction) -> int:
        """Return a w with P(Z ≤ w) ≥ confidence, off by at most one."""
        return math.ceil(float(self.scale) * _minus_log(1 - confidence))

    def tail_upper(self, t: int) -> Fraction:
        """Return an upper bound of P(Z ≥ t)."""
        if t <= 0:
            return Fraction(1)
        return min(Fraction(1), exp_minus(t / self.scale, _TAIL_BITS).upper_fraction)


@dataclass(frozen=True)
class SummedNoise(SymmetricNoise):
    """The noise of a sum of noisy cells: so many independent draws of one noise; it is never drawn."""

    noise: DiscreteLaplace | DiscreteGaussian
    count: int

    def describe(self) -> str:
        return f"the sum of {self.count:,} cells, each with {self.noise.describe()}"

    @property
    def argument(self) -> str:
        return self.noise.argument

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(self.count) * self.noise.standard_deviation

    def tail(self, t: int, bits: int) -> Enclosure:
        match self.noise:
            case DiscreteLaplace(scale):
                return summed_laplace_tail(scale, self.count, t, bits)
            case DiscreteGaussian(sigma2):
                return summed_gaussian_tail(sigma2, self.count, t, bits)

    def _guess(self, target: Fraction) -> float:
        if not self.standard_deviation:  # of hardly any noise, which a float has none of
            return 0.0
        normal = NormalDist(0, self.standard_deviation)
        return -normal.inv_cdf(max(1e-300, math.exp(-_minus_log(target))))


Noise = NoNoise | DiscreteLaplace | DiscreteGaussian | TruncatedGeometric | Geometric | SummedNoise


def drawn_noise(noise: Noise) -> Noise:
    """Return the noise that is drawn for a cell: of what is made of several cells, that of each."""
    return noise.noise if isinstance(noise, SummedNoise) else noise


def _check_positive(name: str, value: Fraction) -> None:
    if not isinstance(value, Fraction) or value <= 0:
        raise _invalid(name, "an exact rational", value)


def _invalid(name: str, kind: str, value: object) -> Refused:
    return Refused(
        "noise_invalid",
        f"the {name} must be {kind} above zero, not {value!r}",
        "choose an epsilon and a sensitivity above zero",
    )


def _check_range(name: str, value: Fraction, largest: Fraction) -> None:
    if value * largest < 1:
        raise Refused(
            "noise_too_small",
            f"the {name} would be below {_short(1 / largest)}, the smallest supported",
            "spend a smaller epsilon: one so large protects nobody",
        )
    if value > largest:
        raise Refused(
            "noise_too_large",
            f"the {name} would be {_short(value)}, beyond the largest supported, {_short(largest)}",
            "spend a larger epsilon, narrow the bounds or coarsen the precision",
        )


def _short(value: Fraction | float) -> str:
    return f"{float(value):.6g}" if value < 1e300 else "over 1e+300"


def _minus_log(value: Fraction) -> float:
    return math.log(value.denominator) - math.log(value.numerator)
