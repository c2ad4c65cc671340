"""How far a noise and another's square reach together, by brute force over both laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, reach_with_square

NOISES = [
    DiscreteLaplace(Fraction("1/2")),
    DiscreteLaplace(Fraction(6)),
    DiscreteGaussian(Fraction("1/4")),
    DiscreteGaussian(Fraction(30)),
]


def law(noise: DiscreteLaplace | DiscreteGaussian) -> tuple[np.ndarray, np.ndarray]:
    places = np.arange(-300, 301)
    match noise:
        case DiscreteLaplace(scale):
            masses = np.exp(-np.abs(places) / float(scale))
        case DiscreteGaussian(sigma2):
            masses = np.exp(-(places**2) / float(2 * sigma2))
    return places, masses / masses.sum()


@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(1, 40), Fraction(1, 1000)])
@pytest.mark.parametrize("weight", [0.0, 0.003, 0.2, 5.0])
@pytest.mark.parametrize(("noise", "squared"), product(NOISES, repeat=2))
def test_they_are_beyond_as_seldom_as_said_and_little_less(
    noise: DiscreteLaplace | DiscreteGaussian,
    squared: DiscreteLaplace | DiscreteGaussian,
    weight: float,
    probability: Fraction,
) -> None:
    (places, chances), (_, others) = law(noise), law(squared)
    chance = chances[:, None] * others
    together = places[:, None] + weight * places.astype(float) ** 2
    reach = reach_with_square(noise, squared, weight, probability)
    assert float(chance[together > reach].sum()) <= float(probability) + 1e-12
    deviation = np.sqrt(float((chance * together**2).sum()))
    short = reach - 2 - 0.25 * deviation - weight * 3
    assert float(chance[together > short].sum()) > float(probability)
