"""How far weighted sums of noises reach: by brute force over their laws."""

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
    reaches_of_sums,
)

REACH = 60
LAPLACE = [DiscreteLaplace(Fraction(scale)) for scale in ("1/4", "1", "5/2")]
GAUSSIAN = [DiscreteGaussian(Fraction(sigma2)) for sigma2 in ("1/9", "2", "30")]
WEIGHTS = [(1.0, 1.0, 1.0), (1.0, 0.999, 0.5), (0.25, 0.0, 0.75), (3.0, 0.01, 0.4), (0.0, 2.0, 0.0)]
CONFIDENCES = [Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)]


def law(noise: Noise) -> np.ndarray:
    places = np.arange(-REACH, REACH + 1)
    match noise:
        case DiscreteLaplace(scale):
            masses = np.exp(-np.abs(places) / float(scale))
        case DiscreteGaussian(sigma2):
            masses = np.exp(-(places**2) / float(2 * sigma2))
        case _:
            raise AssertionError(noise)
    return masses / masses.sum()


@pytest.mark.slow
@pytest.mark.parametrize("noises", [*product(LAPLACE, repeat=3), *product(GAUSSIAN, repeat=3)])
def test_all_together_stay_within_reach_as_often_as_said(
    noises: tuple[DiscreteLaplace, DiscreteLaplace, DiscreteLaplace],
) -> None:
    places = np.arange(-REACH, REACH + 1)
    one, two, three = map(law, noises)
    chance = one[:, None, None] * two[:, None] * three
    columns = np.array(WEIGHTS).T
    for confidence in CONFIDENCES:
        reaches = reaches_of_sums(noises, list(columns), confidence)
        assert reaches is not None
        for (a, b, c), reach in zip(WEIGHTS, reaches, strict=True):
            sums = np.abs(a * places[:, None, None] + b * places[:, None] + c * places)
            assert float(chance[sums <= reach].sum()) >= float(confidence) - 1e-12
            # and a step of each less would be too little
            short = sums <= reach - 1.5 * (a + b + c)
            assert float(chance[short].sum()) < float(confidence)


@pytest.mark.parametrize(
    "noise", [DiscreteLaplace(Fraction(900)), DiscreteGaussian(Fraction(10**5))]
)
def test_of_two_they_are_those_of_two(noise: DiscreteLaplace | DiscreteGaussian) -> None:
    ratios = np.linspace(0.01, 3, 50)
    for confidence in CONFIDENCES:
        reaches = reaches_of_sums([noise] * 2, [np.ones(50), -ratios], confidence)
        expected = [reach_of_two((noise, noise), (1.0, ratio), confidence) for ratio in ratios]
        np.testing.assert_allclose(reaches, expected, rtol=1e-3)  # where scales are alike


def test_a_larger_weight_never_reaches_less_far() -> None:
    for noise in (LAPLACE[2], GAUSSIAN[1], DiscreteLaplace(Fraction(10**5))):
        weights = np.linspace(0, 3, 301)
        reaches = reaches_of_sums(
            [noise] * 3, [np.ones(301), np.full(301, 0.7), weights], Fraction(95, 100)
        )
        assert reaches is not None
        assert all(a <= b * (1 + 1e-9) for a, b in pairwise(reaches.tolist()))


@pytest.mark.parametrize(
    ("noises", "reach"),
    [
        ((NoNoise(), NoNoise()), 0.0),
        ((SummedNoise(LAPLACE[0], 3), LAPLACE[0]), None),
        ((LAPLACE[0], GAUSSIAN[0]), None),
        ((LAPLACE[0],) * 4, None),
    ],
)
def test_what_is_not_known_is_not_told(noises: tuple[Noise, ...], reach: float | None) -> None:
    found = reaches_of_sums(noises, [np.ones(2)] * len(noises), Fraction(9, 10))
    assert found is None if reach is None else found is not None and found.tolist() == [reach] * 2
