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

_FALL = 690.0
"""The window holds every weight above e^-690 of the largest; the rest is bounded by its edge."""


@dataclass(frozen=True)
class Weights:
    """Upper bounds of binomial probabilities on a window, and of the mass below and above it."""

    first: int
    masses: np.ndarray
    below: float
    above: float

    @property
    def last(self) -> int:
        """The last number in the window."""
        return self.first + len(self.masses) - 1


def binomial_weights(trials: int, chance: Fraction, *, fall: float = _FALL) -> Weights:
    """Return upper bounds of P(K = k), K ~ Bin(trials, chance), around the mode."""
    if chance == 1:
        return Weights(trials, np.ones(1), 0.0, 0.0)
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
    return Weights(first, masses, below, above)


def _beyond(edge: float, place: int, end: int, ratio: Callable[[], float]) -> float:
    """Return a bound of the mass beyond a window's edge; ratios fall further out."""
    if place == end:
        return 0.0
    step = min(ratio() * (1 + 8 * UNIT_ROUNDOFF), 0.999999)
    return max(grown(edge * step / (1 - step), 16), SMALLEST)


def mixed_delta(weights: Weights, starts: list[int], delta_of: Callable[[int], float]) -> float:
    """Return the block bound for blocks that begin at `starts` (rising, within the window)."""
    edges = [start - weights.first for start in starts] + [len(weights.masses)]
    lost = float(weights.masses[: edges[0]].sum())
    total = grown(lost, edges[0] + 8) + weights.below
    for i, start in enumerate(starts):
        mass = grown(float(weights.masses[edges[i] : edges[i + 1]].sum()), edges[i + 1] - edges[i])
        if i == len(starts) - 1:
            mass += weights.above
        total += mass * delta_of(start)
    return min(1.0, max(grown(total, 4 * len(starts) + 16), SMALLEST))


def block_starts(weights: Weights, log_delta: np.ndarray, blocks: int | None) -> list[int]:
    """Return where blocks should begin, given log delta_K (roughly) over the window.

    A block of length b wastes about b²/2 · P(K)·|delta_K'|, so starts are dense where the square
    root of P(K)·delta_K is large.
    """
    product = np.log(weights.masses) + np.maximum(log_delta, -2000.0)
    peak = float(product.max())
    useful = np.flatnonzero(product > peak - 46.0)
    low, high = int(useful[0]), int(useful[-1])
    if blocks is None or high - low < blocks:
        return [weights.first + k for k in range(low, high + 1)]
    density = np.exp((product[low : high + 1] - peak) / 2)
    scale = blocks / density.sum()
    for _ in range(60):  # no more than one start a number, and `blocks` in all
        scale *= blocks / np.minimum(1.0, scale * density).sum()
    share = np.cumsum(np.minimum(1.0, scale * density))
    starts = np.flatnonzero(np.diff(np.floor(share), prepend=-1.0) > 0)
    return [weights.first + low + int(k) for k in starts]
