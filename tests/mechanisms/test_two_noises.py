"""How far two noises reach together: by brute force over both laws, and little further than they must."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    NoNoise,
    SummedNoise,
    reach_of_two,
    reaches_of_two,
)

REACH = 600  # beyond, these have next to no mass
LAPLACE = [DiscreteLaplace(Fraction(scale)) for scale in ("1/4", "1", "7/2", "12")]
GAUSSIAN = [DiscreteGaussian(Fraction(sigma2)) for sigma2 in ("1/9", "1", "9/2", "100")]
WEIGHTS = [(1.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.25, 0.75), (1.0, -0.999), (3.0, 0.01)]


def law(noise: DiscreteLaplace | DiscreteGaussian) -> tuple[np.ndarray, np.ndarray]:
    places = np.arange(-REACH, REACH + 1)
    match noise:
        case DiscreteLaplace(scale):
            masses = np.exp(-np.abs(places) / float(scale))
        case DiscreteGaussian(sigma2):
            masses = np.exp(-(places**2) / float(2 * sigma2))
    return places, masses / masses.sum()


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("noises", [*product(LAPLACE, repeat=2), *product(GAUSSIAN, repeat=2)])
def test_both_together_stay_within_reach_as_often_as_said(
    noises: tuple[DiscreteLaplace, DiscreteLaplace],
    weights: tuple[float, float],
    confidence: Fraction,
) -> None:
    (places, one), (_, other) = map(law, noises)
    reach = reach_of_two(noises, weights, confidence)
    assert reach is not None
    sums = np.abs(weights[0] * places[:, None] + weights[1] * places[None, :])
    within = float((one[:, None] * other[None, :])[sums <= reach].sum())
    assert within >= float(confidence) - 1e-12
    if weights[1]:  # and a step of each less would be too little
        short = reach - 1.5 * (abs(weights[0]) + abs(weights[1]))
        assert float((one[:, None] * other[None, :])[sums <= short].sum()) < float(confidence)


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_wide_noises_reach_little_further_than_they_must(kind: type) -> None:
    """A million pairs of draws, continuous ones: 95 % within, to 0.2 % (nine standard deviations)."""
    numbers, size = np.random.default_rng(5), 10**6
    for weights in ((1.0, 1.0), (0.6, 0.4), (1.0, 0.05)):
        if kind is DiscreteLaplace:
            reach = reach_of_two((kind(Fraction(10**6)),) * 2, weights, Fraction(95, 100))
            draws = numbers.laplace(0, 10**6, (2, size))
        else:
            reach = reach_of_two((kind(Fraction(10**12)),) * 2, weights, Fraction(95, 100))
            draws = numbers.normal(0, 10**6, (2, size))
        assert reach is not None
        within = (np.abs(weights[0] * draws[0] + weights[1] * draws[1]) <= reach).mean()
        assert within == pytest.approx(0.95, abs=0.002)


def test_more_weight_reaches_further_and_so_does_less_even_weight() -> None:
    """What intervals of quotients rest on, in steps so fine that none is missed."""
    confidence = Fraction(95, 100)
    for noise in (LAPLACE[2], GAUSSIAN[1], DiscreteLaplace(Fraction(10**5))):
        more = [
            reach_of_two((noise, noise), (1.0, b), confidence) for b in np.linspace(0.01, 3, 99)
        ]
        uneven = [
            reach_of_two((noise, noise), (0.5 + d, 0.5 - d), confidence)
            for d in np.linspace(0, 0.49, 99)
        ]
        for reaches in (more, uneven):
            assert all(a <= b for a, b in pairwise(reaches))


@pytest.mark.parametrize(
    ("noises", "reach"),
    [
        ((NoNoise(), NoNoise()), 0.0),
        ((SummedNoise(LAPLACE[0], 3), LAPLACE[0]), None),
        ((LAPLACE[0], GAUSSIAN[0]), None),
    ],
)
def test_what_is_not_known_is_not_told(noises: tuple[Noise, Noise], reach: float | None) -> None:
    assert reach_of_two(noises, (1.0, 1.0), Fraction(9, 10)) == reach


@pytest.mark.parametrize("noises", [(LAPLACE[1], LAPLACE[2]), (GAUSSIAN[0], GAUSSIAN[2])])
def test_with_several_weights_it_is_that_of_each_also_when_it_is_remembered(
    noises: tuple[Noise, Noise],
) -> None:
    for confidence in (Fraction(1, 2), Fraction(95, 100)) * 2:
        alone = tuple(reach_of_two(noises, weights, confidence) for weights in WEIGHTS)
        assert reaches_of_two(noises, tuple(WEIGHTS), confidence) == alone
        assert reaches_of_two(noises[::-1], tuple(WEIGHTS), confidence) != alone
    assert reaches_of_two((LAPLACE[0], GAUSSIAN[0]), tuple(WEIGHTS), Fraction(1, 2)) is None
