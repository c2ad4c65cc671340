"""Truncated histograms of a uniform sample whose size is random: the general sampling prior.

N people are drawn uniformly from a population of P; given that the protected person is among them,
the other T = N − 1 have the size-biased law q(t) ∝ (t+1)·P(N = t+1). `every_cell` turns that law into
delta over every population that a cell may have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

import numpy as np

from sanql.mechanisms.noiseless.every_cell import (
    Sizes,
    deltas_of_every_cell,
    every_cell_within,
    sizes,
)
from sanql.mechanisms.noiseless.numbers import (
    Number,
    checked_count,
    checked_delta,
    exact,
    refusal,
    rounded_up,
    shown,
)

POPULATION_MAX = 10**12
SIZES_MAX = 10_000
_FALL = 100.0
_MASS_MIN = Fraction(1, 10**100)


@dataclass(frozen=True)
class DiscardPrior:
    """A sample of fixed size `sample` from `population`, of which max(0, Z + offset) records are
    thrown away at random before counting, Z a discrete Laplace number of scale 1/epsilon_size."""

    population: int
    sample: int
    epsilon_size: Number
    offset: int

    def __post_init__(self) -> None:
        checked_count(self.population, "the population", least=3, most=POPULATION_MAX)
        checked_count(self.sample, "the sample size", least=2)
        _below_census(self.sample, self.population)
        level = _checked_level(self.epsilon_size)
        object.__setattr__(self, "epsilon_size", level)
        checked_count(self.offset, "the offset", least=0, most=self.sample)

    @property
    def name(self) -> str:
        """The prior in a few words."""
        return (
            f"{self.sample} of {self.population} people, then about {self.offset} records "
            "discarded at random"
        )

    @property
    def assumption(self) -> str:
        """What must be true."""
        return (
            f"the records are a uniform sample of {self.sample} of {self.population} people, and "
            "the number discarded is secret"
        )


@dataclass(frozen=True)
class SizePrior:
    """A uniform sample from `population` whose size is first + i with probability masses[i]."""

    population: int
    first: int
    masses: tuple[Number, ...]

    def __post_init__(self) -> None:
        checked_count(self.population, "the population", least=3, most=POPULATION_MAX)
        checked_count(self.first, "the smallest sample size", least=1)
        checked_count(len(self.masses), "the number of sample sizes", least=1, most=SIZES_MAX)
        values = tuple(exact(mass, "a mass") for mass in self.masses)
        if (
            not values
            or min(values) < _MASS_MIN
            or abs(sum(values, Fraction(0)) - 1) > Fraction(1, 10**9)
        ):
            raise refusal(
                "masses",
                "the probabilities of the sample sizes must be at least 1e-100 and add up to 1",
                "give one such probability for each size, without gaps",
            )
        _below_census(self.first + len(values) - 1, self.population)
        object.__setattr__(self, "masses", values)

    @property
    def name(self) -> str:
        """The prior in a few words."""
        last = self.first + len(self.masses) - 1
        return f"{self.first} to {last} of {self.population} people, the size drawn at random"

    @property
    def assumption(self) -> str:
        """What must be true."""
        return (
            f"the records are a uniform sample of {self.population} people whose size has the "
            "declared law and is secret"
        )


def discard_prior(
    *, population: int, sample: int, epsilon_size: Number, delta: Number
) -> DiscardPrior:
    """Return the discarding prior whose chance of throwing nothing away is about delta/4."""
    level, target = _checked_level(epsilon_size), checked_delta(delta)
    return DiscardPrior(
        population, sample, level, math.ceil(math.log(4 / float(target)) / float(level))
    )


def _checked_level(value: Number) -> Fraction:
    level = exact(value, "epsilon_size")
    if not Fraction(1, 1000) <= level <= 10:
        raise refusal(
            "epsilon_size",
            f"epsilon_size is {shown(level)}; it must lie between 0.001 and 10",
            "a tenth of epsilon is a good choice",
        )
    return level


def _below_census(largest: int, population: int) -> None:
    if largest > population - 1:
        raise refusal(
            "census",
            f"a sample of up to {largest} of {population} people leaves nobody out",
            "a census is never private without noise: sample fewer, or add noise",
        )


@dataclass(frozen=True)
class _Others:
    """The size-biased law of the other sampled people: masses from `first` on, and what is cut."""

    first: int
    masses: np.ndarray
    cut: float


def others_law(prior: DiscardPrior | SizePrior) -> _Others:
    """Return the law of the number of other sampled people, up to the rounding of floats."""
    match prior:
        case DiscardPrior(_, sample, level, offset):
            fall = math.ceil(_FALL / float(level))
            thrown = min(sample - 1, offset + fall)
            base = math.exp(-float(level))
            # each by itself: in a product of 10⁵ factors rounding adds up
            powers = np.exp(-float(level) * np.arange(max(offset, fall) + 1))
            law = (1 - base) * powers[np.abs(np.arange(thrown + 1) - offset)]
            law[0] = powers[offset]
            sizes = sample - np.arange(thrown + 1)
            cut = 4 * powers[-1] / (1 - base) if thrown < sample - 1 else 0.0
            biased = (law * sizes)[::-1]
            return _Others(int(sizes[-1]) - 1, biased / biased.sum(), float(cut))
        case SizePrior(_, first, masses):
            law = np.array([float(mass) for mass in masses])
            biased = law * (first + np.arange(len(law)))
            return _Others(first - 1, biased / biased.sum(), 0.0)
        case _:
            assert_never(prior)


def sampled_deltas(
    threshold: int, epsilon: Fraction, prior: DiscardPrior | SizePrior
) -> tuple[float, float]:
    """Return upper bounds of delta in both directions, over every population of the cell.

    The larger is within a hundredth of what some population attains; the smaller is bounded only as
    far as it takes to see that it is the smaller.
    """
    if threshold <= 1:
        return 1.0, 1.0
    return deltas_of_every_cell(threshold, -rounded_up(-epsilon), _law(prior), prior.population)


def sampled_within(
    threshold: int, epsilon: Fraction, prior: DiscardPrior | SizePrior, target: Fraction
) -> bool:
    """Return whether delta is proved to be at most the target, sooner than its value is known."""
    if threshold <= 1:
        return False
    return every_cell_within(
        threshold, -rounded_up(-epsilon), _law(prior), prior.population, float(target) * (1 - 1e-15)
    )


@lru_cache(maxsize=8)
def _law(prior: DiscardPrior | SizePrior) -> Sizes:
    others = others_law(prior)
    return sizes(others.first, others.masses, others.cut)
