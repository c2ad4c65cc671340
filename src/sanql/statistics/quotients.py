"""Intervals of a quotient of a noisy sum and a noisy count, by the law of both noises together.

Let S and N be exact, m = S/N, and S + Z and N + Z' what is seen. Then (S + Z) - m (N + Z') = Z - m Z',
whatever N is: so with w(m) what |Z - m Z'| exceeds with the chance that is allowed, {m : |(S + Z) - m
(N + Z')| <= w(m)} holds the exact quotient with the confidence asked for (Fieller, 1954). It is looked
for between the ends of the values in ranges, each with the largest w in it, which is that of its end
further from 0 (mechanisms/two_noises.py); the interval is all that lies between what is found.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sanql.measurements import Band, Reals
from sanql.statistics.noisy import NoisyMeasurements

RANGES = 64
_AT_ONCE = 1024  # groups, each with all ranges: so many fit into a processor's own memory


def quotient_band(
    noisy: NoisyMeasurements, place: int, count: int, confidence: Fraction
) -> Band | None:
    """Return the interval of a centred sum over a count; None where no law of both noises is known."""
    part = noisy.measurement(place)
    ends = np.linspace(float(part.low * part.grid), float(part.high * part.grid), RANGES + 1)
    furthest = np.maximum(np.abs(ends[:-1]), np.abs(ends[1:]))
    reaches = noisy.noise.reaches_of_both(place, count, furthest.tolist(), confidence)
    if reaches is None:
        return None
    sums, rows, reach = noisy.reals(place), noisy.reals(count), np.array(reaches)[:, np.newaxis]
    low, high = np.empty(noisy.count), np.empty(noisy.count)
    for start in range(0, noisy.count, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        low[some], high[some] = _between(sums[some], rows[some], reach, ends)
    return Band(low, high)


def _between(sums: Reals, rows: Reals, reach: Reals, ends: Reals) -> tuple[Reals, Reals]:
    """Return between which ends all m lie that fit what is seen of some groups."""
    first, last = _within(sums, rows, reach, ends[:-1, np.newaxis], ends[1:, np.newaxis])
    found = first <= last
    low = np.where(found, first, np.inf).min(axis=0)
    high = np.where(found, last, -np.inf).max(axis=0)
    # nothing fits what is seen where noise was large: then it is the nearest end, or anything
    nearest = np.clip(sums / np.where(rows >= 1, rows, 1.0), ends[0], ends[-1])
    nowhere, few = low > high, rows < 1
    low = np.where(nowhere, np.where(few, ends[0], nearest), low)
    return low, np.where(nowhere, np.where(few, ends[-1], nearest), high)


def _within(
    sums: Reals, rows: Reals, reach: Reals, left: Reals, right: Reals
) -> tuple[Reals, Reals]:
    """Return the ends of all m from left to right with |sums - m rows| <= reach; reversed for none."""
    with np.errstate(all="ignore"):
        one, other = (sums - reach) / rows, (sums + reach) / rows
    first, last = np.fmax(np.fmin(one, other), left), np.fmin(np.fmax(one, other), right)
    all_or_none = np.where(np.abs(sums) <= reach, right, -np.inf)
    return np.where(rows == 0, left, first), np.where(rows == 0, all_or_none, last)
