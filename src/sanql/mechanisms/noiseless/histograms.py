"""Adversaries against whom a k-truncated histogram is private, by how the sample was drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from sanql.mechanisms.noiseless.certificate import Bound
from sanql.mechanisms.noiseless.numbers import (
    SMALLEST,
    Number,
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_probability,
    exact,
    refusal,
    shown,
)
from sanql.mechanisms.noiseless.sampled_sizes import (
    DiscardPrior,
    SizePrior,
    sampled_deltas,
    sampled_within,
)
from sanql.mechanisms.noiseless.truncation import binomial_deltas, poisson_deltas

THRESHOLD_MAX = 10_000_000


@dataclass(frozen=True)
class PoissonPrior:
    """Every cell's count is an independent Poisson number of any mean."""


@dataclass(frozen=True)
class BinomialPrior:
    """Every member of the population is in the sample independently with the same rate."""

    rate: Number

    def __post_init__(self) -> None:
        rate = exact(self.rate, "the sampling rate")
        if not SMALLEST <= rate <= 1 - Fraction(1, 10**15):
            raise refusal(
                "rate",
                f"the sampling rate is {shown(rate)}; it must lie strictly between 0 and 1 (by "
                f"{SMALLEST:g} and 1e-15)",
                "a census (rate 1) is never private without noise: sample, or add noise",
            )
        object.__setattr__(self, "rate", rate)


SamplingPrior = PoissonPrior | BinomialPrior | DiscardPrior | SizePrior


@dataclass(frozen=True)
class HistogramAdversary:
    """The class of a histogram whose cells below `threshold` are shown as 0.

    `known` members of the sample are known to the adversary. Where everybody is sampled independently
    they only lower the threshold; in a sample of a given size they also tell of the size, and no bound
    is proved.
    """

    threshold: int
    prior: SamplingPrior
    known: int = 0

    def __post_init__(self) -> None:
        checked_count(self.threshold, "the threshold k", least=1, most=THRESHOLD_MAX)
        checked_count(self.known, "the number of known sample members", least=0)
        if self.known >= self.threshold - 1:
            raise refusal(
                "known",
                f"{self.known} known sample members leave {self.threshold - self.known} of the "
                f"threshold {self.threshold}",
                "raise the threshold to at least the number of known members plus two",
            )
        if self.known and isinstance(self.prior, DiscardPrior | SizePrior):
            raise refusal(
                "known",
                f"{self.known} known members of a sample of a given size tell of its size, and no "
                "bound is proved",
                "declare no known members, or a prior that samples everybody independently",
            )

    @property
    def name(self) -> str:
        """The class in a few words."""
        match self.prior:
            case PoissonPrior():
                drawn = "a Poisson number in every cell"
            case BinomialPrior(rate):
                drawn = f"everybody sampled independently at rate {shown(Fraction(rate))}"
            case DiscardPrior() | SizePrior():
                drawn = self.prior.name
            case _:
                assert_never(self.prior)
        return f"sampling prior: {drawn}; cells below {self.threshold} shown as 0"

    @property
    def theorem(self) -> str:
        """The theorem used."""
        match self.prior:
            case PoissonPrior() | BinomialPrior():
                instead = "the exact supremum over the cell's population"
            case DiscardPrior() | SizePrior():
                instead = "a bound, within 1 %, of the supremum over the cell's population"
            case _:
                assert_never(self.prior)
        return f"Bassily, Groce, Katz, Smith, Theorem 10, with {instead} instead of a constant C"

    @property
    def printed(self) -> str:
        """How the paper's own statement differs."""
        return (
            "k > C·log(1/delta)/eps² for one constant C: there is none, k grows like 1/(1 - p) "
            "with the sampling fraction p; Lemma 2's deltas are too small as well"
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything that must be true of the adversary."""
        match self.prior:
            case PoissonPrior():
                drawn = "each cell's count is Poisson and independent of the others"
            case BinomialPrior(rate):
                drawn = (
                    "the records are a sample of a larger population, everybody in it with "
                    f"probability {shown(Fraction(rate))}, independently"
                )
            case DiscardPrior() | SizePrior():
                drawn = self.prior.assumption
            case _:
                assert_never(self.prior)
        return (
            drawn,
            "the adversary may know the whole population, but not who was sampled beyond "
            f"{self.known} members",
            "the size of the sample is not public",
            f"cells with fewer than {self.threshold} records are shown as 0",
            "cells are fixed in advance and each record is in one cell",
        )

    def bound(self, epsilon: Number) -> Bound:
        """Return the rigorous bound of delta at epsilon."""
        level = checked_epsilon(epsilon)
        # delta falls with the threshold (`truncation`), so all the known members are the worst
        worst = max(_deltas(self.threshold - self.known, level, self.prior))
        return Bound(min(1.0, worst), (_tier(self.prior),))

    def rough_delta(self, epsilon: float) -> float:
        """Return delta at epsilon, for searching; the closed forms are quick enough."""
        return self.bound(Fraction(epsilon)).delta_upper


def threshold_min(prior: SamplingPrior, epsilon: Number, delta: Number, *, known: int = 0) -> int:
    """Return the least threshold k whose certificate passes.

    >>> threshold_min(BinomialPrior(0.5), 1, 1e-6)
    60
    """
    level, target = checked_epsilon(epsilon, least_open=True), checked_delta(delta)

    def passes(k: int) -> bool:
        if k < known + 2:
            return False
        adversary = HistogramAdversary(k, prior, known)
        if isinstance(prior, DiscardPrior | SizePrior):
            return sampled_within(k, level, prior, target)
        return Fraction(adversary.bound(level).delta_upper) <= target

    high = known + 4
    while not passes(high):
        high *= 2
        if high > THRESHOLD_MAX:
            raise refusal(
                "threshold",
                f"no threshold up to {THRESHOLD_MAX} reaches epsilon {shown(level)} at delta "
                f"{shown(target)}",
                "accept a larger epsilon or delta, sample a smaller fraction, or add noise",
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    # ceilings make delta ripple a little with k, so look below the first find too
    for k in range(max(known + 2, high - 2 - math.isqrt(high) // 8), high):
        if passes(k):
            return k
    return high


def _deltas(threshold: int, level: Fraction, prior: SamplingPrior) -> tuple[float, float]:
    match prior:
        case PoissonPrior():
            return poisson_deltas(threshold, level)
        case BinomialPrior(rate):
            return binomial_deltas(threshold, level, checked_probability(rate, "the rate"))
        case DiscardPrior() | SizePrior():
            return sampled_deltas(threshold, level, prior)
        case _:
            assert_never(prior)


def _tier(prior: SamplingPrior) -> str:
    match prior:
        case PoissonPrior() | BinomialPrior():
            return "exact supremum over the cell's population"
        case DiscardPrior() | SizePrior():
            return "bound over all cell populations, sizes and counts, within 1 %"
        case _:
            assert_never(prior)
