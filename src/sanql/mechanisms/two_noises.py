"""How far a weighted sum of two independent noises reaches: what the interval of a quotient rests on.

A discrete noise Z is within 1 of a continuous one C of the same law, if both are made of the same
uniform number: P(C >= k) <= P(Z >= k) <= P(C >= k - 1) for every whole number k (for k <= 0 by
symmetry). So |a Z + b Z'| is at most |a C + b C'| plus |a| + |b|, and the law of a C + b C' is known in
closed form.

- *Laplace*, of scales p = |a| s and q = |b| s': P(> t) = (p² exp(-t/p) - q² exp(-t/q)) / (2 (p² - q²)),
  and where p = q, (2 + t/p) exp(-t/p) / 4. For k >= 1, P(Z >= k) = exp(-k/s) / (1 + exp(-1/s)) is at
  most exp(-(k - 1/2)/s) / 2, as 2 cosh(1/2s) >= 2, and no less than exp(-k/s) / 2.
- *Gaussian*: Gaussian, of variance a² sigma² + b² sigma'². For k >= 1 the sum of exp(-j²/2 sigma²) over
  j >= k lies between its integrals from k and from k - 1; over all j it is sigma √(2π) or more, by a
  part of less than 2.1 exp(-2π² sigma²) (Poisson's formula), which for sigma >= 1 is far less than what
  the sum is above the integral.

A larger |a| or |b| makes it reach further, and so does, for weights of the same sum, a larger
difference (Proschan, 1965: averages of symmetric, log-concave laws are the more peaked the more even
they are).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from sanql.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Noise, NoNoise

_SLACK = 1 + 1e-9  # floating point, with room to spare
_ALIKE = 1e-3  # scales that differ by less are taken for the larger of both


Weights = tuple[float, float]


@lru_cache(maxsize=256)  # questions that differ in their conditions alone have the same noise
def reaches_of_two(
    noises: tuple[Noise, Noise], weights: tuple[Weights, ...], confidence: Fraction
) -> tuple[float, ...] | None:
    """Return how far two noises reach with each of several weights; None where one is not known."""
    reaches = []
    for each in weights:
        reach = reach_of_two(noises, each, confidence)
        if reach is None:
            return None
        reaches.append(reach)
    return tuple(reaches)


def reach_of_two(
    noises: tuple[Noise, Noise], weights: Weights, confidence: Fraction
) -> float | None:
    """Return a w with P(|a Z + b Z'| <= w) >= confidence; None of noises that are not known here.

    >>> laplace = DiscreteLaplace(Fraction(1000))
    >>> [round(reach_of_two((laplace, laplace), (1.0, b), Fraction(95, 100))) for b in (0.0, 1.0)]
    [2996, 4115]
    """
    used = [
        (noise, abs(weight))
        for noise, weight in zip(noises, weights, strict=True)
        if weight and not isinstance(noise, NoNoise)
    ]
    match used:
        case []:
            return 0.0
        case [(DiscreteLaplace() | DiscreteGaussian() as noise, weight)]:
            return weight * noise.half_width(confidence) * _SLACK
        case [(DiscreteLaplace(scale), a), (DiscreteLaplace(other), b)]:
            continuous = _laplace(a * float(scale), b * float(other), float(confidence))
        case [(DiscreteGaussian(sigma2), a), (DiscreteGaussian(other2), b)] if (
            min(sigma2, other2) >= 1
        ):
            deviation = math.sqrt(a * a * float(sigma2) + b * b * float(other2))
            continuous = NormalDist().inv_cdf((1 + float(confidence)) / 2) * deviation
        case _:
            return None
    return (continuous + a + b) * _SLACK


@lru_cache(maxsize=4096)
def _laplace(scale: float, other: float, confidence: float) -> float:
    """Return how far a sum of two Laplace draws reaches on either side, rounded up."""
    large, small = max(scale, other), min(scale, other)
    ratio, beyond = small / large, 1 - confidence
    low, high = 0.0, 4.0 - 2 * math.log(beyond)  # in units of the larger scale
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _two_sided_tail(ratio, middle) <= beyond else (middle, high)
    return high * large


def _two_sided_tail(ratio: float, t: float) -> float:
    """Return P(|C + ratio · C'| > t) for Laplace draws of scale 1, or a little more."""
    if ratio > 1 - _ALIKE:
        return (2 + t) * math.exp(-t) / 2
    square = ratio * ratio
    minor = square * math.exp(-t / ratio) if ratio > 0 else 0.0
    return (math.exp(-t) - minor) / (1 - square)
