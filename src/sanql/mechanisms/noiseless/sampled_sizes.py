"""Truncated histograms of a uniform sample whose size is random: the general sampling prior.

N people are drawn uniformly from a population of P; given that the protected person is among them,
the other T = N − 1 have the size-biased law q(t) ∝ (t+1)·P(N = t+1). A cell with m other members
in the population shows C of the T, the rest of the histogram R. With t = c + r,

    with/without at (c, r) = q(t−1)/q(t) · κ_t(c),     κ_t(c) = c·(P−t) / ((m+1−c)·t).

Fix e ≥ 0 and call t good upward if q(t−1) ≤ e^e·q(t), good downward if q(t) ≤ e^e·q(t−1).
Write g' = g·e^{−e}, τ = the largest t, p = τ/(P−1), ρ = (P−τ)/(P−1−τ).

**Direction 1.** Nothing is gained from a suppressed cell, and visible ones can be paired by t:
delta ≤ q(t−1 : t not good) + max_t D(t), D(t) = sup_m E[(κ_t(C) − g')_+ ; C ≥ k], C hypergeometric
with t draws. D(t, m) grows in m while κ_t(k−1) ≥ g' and falls after (moving one more person into
the cell is post-processing), and at the turn (κ_t − g')_+ is convex in c and vanishes below k. The
hypergeometric law is below Bin(m, t/(P−1)) in the convex order, so D(t) is at most ρ_t times the
binomial closed form at g'/ρ_t. That grows with the rate and with ρ, so t = τ is the worst.

**Direction 2.** Let M be the largest m with κ_τ(k) ≥ 1/g'. For m ≤ M no visible cell contributes,
and along t ↓ the chain of ratios bounds the mass below k−1 from below:

    delta ≤ bad + P(C = k−1)·(1 − (g−1)·Σ_{j≥1} Π_{c=k−j}^{k−1} c·(P−τ)/((m+1−c)·τ·e^e))_+ .

For m ≥ M drop the truncation; that only falls with m, so m = M is the worst, and pairing by t gives
bad + E[(1 − g'·κ_τ(C))_+], which falls as t grows. `bad` is the q-mass where the ratios are not
good along the whole chain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, assert_never

import numpy as np

from sanql.mechanisms.noiseless.numbers import (
    Number,
    as_ball,
    checked_count,
    checked_delta,
    exact,
    grown,
    refusal,
    shown,
    upper,
)
from sanql.mechanisms.noiseless.precision import precision
from sanql.mechanisms.noiseless.truncation import direction_one

if TYPE_CHECKING:
    from flint import arb

POPULATION_MAX = 10**12
SIZES_MAX = 10_000
_MARGIN = 1 + 1e-9
_FALL = 100.0


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
        if not values or min(values) <= 0 or abs(sum(values, Fraction(0)) - 1) > Fraction(1, 10**9):
            raise refusal(
                "masses",
                "the probabilities of the sample sizes must be positive and add up to 1",
                "give one positive probability for each size, without gaps",
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
            powers = np.cumprod(np.full(max(offset, fall) + 1, base)) / base
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
    """Return upper bounds of delta in both directions, over every population of the cell."""
    if threshold <= 1:
        return 1.0, 1.0
    others = _law(prior)
    total = float(epsilon)
    levels = {total * i / 24 for i in range(1, 23)}
    if isinstance(prior, DiscardPrior):
        own = float(exact(prior.epsilon_size, "epsilon_size"))
        levels = {own * (1 + 1e-6), own + 2 / (others.first + len(others.masses) / 2)}
    levels = {level for level in levels if level < total}
    first = min((_one(threshold, epsilon, prior, others, e) for e in levels), default=1.0)
    if first >= 1.0:
        return 1.0, 1.0
    second = min(_two(threshold, epsilon, prior, others, e) for e in levels)
    return min(1.0, first), min(1.0, second)


@lru_cache(maxsize=8)
def _law(prior: DiscardPrior | SizePrior) -> _Others:
    return others_law(prior)


def _one(
    k: int, epsilon: Fraction, prior: DiscardPrior | SizePrior, others: _Others, e: float
) -> float:
    from flint import arb

    largest = others.first + len(others.masses) - 1
    q = others.masses
    grow = math.exp(e) / _MARGIN
    bad = float(q[-1]) + float(q[:-1][q[:-1] > grow * q[1:]].sum()) + others.cut
    with precision(192):
        rho = as_ball(Fraction(prior.population - largest, prior.population - 1 - largest))
        level = as_ball(epsilon) - arb(e) - rho.log()
        if not level > 0:
            return 1.0
        rate = Fraction(largest, prior.population - 1)
        return grown(bad * _MARGIN + upper(rho * direction_one(k, level, rate)), 8)


def _two(
    k: int, epsilon: Fraction, prior: DiscardPrior | SizePrior, others: _Others, e: float
) -> float:
    q, first = others.masses, others.first
    largest, population = first + len(q) - 1, prior.population
    shrunk = float(epsilon) - e
    run = _good_run(others, e)
    if run is None or shrunk <= 0:
        return 1.0
    low, high = run
    chain = max(low + k, first + 1)
    if chain > high:
        return 1.0
    blocks = _size_blocks(others, chain, high)
    used = blocks[0][0] - first, high - first + 1
    bad = float(q[: used[0]].sum() + q[used[1] :].sum()) * _MARGIN + others.cut
    odds = (population - largest) / largest
    turn = k - 1 + math.floor(math.exp(shrunk) * k * odds * (1 - 1e-12))
    with precision(160):
        worst = 0.0
        for start, end in _cell_blocks(k, min(turn, population - 1)):
            share = _chain_share(k, end, float(epsilon), odds * math.exp(-e))
            if share > 0:
                worst = max(worst, share * _at(k - 1, start, population, blocks))
        if turn < population - 1:
            worst = max(worst, _untruncated(k, turn, population, blocks, odds, shrunk))
    return grown(bad + worst, 64)


def _good_run(others: _Others, e: float) -> tuple[int, int] | None:
    """Return the longest run of t that are all good downward, as its first and last t."""
    q = others.masses
    good = np.concatenate([[False], q[1:] <= q[:-1] * math.exp(e) / _MARGIN, [False]])
    edges = np.flatnonzero(np.diff(good.astype(int)))
    if len(edges) == 0:
        return None
    starts, ends = edges[::2], edges[1::2]
    mass = np.concatenate([[0.0], np.cumsum(q)])
    best = int(np.argmax(mass[ends + 1] - mass[starts + 1]))
    return others.first + int(starts[best]) + 1, others.first + int(ends[best])


def _size_blocks(others: _Others, low: int, high: int) -> list[tuple[int, float]]:
    """Return (smallest t, mass) of blocks of sizes; those too rare to matter are left to `bad`."""
    q = others.masses[low - others.first : high - others.first + 1]
    share = np.cumsum(q)
    start = int(np.searchsorted(share, 1e-18))
    levels = share[-1] * np.concatenate([10.0 ** np.arange(-16, 0, 1.5), np.arange(0.2, 1, 0.2)])
    cuts = sorted({start, *(int(c) for c in np.searchsorted(share, levels) if start < c < len(q))})
    ends = [*cuts[1:], len(q)]
    return [(low + a, float(q[a:b].sum())) for a, b in zip(cuts, ends, strict=True)]


def _cell_blocks(k: int, turn: int, *, blocks: int = 48) -> list[tuple[int, int]]:
    """Return intervals [start, end] of cell populations from k−1 up to the turn."""
    cuts = sorted({int(x) for x in np.linspace(k - 1, turn + 1, blocks + 1)})
    return [(a, b - 1) for a, b in pairwise(cuts)]


def _chain_share(k: int, m: int, epsilon: float, odds: float) -> float:
    """Return (1 − (g−1)·Σ_j Π_c c·odds/(m+1−c))_+, which grows with m."""
    c = np.arange(k - 1, 0, -1, dtype=np.float64)[:200_000]
    chain = np.cumprod(c * odds / (m + 1 - c))
    return max(0.0, (1 + 1e-12) - math.expm1(epsilon) * float(chain.sum()) / grown(1.0, 8 * k))


def _at(c: int, m: int, population: int, blocks: list[tuple[int, float]]) -> float:
    """Return a bound of P(C = c) for every cell of at least m others.

    Past t·m ≥ c·P the probability falls with t and with m; before, it is taken as 1.
    """
    total = 0.0
    for t, mass in blocks:
        total += mass * (upper(_hyper(c, t, m, population)) if t * m >= c * population else 1.0)
    return min(1.0, total * _MARGIN)


def _untruncated(
    k: int, m: int, population: int, blocks: list[tuple[int, float]], odds: float, shrunk: float
) -> float:
    """Return a bound of Σ_t q(t)·E[(1 − g'·κ_τ(C))_+] over blocks of sizes."""
    total, g = 0.0, math.exp(shrunk)
    for t, mass in blocks:
        c = np.arange(k, -1, -1, dtype=np.float64)[:200_000]
        down = c * (population - 1 - m - t + c) / ((m + 1 - c) * (t + 1 - c))
        if t < k or np.any(down[:-1] < 0):
            total += mass
            continue
        weights = np.concatenate([[1.0], np.cumprod(down[:-1])])
        value = np.maximum(0.0, 1 - g * c * odds / (m + 1 - c)) + 1e-13
        total += mass * upper(_hyper(k, t, m, population)) * float((weights * value).sum())
    return min(1.0, total * _MARGIN)


def _hyper(c: int, t: int, m: int, population: int) -> arb:
    """Return P(C = c) when t of population − 1 others are drawn and m of them are in the cell."""
    from flint import arb

    rest = population - 1 - m
    if c > t or c > m or t - c > rest:
        return arb(0)

    def ways(n: int, r: int) -> arb:
        return arb(n + 1).lgamma() - arb(r + 1).lgamma() - arb(n - r + 1).lgamma()

    return (ways(m, c) + ways(rest, t - c) - ways(population - 1, t)).exp()
