"""The noise of a sum of cells: its tails enclose those of the convolution, computed by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, ExactSampler, SummedNoise

BY_HAND = 400  # far beyond where any of these has a mass that counts


def law(noise: DiscreteLaplace | DiscreteGaussian, count: int) -> np.ndarray:
    places = np.arange(-BY_HAND, BY_HAND + 1)
    match noise:
        case DiscreteLaplace(scale):
            masses = np.exp(-np.abs(places) / float(scale))
        case DiscreteGaussian(sigma2):
            masses = np.exp(-(places**2) / float(2 * sigma2))
    one = masses / masses.sum()
    summed = one
    for _ in range(count - 1):
        summed = np.convolve(summed, one)
    return summed


@pytest.mark.parametrize(
    "noise",
    [
        DiscreteLaplace(Fraction(1, 3)),
        DiscreteLaplace(Fraction(7, 2)),
        DiscreteLaplace(Fraction(11)),
        DiscreteGaussian(Fraction(1, 5)),
        DiscreteGaussian(Fraction(3, 2)),
        DiscreteGaussian(Fraction(40)),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_a_tail_encloses_that_of_the_convolution(
    noise: DiscreteLaplace | DiscreteGaussian, count: int
) -> None:
    summed, masses = SummedNoise(noise, count), law(noise, count)
    middle = masses.size // 2
    for t in (1, 2, 3, 7, 20, 60):
        true, enclosed = float(masses[middle + t :].sum()), summed.tail(t, 64)
        assert enclosed.lower / 2**64 <= true + 1e-13
        assert true - 1e-13 <= enclosed.upper / 2**64 <= true * 1.01 + 1e-10


@pytest.mark.parametrize("count", [2, 30, 400])
def test_the_interval_of_a_wide_sum_is_little_wider_than_the_normal_one(count: int) -> None:
    summed = SummedNoise(DiscreteLaplace(Fraction(10**7)), count)
    normal = 1.96 * summed.standard_deviation
    assert 0.99 * normal < summed.half_width(Fraction(95, 100)) < 1.06 * normal


def test_deviations_grow_as_the_root_of_the_number_of_draws() -> None:
    one = DiscreteLaplace(Fraction(2))
    assert SummedNoise(one, 9).standard_deviation == pytest.approx(3 * one.standard_deviation)


def test_a_sum_is_computed_and_never_drawn() -> None:
    with pytest.raises(AssertionError, match="already"):
        ExactSampler().sample(SummedNoise(DiscreteLaplace(Fraction(2)), 9), 1)
