"""Quantiles by brute force: the rows before every place, and the score of every place."""

from __future__ import annotations

import numpy as np

from sanql.measurements.quantile_picks import ROW, QuantileBins, Turn
from sanql.noise.places import bits_reversed

SPLITS = 4  # nothing hangs on how many there are, and all of them are written down


def few_splits(bins: QuantileBins) -> int:
    """Return how many places of a bin are looked at."""
    return min(bins.splits, SPLITS)


def spread(rows: np.ndarray, splits: int) -> np.ndarray:
    """Return the rows before each place, and before the end: each row goes to its place in turn."""
    order = bits_reversed(splits)
    held = np.zeros((len(rows), splits), dtype=np.int64)
    for number in np.flatnonzero(rows):
        np.add.at(held[number], order[np.arange(rows[number]) % splits], 1)
    return np.concatenate([[0], np.cumsum(held.ravel())])


def score(before: np.ndarray, start: int, stop: int, turn: Turn, aim: int) -> np.ndarray:
    """Return the scores of the places from `start` to `stop`, in parts of ROW, of the rows between."""
    last = min(stop, before.size - 2)
    places = np.arange(start, last + 1)
    target = turn.share * int(before[stop] - before[start]) + aim
    below = (before[places] - before[start]) * ROW
    upto = (before[np.minimum(places + 1, stop)] - before[start]) * ROW
    return -np.maximum(0, np.maximum(below - target, target - upto))
