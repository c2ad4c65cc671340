"""Places by rank: how many rows are before each, and which ones are how far from a share of the rows.

The rows of a bin go round its places in a fixed order, so one row more in a bin is one more in one of
its places, and in no other. The order is by reversed bits, which keeps the first rows of a bin far apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sanql.computed_once import computed_once
from sanql.measurements import ROW
from sanql.mechanisms import Runs

Integers = NDArray[np.int64]


class RankedPlaces:
    """The rows of one group, spread over the places of their bins; `splits` is a power of two."""

    def __init__(self, rows: Integers, splits: int) -> None:
        self._rows = rows
        self.splits = splits
        self._starts = np.concatenate([[0], np.cumsum(rows)])
        self._order = bits_reversed(splits)

    @property
    def count(self) -> int:
        """How many places there are."""
        return self._rows.size * self.splits

    def before(self, place: int) -> int:
        """Return how many rows are before a place, or before the end."""
        number, split = divmod(place, self.splits)
        if not split:
            return int(self._starts[number])
        rounds, left = divmod(int(self._rows[number]), self.splits)
        begun = np.count_nonzero(self._order[:left] < split)
        return int(self._starts[number]) + rounds * split + int(begun)

    def bins_between(self, low: int, high: int) -> tuple[int, int]:
        """Return the first and the last bin in which some place has `low` rows or more up to its end and
        `high` rows or fewer before it."""
        last = self._rows.size - 1
        first = int(np.searchsorted(self._starts[1:], low, side="left"))
        upto = int(np.searchsorted(self._starts[:-1], high, side="right")) - 1
        return min(first, last), max(upto, 0)

    def occupied(self, first: int, last: int) -> tuple[Integers, Integers]:
        """Return the places with rows in bins from first to last, in ascending order, and their rows."""
        numbers = first + np.flatnonzero(self._rows[first : last + 1])
        rows = self._rows[numbers]
        rounds, left = np.divmod(rows, self.splits)
        places = [np.repeat(numbers, left) * self.splits + self._order[_counted(left)]]
        counts = [np.ones(places[0].size, dtype=np.int64)]
        for number, turns in zip(numbers[rounds > 0], rounds[rounds > 0], strict=True):
            places.append(number * self.splits + np.arange(self.splits))
            counts.append(np.full(self.splits, turns))
        found, inverse = np.unique(np.concatenate(places), return_inverse=True)
        totals = np.zeros(found.size, dtype=np.int64)
        np.add.at(totals, inverse, np.concatenate(counts))
        return found, totals


@dataclass(frozen=True)
class PlacesBetween:
    """The places from `start` to `stop`, by how far each is from holding a share of the rows between.

    The share is in parts of ROW, and so are distances and the `aim`, which is added to the share of rows.
    The last candidate is `stop` itself, of whose own rows none are between; of all places it is the end.
    """

    places: RankedPlaces
    start: int
    stop: int
    share: int
    aim: int

    @property
    def count(self) -> int:
        """How many places there are to pick from."""
        return min(self.stop, self.places.count - 1) - self.start + 1

    @property
    def step(self) -> int:
        """Distances differ by whole rows, on either side."""
        return ROW

    @computed_once
    def _ends(self) -> tuple[int, int]:
        return self.places.before(self.start), self.places.before(self.stop)

    @computed_once
    def _target(self) -> int:
        first, last = self._ends
        return first * ROW + self.share * (last - first) + self.aim

    @computed_once
    def _nearest(self) -> int:
        """How far the best is away: below zero where it holds the share, with rows to spare."""
        first, last = self._ends
        within = min(max(self._target, first * ROW), last * ROW)
        bins = self.places.bins_between(within // ROW, -(-within // ROW))
        _, sizes, before, upto = self._runs(*bins)
        return int(self._away(before, upto)[sizes > 0].min())

    def _away(self, before: Integers, upto: Integers) -> Integers:
        """Return how far places are from holding the share, by the rows before and up to each."""
        return np.maximum(before * ROW - self._target, self._target - upto * ROW)

    def runs(self, reach: int | None) -> Runs:
        """Return the runs of places that are no further than `reach` from the best; all for None."""
        first, last = self._ends
        away = max(0, first * ROW - self._target, self._target - last * ROW)
        furthest = away + (last - first + 1) * ROW if reach is None else self._nearest + reach
        low, high = self._target - furthest, self._target + furthest
        starts, sizes, before, upto = self._runs(
            *self.places.bins_between(low // ROW, -(-high // ROW))
        )
        away_each = self._away(before, upto)
        near = np.flatnonzero((sizes > 0) & (away_each <= furthest))
        distances = away_each - self._nearest
        near = near[np.lexsort((starts[near], distances[near]))]
        others = self.count - int(sizes[near].sum())
        return Runs(starts[near].tolist(), sizes[near].tolist(), distances[near].tolist(), others)

    def _runs(self, first: int, last: int) -> tuple[Integers, Integers, Integers, Integers]:
        """Return the runs of places in these bins: starts, sizes, rows before each and up to its end.

        Each place with rows is a run of its own; those between two such places are one.
        """
        splits = self.places.splits
        start = max(self.start, first * splits)
        end = min(self.start + self.count, (last + 1) * splits)
        places, rows = self.places.occupied(first, last)
        inside = (places >= self.start) & (places < self.stop)
        places, rows = places[inside], rows[inside]
        upto = self.places.before(start) + np.concatenate([[0], np.cumsum(rows)])
        empty = np.concatenate([[start], places + 1])
        sizes = np.concatenate([places, [end]]) - empty
        return (
            np.concatenate([empty, places]),
            np.concatenate([sizes, np.ones(places.size, dtype=np.int64)]),
            np.concatenate([upto, upto[:-1]]),
            np.concatenate([upto, upto[1:]]),
        )


@lru_cache(maxsize=16)
def bits_reversed(count: int) -> Integers:
    """Return the numbers below a power of two, each with its bits in reverse.

    >>> bits_reversed(8).tolist()
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    order = np.zeros(1, dtype=np.int64)
    while order.size < count:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def _counted(times: Integers) -> Integers:
    """Return 0, 1, … below each number, one after the other.

    >>> _counted(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(times)
    return np.arange(times.sum()) - np.repeat(ends - times, times)
