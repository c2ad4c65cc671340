"""The interval of a quotient, against one that looks at every group and range by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest

from sanql.mechanisms import DiscreteLaplace, reach_of_two
from sanql.statistics import quotients
from sanql.statistics.quotients import RANGES, quotient_band

NOISES = DiscreteLaplace(Fraction(900)), DiscreteLaplace(Fraction(31, 2))
CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class Seen:
    """Sums and counts that were seen, the sum of values from -3 to 7 in quarters."""

    sums: np.ndarray
    rows: np.ndarray
    low: int = -12
    high: int = 28
    grid: Fraction = Fraction(1, 4)

    @property
    def noise(self) -> Seen:
        return self

    @property
    def count(self) -> int:
        return len(self.sums)

    def measurement(self, index: int) -> Seen:
        return self

    def reals(self, index: int) -> np.ndarray:
        return self.sums if index == 0 else self.rows

    def reaches_of_both(
        self, place: int, count: int, rows: list[float], confidence: Fraction
    ) -> tuple[float, ...]:
        return tuple(reach(each) for each in rows)


def reach(rows: float) -> float:
    found = reach_of_two(NOISES, (0.25, -rows), CONFIDENCE)
    assert found is not None
    return found


def between(total: float, rows: float) -> tuple[float, float]:
    """Return the least and the greatest m that fits, range by range; what is nearest where none does."""
    ends = np.linspace(-3.0, 7.0, RANGES + 1).tolist()
    fitting: list[float] = []
    for left, right in pairwise(ends):
        width = reach(max(abs(left), abs(right)))
        if rows == 0:
            fitting += [left, right] if abs(total) <= width else []
            continue
        first, last = sorted(((total - width) / rows, (total + width) / rows))
        if max(first, left) <= min(last, right):
            fitting += [max(first, left), min(last, right)]
    if fitting:
        return min(fitting), max(fitting)
    if rows < 1:
        return -3.0, 7.0
    nearest = min(max(total / rows, -3.0), 7.0)
    return nearest, nearest


@pytest.mark.parametrize("at_once", [1, 7, 1024])
def test_it_holds_all_that_fits_what_is_seen_of_each_group(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotients, "_AT_ONCE", at_once)
    numbers = np.random.default_rng(8)
    sums, rows = np.round(numbers.normal(0, 3000, 300)), np.round(numbers.normal(150, 300, 300))
    sums[::9], rows[::11] = 0.0, 0.0
    band = quotient_band(cast(Any, Seen(sums, rows)), 0, 1, CONFIDENCE)
    assert band is not None
    expected = [between(*seen) for seen in zip(sums.tolist(), rows.tolist(), strict=True)]
    assert [*zip(band.low.tolist(), band.high.tolist(), strict=True)] == expected
    assert not any(math.isnan(end) for ends in expected for end in ends)


def test_no_group_has_no_interval() -> None:
    band = quotient_band(cast(Any, Seen(np.empty(0), np.empty(0))), 0, 1, CONFIDENCE)
    assert band is not None
    assert band.low.size == band.high.size == 0
