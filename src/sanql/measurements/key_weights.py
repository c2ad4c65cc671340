"""Weights of units in the selection of keys: a unit of g groups adds floor(2^k / sqrt(g)) to each.

A unit may be in many groups, and selection must not know which of them matter. Counted in full, it moves
as many counts by one as it has groups, so all noise grows with the most that a unit may have; and where
only a few of its groups count, all others lose it. Weighted, it counts in every group, and

    g · floor(2^k / sqrt(g))² <= g · 4^k / g = 4^k:

whatever it does, it moves the vector of weights by at most 2^k in L2, which is what one unit in one group
moves it by. In L1 that is g · floor(2^k / sqrt(g)) <= 2^k · sqrt(g), with at most `groups_max` groups: of
a unit in more, so many are chosen by a hash of its own. Under change-one both vectors are nonnegative, so
(v_i - v'_i)² <= v_i² + v'_i² and the squared L2 is at most twice as large.
"""

from __future__ import annotations

import math

from sanql.measurements.sensitivity import Sensitivity
from sanql.policy import Neighbours

WEIGHT_BITS = 10
"""k: a weight is a number of steps of 2^-k."""

GROUPS_MAX = 4**WEIGHT_BITS
"""The most groups of a unit that a weight can tell from nothing."""


def key_weight(groups: int) -> int:
    """Return what a unit in so many groups adds to each: floor(2^k / sqrt(g)), exactly.

    >>> key_weight(1), key_weight(2), key_weight(4), key_weight(100)
    (1024, 724, 512, 102)
    """
    return math.isqrt(GROUPS_MAX // groups)


def sensitivity_of_key_weights(groups_max: int, neighbours: Neighbours) -> Sensitivity:
    """Return how far one unit can move the weights of all keys, in steps of 2^-k."""
    sides = 1 if neighbours == "add-remove" else 2
    one = 1 << WEIGHT_BITS
    return Sensitivity(sides * (math.isqrt(one**2 * groups_max - 1) + 1), one, sides * one**2)
