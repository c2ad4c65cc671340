"""A wheel of fortune with real-valued sectors, spun exactly with as few random bits as needed.

A wheel holds symbols 0, 1, 2, … with positive real weights. Spinning it means inverting the
cumulative distribution at a uniform real U in [0, 1): symbol i comes up when U falls between edge
i-1 and edge i. Nobody can write U down, nor most edges, but a prefix of U's binary digits
confines U to a cell [v, v+1)·2^-bits, and integer arithmetic confines each edge to an interval
(enclosure.py). As soon as the cell lies on one side of every edge, the symbol is settled whatever
the digits not yet drawn would have been; otherwise more digits are drawn and the edges are
recomputed more finely. The outcome is therefore that of the infinite expansion: its probabilities
are exactly the weights, with no rounding anywhere, and it ends with probability one.

Where many spins are wanted, sixteen digits settle nearly every one by a look-up; forty-eight more
settle nearly all of the rest together; Python's integers settle what is left (about one spin in 2^50).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sanql.computed_once import computed_once
from sanql.entropy import Entropy

Integers = NDArray[np.int64]

_GUARD = 16
_FIRST = 16
_SECOND = 64
_UNSETTLED = -1
_TABLE_WORTH = 4096  # for fewer spins, drawing all digits costs less than making the table


class Weights(NamedTuple):
    """The weights of symbols 0 … n-1, each within [lower, upper]·2^-bits.

    The symbols from n on weigh at most `rest_upper`·2^-bits together; zero says there are none.
    """

    lower: list[int]
    upper: list[int]
    rest_upper: int


class Wheel:
    """A distribution over 0, 1, 2, … known through enclosures of its weights."""

    def __init__(self, weights: Callable[[int], Weights]) -> None:
        """Keep `weights`, a function from a number of bits to enclosures that fine."""
        self._weights = weights
        self._ends = self.edges(_SECOND)
        lower, upper = self._ends
        self._lower = np.array(lower, dtype=np.uint64)
        self._upper = np.array([edge for edge in upper if edge >> _SECOND == 0], dtype=np.uint64)

    @computed_once
    def _table(self) -> NDArray[np.int16]:
        """The symbol that each cell of sixteen digits settles, if it does."""
        lower, upper = self._ends
        coarser = _SECOND - _FIRST
        passed = _edges_at_most([-(-edge >> coarser) for edge in upper])
        reached = _edges_at_most([edge >> coarser for edge in lower])
        return np.where(passed == reached, passed, _UNSETTLED).astype(np.int16)

    def edges(self, bits: int) -> tuple[list[int], list[int]]:
        """Return the lower and upper ends of every edge below one, in units of 2^-bits.

        A cell v lies surely above an edge when the edge's upper end is at most v, and surely
        below it when v is less than the edge's lower end.
        """
        weights = self._weights(bits + _GUARD)
        total_lower = sum(weights.lower)
        total_upper = sum(weights.upper) + weights.rest_upper
        lower = [(mass << bits) // total_upper for mass in accumulate(weights.lower)]
        upper = [-((-mass << bits) // total_lower) for mass in accumulate(weights.upper)]
        if weights.rest_upper == 0:
            return lower[:-1], upper[:-1]  # the last edge is exactly one: every U lies below it
        return lower, upper

    def spin(self, entropy: Entropy, count: int) -> Integers:
        """Return `count` independent symbols."""
        words = np.frombuffer(entropy.bytes(2 * count), dtype="<u2")
        if count < _TABLE_WORTH:
            return self._spin_on(entropy, words)
        symbols = self._table.take(words).astype(np.int64)
        lanes = np.flatnonzero(symbols == _UNSETTLED)
        if lanes.size:
            symbols[lanes] = self._spin_on(entropy, words[lanes])
        return symbols

    def _spin_on(self, entropy: Entropy, words: NDArray[np.uint16]) -> Integers:
        """Return the symbols of spins whose first sixteen digits did not settle them."""
        more = np.frombuffer(entropy.bytes(8 * words.size), dtype="<u8") >> np.uint64(_FIRST)
        cells = words.astype(np.uint64) << np.uint64(_SECOND - _FIRST) | more
        passed = np.searchsorted(self._upper, cells, side="right").astype(np.int64)
        reached = np.searchsorted(self._lower, cells, side="right")
        for lane in np.flatnonzero(passed != reached):
            passed[lane] = self._settle(entropy, int(cells[lane]))
        return passed

    def _settle(self, entropy: Entropy, cell: int) -> int:
        """Return the symbol of one spin, drawing digits until it is certain."""
        bits = _SECOND
        while True:
            cell = cell << bits | int.from_bytes(entropy.bytes(bits // 8), "little")
            bits *= 2
            lower, upper = self.edges(bits)
            passed = bisect_right(upper, cell)
            if passed == bisect_right(lower, cell):
                return passed


def _edges_at_most(edges: list[int]) -> Integers:
    """Return, for each sixteen-digit cell, how many of the edges are at most that cell."""
    size = 1 << _FIRST
    below_one = np.array([edge for edge in edges if edge < size], dtype=np.int64)
    return np.cumsum(np.bincount(below_one, minlength=size))
