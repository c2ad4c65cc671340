"""One-sided geometric noise, the largest of noisy scores, and sums of noise.

Statistical tests reject with probability at most 1e-9 when the code is right.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from sanql.errors import Refused
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, ExactSampler, Geometric, NoNoise
from sanql.mechanisms.deviations import deviation_upper, quantile_upper

FALSE_ALARM = 1e-9
SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(1000), Fraction(2**40) / 3]


@pytest.mark.parametrize("scale", SCALES)
def test_draws_follow_the_mass_function(scale: Fraction) -> None:
    draws = ExactSampler().sample(Geometric(scale), 200_000)
    assert draws.min() >= 0
    # P(Z < t) = 1 - exp(-t/scale): cut into about 40 cells of equal mass
    edges = np.unique(np.ceil(-float(scale) * np.log1p(-np.arange(1, 40) / 40)))
    below = -np.expm1(-edges / float(scale))
    expected = np.diff(np.concatenate([[0.0], below, [1.0]])) * draws.size
    found = np.diff(
        np.concatenate([[0], [np.count_nonzero(draws < e) for e in edges], [draws.size]])
    )
    keep = expected > 20
    statistic = (((found - expected) ** 2)[keep] / expected[keep]).sum()
    assert statistic < stats.chi2.isf(FALSE_ALARM, max(1, int(keep.sum()) - 1))


def winning(scores: tuple[int, ...], scale: float) -> list[float]:
    """Return the chance of each candidate to have the largest noisy score, first of equals winning."""
    rate = math.exp(-1 / scale)
    top = max(scores)
    chances = []
    for index, own in enumerate(scores):
        total = 0.0
        for z in range(int(60 * scale) + top - min(scores)):
            others = 1.0
            for other, score in enumerate(scores):
                if other != index:
                    room = own + z - score + (other > index)  # how many values of the other lose
                    others *= 1 - rate ** max(0, room)
            total += (1 - rate) * rate**z * others
        chances.append(total)
    return chances


def test_the_largest_noisy_score_is_as_private_as_stated() -> None:
    # every pair of integer scores of three candidates that move by at most one
    scale, worst = 2.0, 0.0
    vectors = list(product(range(-3, 1), repeat=3))
    known = {scores: winning(scores, scale) for scores in vectors}
    for scores in vectors:
        assert sum(known[scores]) == pytest.approx(1, abs=1e-9)
        for other in vectors:
            if max(abs(a - b) for a, b in zip(scores, other, strict=True)) <= 1:
                for p, q in zip(known[scores], known[other], strict=True):
                    worst = max(worst, math.log(p / q))
    assert worst <= 2 / scale + 1e-9
    assert worst > 1 / scale  # no better than half of what is charged would be strange


def test_draws_choose_as_the_exact_chances_say() -> None:
    scores = np.array([0, -1, -4, 0])
    exact = winning(tuple(scores.tolist()), 2.0)
    draws = ExactSampler().sample(Geometric(Fraction(2)), 4 * 50_000).reshape(-1, 4)
    found = np.bincount(np.argmax(scores + draws, axis=1), minlength=4)
    statistic = sum((f - 50_000 * p) ** 2 / (50_000 * p) for f, p in zip(found, exact, strict=True))
    assert statistic < stats.chi2.isf(FALSE_ALARM, 3)


def tail_by_convolution(scale: float, weights: list[int], reach: int) -> np.ndarray:
    """Return P(Σ a·Z ≥ x) for x = 0, 1, … by convolving mass functions term by term."""
    rate = math.exp(-1 / scale)
    ends = 4000
    total = np.array([1.0])
    for weight in weights:
        k = np.arange(-ends, ends + 1)
        mass = np.zeros(2 * ends * weight + 1)
        mass[:: weight or 1] = (1 - rate) / (1 + rate) * rate ** np.abs(k)
        total = np.convolve(total, mass)
    middle = total.size // 2
    return total[middle:][::-1].cumsum()[::-1][:reach]


@pytest.mark.parametrize("weights", [[1], [1, 1, 1], [2, 1, 1]])
def test_sums_of_laplace_noise_reach_as_rarely_as_stated(weights: list[int]) -> None:
    scale = Fraction(9)
    tails = tail_by_convolution(9.0, weights, 600)
    counted = tuple((float(w), weights.count(w)) for w in sorted(set(weights)))
    for probability in (0.05, 1e-3, 1e-6):
        x = deviation_upper(DiscreteLaplace(scale), counted, probability)
        assert tails[math.ceil(x)] <= probability
        true = int(np.argmax(tails <= probability))
        assert x <= 2 * true + 2  # and it is of some use
        nearer = quantile_upper(DiscreteLaplace(scale), counted, probability)
        assert tails[math.ceil(nearer)] <= probability
        assert nearer <= 1.01 * true + 1


def test_sums_of_gaussian_noise_are_those_of_one_gaussian() -> None:
    x = deviation_upper(DiscreteGaussian(Fraction(100)), ((1.0, 4),), 0.01)
    assert stats.norm.sf(x / 20) <= 0.01
    assert x < 20 * 3.1
    assert deviation_upper(NoNoise(), ((1.0, 4),), 0.01) == 0


def test_a_scale_that_is_no_number_above_zero_is_refused() -> None:
    with pytest.raises(Refused):
        Geometric(Fraction(0))


def test_the_stated_tails_hold() -> None:
    noise = Geometric(Fraction(5))
    assert noise.tail_upper(0) == 1
    assert float(noise.tail_upper(10)) == pytest.approx(math.exp(-2))
    assert math.exp(-(noise.half_width(Fraction(95, 100)) + 1) / 5) <= 0.05
    draws = ExactSampler().sample(noise, 100_000)
    assert draws.std() == pytest.approx(noise.standard_deviation, rel=0.05)
