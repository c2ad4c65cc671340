"""Quantiles by brute force: the rows before every place, and the score of every place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

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
    return -np.maximum(below - target, target - upto)


def permute_and_flip(heads: Sequence[float]) -> list[float]:
    """Return how likely each candidate is chosen, by all that coins can show: one of those with heads."""
    chances = [0.0] * len(heads)
    for shown in product((False, True), repeat=len(heads)):
        likely = prod(p if up else 1 - p for p, up in zip(heads, shown, strict=True))
        for place in np.flatnonzero(shown) if likely else ():
            chances[place] += likely / sum(shown)
    return chances
