"""How many records are uniform: a binomial number, in blocks.

Each of m unknown records is uniform with probability at least alpha, independently, so the number
K of uniform records is at least binomial in the stochastic order. delta_K falls with K (adding an
independent record is post-processing), hence for any k_0 < k_1 < … < k_b

    delta ≤ P(K < k_0) + Σ_i P(k_i ≤ K < k_{i+1})·delta_{k_i},      k_{b+1} = ∞.

Weights are products of ratios of neighbouring probabilities, divided by their sum: plain rational
arithmetic, so that the rounding of floats is bounded by counting operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sanql.mechanisms.noiseless.numbers import SMALLEST, UNIT_ROUNDOFF, grown

_LOST = 2.0**-40
_FALL = 690.0
"""The window holds every weight above e^-690 of the largest; the rest is bounded by its edge."""


@dataclass(frozen=True)
class BinomialWeights:
    """Upper bounds of binomial probabilities on a window, and of the mass below and above it."""

    first: int
    masses: np.ndarray
    below: float
    above: float

    @property
    def last(self) -> int:
        """The last number in the window."""
        return self.first + len(self.masses) - 1


def binomial_weights(trials: int, chance: Fraction, *, fall: float = _FALL) -> BinomialWeights:
    """Return upper bounds of P(K = k), K ~ Bin(trials, chance), around the mode."""
    if chance == 1:
        return BinomialWeights(trials, np.ones(1), 0.0, 0.0)
    mode = min(trials, int((trials + 1) * chance))
    p, q = float(chance), float(1 - chance)
    spread = math.sqrt(2 * fall * trials * p * q) + 2 * fall
    low, high = max(0, int(mode - spread)), min(trials, int(mode + spread) + 1)
    k = np.arange(low + 1, high + 1, dtype=np.float64)
    up = ((trials + 1 - k) * p) / (k * q)  # P(k)/P(k − 1), five roundings
    rising = np.cumprod(up[mode - low :])
    falling = np.cumprod(1 / up[: mode - low][::-1])[::-1]
    relative = np.concatenate([falling, [1.0], rising])
    floor = math.exp(-fall)
    kept = np.flatnonzero(relative >= floor)
    cut = relative[kept[0] : kept[-1] + 1]
    first = low + int(kept[0])
    operations = 8 * len(relative) + 16
    masses = cut * (grown(1.0, 2 * operations) / cut.sum())
    below = _beyond(masses[0], first, 0, lambda: first * q / ((trials + 1 - first) * p))
    last = first + len(cut) - 1
    above = _beyond(masses[-1], last, trials, lambda: (trials - last) * p / ((last + 1) * q))
    return BinomialWeights(first, masses, below, above)


def _beyond(edge: float, place: int, end: int, ratio: Callable[[], float]) -> float:
    """Return a bound of the mass beyond a window's edge; ratios fall further out."""
    if place == end:
        return 0.0
    step = min(ratio() * (1 + 8 * UNIT_ROUNDOFF), 0.999999)
    return max(grown(edge * step / (1 - step), 16), SMALLEST)


def rungs(first: int, last: int, chance: Fraction, fineness: int | None) -> list[int]:
    """Return where blocks may begin, from the one that holds `first` up to `last`.

    They depend on nothing but the chance: the numbers from c·q² to c·(q+1)² are q apart, so that a
    block is about one part in `fineness` of the deviation of a binomial number there. For all
    numbers of trials, then, delta is bounded by the mean of one falling function of K, and the
    bound falls with the trials as delta itself does. Without a fineness every number begins one.
    """
    if fineness is None or chance == 1:
        return list(range(first, last + 1))
    coarse = math.ceil(fineness**2 / (1 - chance))
    found: list[int] = []
    q = max(1, math.isqrt(first // coarse))
    at = first if q == 1 else coarse * q * q + (first - coarse * q * q) // q * q
    while at <= last:
        turn = coarse * (q + 1) ** 2
        found.extend(range(at, min(turn, last + 1), q))
        at, q = turn, q + 1
    return found


def block_masses(weights: BinomialWeights, starts: list[int]) -> tuple[float, np.ndarray]:
    """Return the mass below the first block, and that of each block, the last without an end."""
    edges = np.maximum(np.array(starts) - weights.first, 0)
    masses = np.add.reduceat(weights.masses, edges)
    masses[-1] += weights.above
    below = float(weights.masses[: edges[0]].sum()) + weights.below
    return below, masses


def mixed_delta(weights: BinomialWeights, starts: list[int], deltas: np.ndarray) -> float:
    """Return the block bound for blocks that begin at `starts` (rising, with their deltas)."""
    below, masses = block_masses(weights, starts)
    total = below + float((masses * deltas).sum())
    return min(1.0, max(grown(total, len(weights.masses) + 4 * len(starts) + 16), SMALLEST))


def useful(weights: BinomialWeights, starts: list[int], deltas: np.ndarray) -> tuple[int, int]:
    """Return the first and last block, given deltas (roughly), without which next to nothing of the
    bound is lost: the mass below counts in full, what lies above as the last block."""
    below, masses = block_masses(weights, starts)
    parts = masses * deltas
    little = _LOST * float(parts.sum())
    beneath = below + np.concatenate([[0.0], np.cumsum(masses[:-1])])
    beyond = np.cumsum(masses[::-1])[::-1] * deltas
    low = int(np.searchsorted(beneath, little, side="right")) - 1
    high = int(np.searchsorted(-beyond, -little))
    return max(low, 0), min(max(high, low, 0), len(starts) - 1)
