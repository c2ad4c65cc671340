"""Intervals of a quotient of a noisy sum and a noisy count, by the law of both noises together.

Let S and N be exact, m = S/N, and S + Z and N + Z' what is seen. Then (S + Z) - m (N + Z') = Z - m Z',
whatever N is: so with w(m) what |Z - m Z'| exceeds with the chance that is allowed, {m : |(S + Z) - m
(N + Z')| <= w(m)} holds the exact quotient with the confidence asked for (Fieller, 1954). It is looked
for between the ends of the values in ranges, each with the largest w in it, which is that of its end
further from 0 (mechanisms/two_noises.py); the interval is all that lies between what is found.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from sanql.measurements import Band, Reals
from sanql.statistics.noisy import NoisyMeasurements

RANGES = 64


def quotient_band(
    noisy: NoisyMeasurements, place: int, count: int, confidence: Fraction
) -> Band | None:
    """Return the interval of a centred sum over a count; None where no law of both noises is known."""
    part = noisy.measurement(place)
    ends = np.linspace(float(part.low * part.grid), float(part.high * part.grid), RANGES + 1)
    sums, rows = noisy.reals(place), noisy.reals(count)
    low, high = np.full(noisy.count, np.inf), np.full(noisy.count, -np.inf)
    for left, right in pairwise(ends.tolist()):
        furthest = max(abs(left), abs(right))
        reach = noisy.noise.reach_of_both(place, count, furthest, confidence)
        if reach is None:
            return None
        first, last = _within(sums, rows, reach, left, right)
        found = first <= last
        low = np.where(found, np.minimum(low, first), low)
        high = np.where(found, np.maximum(high, last), high)
    # nothing fits what is seen where noise was large: then it is the nearest end, or anything
    nearest = np.clip(sums / np.where(rows >= 1, rows, 1.0), ends[0], ends[-1])
    nowhere, few = low > high, rows < 1
    low = np.where(nowhere, np.where(few, ends[0], nearest), low)
    return Band(low, np.where(nowhere, np.where(few, ends[-1], nearest), high))


def _within(
    sums: Reals, rows: Reals, reach: float, left: float, right: float
) -> tuple[Reals, Reals]:
    """Return the ends of all m from left to right with |sums - m rows| <= reach; reversed for none."""
    with np.errstate(all="ignore"):
        one, other = (sums - reach) / rows, (sums + reach) / rows
    first, last = np.fmax(np.fmin(one, other), left), np.fmin(np.fmax(one, other), right)
    all_or_none = np.where(np.abs(sums) <= reach, right, -np.inf)
    return np.where(rows == 0, left, first), np.where(rows == 0, all_or_none, last)
