"""How far weighted sums of up to three independent noises reach, for many weights at once.

With C the continuous noises of the same scales, P(|Σ aᵢ Zᵢ| <= w + Σ |aᵢ|/2) >= P(|Σ aᵢ Cᵢ| <= w)
(two_noises.py has the proof), and the law of Σ aᵢ Cᵢ is known in closed form.

- *Laplace*, of scales pᵢ = |aᵢ| sᵢ that all differ: its characteristic function Π 1/(1 + pᵢ²ω²) is
  Σ cᵢ/(1 + pᵢ²ω²) with cᵢ = Π pᵢ²/(pᵢ² - pⱼ²) over j ≠ i (partial fractions), so P(|Σ| > t) =
  Σ cᵢ exp(-t/pᵢ). Scales that hardly differ are taken for larger ones that do.
- *Gaussian*: Gaussian, of the sum of the variances.

A larger weight makes it reach further: sums of symmetric, unimodal laws are the more peaked the more
peaked each of them is (Birnbaum, 1948).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Noise, NoNoise

Reaches = NDArray[np.float64]
NOISES_MAX = 3
_SLACK = 1 + 1e-9  # floating point, with room to spare
_APART = 1 + 1e-3  # the least quotient of two scales: what coefficients lose is below 1e-9
_LOST = 1e-9
_HALVINGS = 40


def reaches_of_sums(
    noises: Sequence[Noise], weights: Sequence[Reaches], confidence: Fraction
) -> Reaches | None:
    """Return w with P(|Σ aᵢ Zᵢ| <= w) >= confidence, for each place of the weights; None where unknown.

    Of four scales that hardly differ, coefficients would lose more than is made up for.

    >>> laplace = DiscreteLaplace(Fraction(1000))
    >>> weights = [np.ones(2), np.array([0.0, 1.0]), np.array([0.0, 1.0])]
    >>> found = reaches_of_sums([laplace] * 3, weights, Fraction(95, 100))
    >>> np.round(found, -1).tolist()
    [3000.0, 4980.0]
    """
    drawn = [
        (noise, np.abs(weight))
        for noise, weight in zip(noises, weights, strict=True)
        if not isinstance(noise, NoNoise)
    ]
    sizes = [weight for _, weight in drawn]
    if not drawn:
        return np.zeros_like(weights[0])
    if len(drawn) > NOISES_MAX:
        return None
    laplace = [noise for noise, _ in drawn if isinstance(noise, DiscreteLaplace)]
    gaussian = [noise for noise, _ in drawn if isinstance(noise, DiscreteGaussian)]
    if len(laplace) == len(drawn):
        scales = [float(noise.scale) * a for noise, a in zip(laplace, sizes, strict=True)]
        continuous = _laplace(np.array(scales), float(1 - confidence))
    elif len(gaussian) == len(drawn):
        variances = [float(noise.sigma2) * a**2 for noise, a in zip(gaussian, sizes, strict=True)]
        reach = NormalDist().inv_cdf((1 + float(confidence)) / 2)
        continuous = reach * np.sqrt(np.sum(variances, axis=0))
    else:
        return None
    reached: Reaches = (continuous + np.sum(sizes, axis=0) / 2) * _SLACK
    return reached


def _laplace(scales: Reaches, beyond: float) -> Reaches:
    """Return how far sums of Laplace draws of the scales in each column reach, rounded up."""
    scales = np.sort(scales, axis=0)
    largest = scales[-1]
    scales = scales / np.where(largest > 0, largest, 1.0)
    scales[0] = np.maximum(scales[0], 1e-6)
    for place in range(1, len(scales)):
        scales[place] = np.maximum(scales[place], scales[place - 1] * _APART)
    squares = scales**2
    coefficients = np.ones_like(scales)
    for place, own in enumerate(squares):
        for other, square in enumerate(squares):
            if other != place:
                coefficients[place] *= own / (own - square)
    low = np.zeros_like(largest)
    # E exp(t·ΣC) at half of the largest rate is at most (4/3)^n: Chernoff's bound
    high = 2 * scales[-1] * (math.log(2 / beyond) + len(scales) * math.log(4 / 3))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = np.sum(coefficients * np.exp(-middle / scales), axis=0) <= beyond - _LOST
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    reached: Reaches = high * largest
    return reached
