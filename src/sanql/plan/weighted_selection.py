"""Keys selected by weights of units instead of by their number (measurements/key_weights.py).

The number of units that is shown is then measured apart, and only where it is shown. A unit of g groups
that are all its own must not make any of them appear but with probability delta: each of them has its
weight w(g) and noise, so that is at most g · P(w(g) + Z >= tau). The threshold is the largest that any
g up to `groups_max` needs:

    tau = max over g of w(g) + q(delta / g),  q(p) the least n with P(Z >= n) <= p.

Given that none of them appears, which hangs on noise of their own, the rest of the answer is the Gaussian
mechanism over the keys of others, of which one unit moves the weights by 2^k in L2: so selection is
delta-approximately concentrated private, and delta adds up with that of the conversion. Under change-one
the unit that leaves and the one that comes have groups of their own: each has half of delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sanql.measurements import (
    GROUPS_MAX,
    WEIGHT_BITS,
    ContributionLimits,
    Measured,
    Measurement,
    key_weight,
    sensitivity_of_key_weights,
)
from sanql.mechanisms import DiscreteGaussian
from sanql.policy import ColumnUnit, Neighbours, Table
from sanql.statistics import Measuring

_WIDER = 16  # a range of groups ends at so many times the end of the one before


def select_by_weights(
    measuring: Measuring,
    table: Table,
    limits: ContributionLimits,
    neighbours: Neighbours,
    importance: float = 1.0,
) -> Measuring | None:
    """Return the measurements with weights to select keys by; None where a unit is in one group.

    `importance` is how much the selection matters to the split.
    """
    index = measuring.selection
    rows = table.rows_per_unit_max
    if (
        index is None
        or limits.groups == 1
        or rows is None
        or not isinstance(table.unit, ColumnUnit)
    ):
        return None
    groups_max = min(rows, GROUPS_MAX)
    weights = Measurement(
        Measured.KEY_WEIGHTS,
        None,
        sensitivity_of_key_weights(groups_max, neighbours),
        grid=Fraction(1, 1 << WEIGHT_BITS),
        high=1 << WEIGHT_BITS,
        weight=importance,
        groups_max=groups_max,
    )
    measurements = list(measuring.measurements)
    if any(index in estimate.measurements for estimate in measuring.estimates):
        shown = measurements[index]
        measurements[index] = replace(shown, weight=shown.weight - importance)
        index = len(measurements)
        measurements.append(weights)
    else:
        measurements[index] = weights
    return replace(measuring, measurements=tuple(measurements), selection=index)


def weight_threshold(noise: DiscreteGaussian, failure: Fraction, groups_max: int) -> int:
    """Return what a noisy weight must reach so that one unit's own keys stay hidden, but for `failure`.

    Numbers of groups are looked at in ranges from `low` to `high`, each with the weight of its low end
    and the chance of its high end: never less than what any number in it needs, and hardly more, as a
    weight is small beside the noise.

    >>> weight_threshold(DiscreteGaussian(Fraction(1)), Fraction(1, 10**6), 1)
    1030
    """
    threshold = 0
    for low, high in reversed(list(_ranges(groups_max))):
        weight, chance = key_weight(low), failure / high
        if not _surely_hidden(noise, threshold - weight, chance):
            threshold = max(threshold, weight + noise.least_reaching(chance))
    return threshold


def _ranges(groups_max: int) -> Iterator[tuple[int, int]]:
    """Yield ranges from 1 on that have all numbers up to the most, each range wider than the last."""
    low, high = 1, 1
    while low <= groups_max:
        yield low, min(high, groups_max)
        low, high = high + 1, high * _WIDER


def _surely_hidden(noise: DiscreteGaussian, distance: int, chance: Fraction) -> bool:
    """Return whether noise reaches a distance with no more than a chance, told without its tail.

    A discrete Gaussian is sub-Gaussian: P(Z >= d) <= exp(-d² / 2 sigma²) (Canonne, Kamath & Steinke,
    2020).
    """
    if distance <= 0:
        return False
    exponent = float(Fraction(distance**2) / (2 * noise.sigma2))
    return exponent * (1 - 1e-9) > math.log(chance.denominator) - math.log(chance.numerator) + 1e-9
