"""How far a weighted sum of two independent noises reaches: what the interval of a quotient rests on.

A discrete noise Z is within 1/2 of a continuous one, X, that is more peaked than C, the continuous noise
of the same scale: the density of X is that of C times ρ_k between k - 1/2 and k + 1/2, with ρ_k such that
there it has the probability of Z = k. Its cells rounded, X is Z. With a > 0 and h = 1/2,

- *Laplace*, a = h/s: ρ_k = 1/cosh(a) for k not 0, and ρ_0 = tanh(a)/(1 - exp(-a)), which is 1 or more;
- *Gaussian*: 1/ρ_k is in proportion to ∫ cosh(k·x/sigma²) exp(-x²/2 sigma²) dx from -h to h.

Neither grows with |k|. So X is symmetric and unimodal, as C is, and P(|X| <= t) >= P(|C| <= t) for every
t; sums of such laws are the more peaked the more peaked each of them is (Birnbaum, 1948). So P(|a Z + b
Z'| <= w + (|a| + |b|)/2) >= P(|a C + b C'| <= w), whose law is known in closed form.

- *Laplace*, of scales p = |a| s and q = |b| s': P(> t) = (p² exp(-t/p) - q² exp(-t/q)) / (2 (p² - q²)),
  and where p = q, (2 + t/p) exp(-t/p) / 4.
- *Gaussian*: Gaussian, of variance a² sigma² + b² sigma'².

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
    [2996, 4114]
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
        case [(DiscreteGaussian(sigma2), a), (DiscreteGaussian(other2), b)]:
            deviation = math.sqrt(a * a * float(sigma2) + b * b * float(other2))
            continuous = NormalDist().inv_cdf((1 + float(confidence)) / 2) * deviation
        case _:
            return None
    return (continuous + (a + b) / 2) * _SLACK


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
