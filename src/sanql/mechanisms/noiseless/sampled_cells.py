"""Truncated histograms when the population of a cell is public: delta by enumeration.

`sampled_sizes` bounds delta over every population a cell may have. Where the owner knows the
population of the cell, the joint law of its count C and of the rest R of the sample,
q(c+r)·Hyp(c; c+r draws), can be enumerated, and delta is a sum of positive parts.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sanql.mechanisms.noiseless.numbers import checked_count, checked_epsilon, refusal
from sanql.mechanisms.noiseless.sampled_sizes import DiscardPrior, SizePrior, others_law

CELLS_MAX = 50_000_000
_MARGIN = 1 + 1e-11
"""Far above the rounding of at most a few thousand products of rational ratios."""


def cell_deltas(
    threshold: int, epsilon: Fraction, prior: DiscardPrior | SizePrior, members: int
) -> tuple[float, float]:
    """Return delta in both directions for a cell with `members` other people in the population."""
    checked_count(threshold, "the threshold k", least=1)
    checked_count(members, "the members of the cell", least=0, most=prior.population - 1)
    level = float(checked_epsilon(epsilon))
    others = others_law(prior)
    sizes = others.first + np.arange(len(others.masses))
    counts = np.arange(0, min(members, int(sizes[-1])) + 1)
    if len(sizes) * len(counts) > CELLS_MAX:
        raise refusal(
            "enumeration",
            f"{len(sizes)} sizes by {len(counts)} counts are too many to enumerate",
            "use the bound over all populations instead",
        )
    joint = others.masses[:, None] * _hypergeometric(sizes, counts, members, prior.population)
    # rows become the rest r = t − c, so that what an analyst sees besides the cell is one row
    rest: dict[int, list[tuple[int, float]]] = {}
    for i, t in enumerate(sizes):
        for count in np.flatnonzero(joint[i] > 0):
            rest.setdefault(int(t - count), []).append((int(count), float(joint[i, count])))
    g, one, two = math.exp(level), 0.0, 0.0
    for seen in rest.values():
        masses = np.zeros(len(counts) + 2)
        for c, mass in seen:
            masses[c] = mass
        hidden = masses[: max(threshold - 1, 0)].sum()  # C + 1 < k
        with_person = np.concatenate([[hidden], masses[threshold - 1 : -1]])
        without = np.concatenate([[masses[:threshold].sum()], masses[threshold:]])
        # rounding is added inside the positive parts, so that it cannot open a closed one
        one += float(np.maximum(with_person * _MARGIN - g * without / _MARGIN, 0).sum())
        two += float(np.maximum(without * _MARGIN - g * with_person / _MARGIN, 0).sum())
    return min(1.0, one * _MARGIN + others.cut), min(1.0, two * _MARGIN + others.cut)


def _hypergeometric(
    sizes: np.ndarray, counts: np.ndarray, members: int, population: int
) -> np.ndarray:
    """Return P(C = c) for every number of draws (rows) and count (columns).

    Each row is a product of ratios out from its mode, divided by its sum.
    """
    rows = np.zeros((len(sizes), len(counts)))
    outside = population - 1 - members
    for i, t in enumerate(sizes):
        low, high = max(0, int(t) - outside), min(members, int(t))
        c = np.arange(low + 1, high + 1, dtype=np.float64)
        up = (members - c + 1) * (t - c + 1) / (c * (outside - t + c))
        mode = int(np.searchsorted(-up, -1.0))
        weights = np.concatenate(
            [np.cumprod(1 / up[:mode][::-1])[::-1], [1.0], np.cumprod(up[mode:])]
        )
        rows[i, low : high + 1] = weights / weights.sum()
    return rows
