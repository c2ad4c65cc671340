"""A million draws agree with the mass function, and with another library's sampler.

Each test rejects with probability at most 1e-9 when the sampler is right: chi-square over cells
that expect hundreds of draws or more. Exactness itself is checked in test_exactness.py; this looks
at the whole path with the operating system's entropy.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExactSampler,
    Noise,
    TruncatedGeometric,
)
from support.volume import few_of

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-9
DRAWS = 1_000_000
SCALES = [
    Fraction(1, 50),
    Fraction(1, 3),
    Fraction(1),
    Fraction(7, 3),
    Fraction(1000),
    Fraction(10**6) + Fraction(1, 7),
    Fraction(2) ** 45 / 3,
]
EVERY: list[Noise] = [
    *(DiscreteLaplace(scale) for scale in SCALES),
    *(DiscreteGaussian(scale) for scale in SCALES[:-1]),
    *(DiscreteGaussian(scale**2) for scale in SCALES[4:]),
    TruncatedGeometric(Fraction(1), 11),
    TruncatedGeometric(Fraction(1, 3), 2),
    TruncatedGeometric(Fraction(1, 100), 1313),
    TruncatedGeometric(Fraction(1, 10**6), 5000),
]


def chance_below(noise: Noise, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(Z ≤ k) in floating point, by formulas of the textbook."""
    match noise:
        case DiscreteLaplace(scale):
            ratio = math.exp(-1 / scale)
            above = np.exp(-(np.abs(k) + (k >= 0)) / float(scale)) / (1 + ratio)
            return np.where(k >= 0, 1 - above, above)
        case DiscreteGaussian(sigma2) if sigma2 > 10**5:
            return stats.norm.cdf((k + 0.5) / math.sqrt(sigma2))  # off by less than 1/sigma2
        case DiscreteGaussian(sigma2):
            support = np.arange(-6000, 6001)
            mass = np.exp(-(support**2.0) / float(2 * sigma2))
        case TruncatedGeometric(epsilon, limit):
            support = np.arange(-limit, limit + 1)
            mass = np.exp(-np.abs(support) * float(epsilon))
        case _:
            raise AssertionError(noise)
    cumulative = np.cumsum(mass) / mass.sum()
    place = np.clip(k - support[0], -1, support.size - 1).astype(int)
    return np.where(place < 0, 0.0, cumulative[place])


@pytest.mark.parametrize("noise", EVERY, ids=str)
def test_draws_follow_the_mass_function(noise: Noise) -> None:
    drawn = ExactSampler().sample(noise, DRAWS)
    width = noise.standard_deviation
    inner = np.unique(np.floor(np.linspace(-4 * width, 4 * width, 60)))
    cumulative = np.concatenate([[0.0], chance_below(noise, inner), [1.0]])
    expected = DRAWS * np.diff(cumulative)
    counts = np.bincount(np.searchsorted(inner, drawn), minlength=inner.size + 1)
    rare = expected < 300
    expected = np.append(expected[~rare], expected[rare].sum())
    counts = np.append(counts[~rare], counts[rare].sum())
    if expected[-1] < 300:  # too rare to test together: fold them into the commonest cell
        common = int(np.argmax(expected))
        expected[common] += expected[-1]
        counts[common] += counts[-1]
        expected, counts = expected[:-1], counts[:-1]
    if expected.size == 1:
        # At 1/50 a draw is not zero with chance 3e-11 at most, so two such have chance 4e-10.
        assert np.count_nonzero(drawn) <= 1
    else:
        assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "noise",
    [
        DiscreteLaplace(Fraction(10**6) + Fraction(1, 7)),
        DiscreteLaplace(Fraction(2) ** 45 / 3),
        DiscreteGaussian(Fraction(10**6)),
        DiscreteGaussian(Fraction(2) ** 90 / 9),
    ],
    ids=str,
)
def test_every_byte_of_wide_noise_is_even(noise: Noise) -> None:
    """Noise much wider than 2^n has n low digits that are uniform to far below the test's power."""
    drawn = ExactSampler().sample(noise, DRAWS)
    for place in range(0, int(math.log2(noise.standard_deviation)) - 12, 4):
        counts = np.bincount(drawn >> place & 255, minlength=256)
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_neighbouring_draws_are_independent() -> None:
    """The signs and parities of successive draws fill their sixteen cells as a product."""
    drawn = ExactSampler().sample(DiscreteLaplace(Fraction(1000)), DRAWS)
    state = (drawn < 0) * 2 + (drawn & 1)
    table = np.bincount(state[::2] * 4 + state[1::2], minlength=16).reshape(4, 4)
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", few_of([0.3, 1000.25, 1.0, 2.7], 2))
def test_draws_agree_with_opendp(family: str, scale: float) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    exact = Fraction(scale)  # both take the same binary number
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if family == "laplace":
        theirs = (domain, dp.l1_distance(T="i64")) >> dp.m.then_laplace(scale)
        noise: Noise = DiscreteLaplace(exact)
    else:
        theirs = (domain, dp.l2_distance(T=float)) >> dp.m.then_gaussian(scale)
        noise = DiscreteGaussian(exact**2)
    count = 50_000
    other = np.array(theirs([0] * count))
    ours = ExactSampler().sample(noise, 10 * count)
    inner = np.unique(np.quantile(ours, np.linspace(0.005, 0.995, 40), method="lower"))
    table = np.array(
        [np.bincount(np.searchsorted(inner, x), minlength=inner.size + 1) for x in (ours, other)]
    )
    table = table[:, table.sum(axis=0) > 500]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
