"""Quantiles from picked places, and intervals from the noisy counts around them.

Let b be the start of a leaf and T the rows before it less a times all rows, a sum of ladder counts with
known weights. Where T < 0 for sure, the a-quantile lies at b or above; where T >= 0 for sure, below b.
A bound errs to one side only, so each gets an equal share of the error probability. Interpolating
between neighbouring rows can move a quantile past one of them, hence the rows of slack.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sanql.mechanisms.deviations import deviation_upper
from sanql.plan import Plan
from sanql.plan.measurements import QuantileOf
from sanql.plan.quantiles import Leaves, ladder
from sanql.release.bands import Band, Reals, off_grid
from sanql.release.cells import NoisyCells

SLACK = 2.0


def quantile_value(plan: Plan, cells: NoisyCells, estimate: QuantileOf) -> Reals:
    """Return a picked quantile in every group, or none where the noisy counts see no row.

    Where they see rows that are not there, the place is one at random, and its interval says so by
    covering all of the bounds.
    """
    leaves = _leaves(plan, estimate)
    places = np.array(
        [picked[estimate.place] for picked in cells.lists(estimate.picks)], dtype=float
    )
    leaf, split = np.divmod(places, leaves.splits)
    steps = leaves.bottom + leaf * leaves.width
    if leaves.width > 1:  # several values share a leaf: the place says where in it
        steps = steps + (split + 0.5) / leaves.splits * leaves.width - 0.5
    if estimate.whole:
        steps = np.rint(steps)
    values = off_grid(np.clip(steps, leaves.bottom, leaves.top), leaves.grid)
    empty = [counts.astype(float).sum() < 1 for counts in cells.lists(estimate.ladder)]
    return np.where(empty, np.nan, values)


def quantile_band(
    plan: Plan, cells: NoisyCells, estimate: QuantileOf, confidence: Fraction
) -> Band:
    """Return the interval of a quantile in every group."""
    leaves, noise = _leaves(plan, estimate), plan.noises[estimate.ladder]
    lows, highs = [], []
    pairs = zip(cells.lists(estimate.picks), cells.lists(estimate.ladder), strict=True)
    for picked, counts in pairs:
        bounds = ladder(leaves, [place // leaves.splits for place in picked.tolist()])
        chance = float(1 - confidence) / max(1, len(bounds))
        low, high = 0, leaves.count - 1
        share = float(estimate.fraction)
        for number, bound in enumerate(bounds, 1):
            after = len(counts) - number
            before, beyond = float(counts[:number].sum()), float(counts[number:].sum())
            ranked = (1 - share) * before - share * beyond
            wide = deviation_upper(noise, ((1 - share, number), (share, after)), chance)
            if ranked + wide <= -SLACK or (share == 1 and beyond - wide >= 1):
                low = max(low, bound)
            if ranked - wide >= SLACK or (share == 0 and before - wide >= 1):
                high = min(high, bound - 1)
        lows.append(leaves.bottom + low * leaves.width)
        highs.append(min(leaves.top, leaves.bottom + high * leaves.width + leaves.width - 1))
    ends = (off_grid(np.array(steps, dtype=float), leaves.grid) for steps in (lows, highs))
    return Band(*ends)


def widest(plan: Plan, estimate: QuantileOf) -> tuple[float, float]:
    """Return the ends of an interval that nothing is known about."""
    leaves = _leaves(plan, estimate)
    low, high = off_grid(np.array([leaves.bottom, leaves.top], dtype=float), leaves.grid)
    return float(low), float(high)


def _leaves(plan: Plan, estimate: QuantileOf) -> Leaves:
    leaves = plan.measurements[estimate.picks].leaves
    assert leaves is not None  # noqa: S101  (picks have leaves)
    return leaves
