"""Quantiles picked from exact bins: the largest of noisy scores, and noisy counts around the picks.

Which scores, and why one unit moves them by little, is in measurements/quantile_picks.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sanql.measurements import (
    ROW,
    Measured,
    Measurement,
    QuantileBins,
    Turn,
    ladder,
    pick_levels,
    rows_inward,
)
from sanql.mechanisms import Geometric, Noise, NoNoise, Sampler, add_saturating
from sanql.plan import Level

if TYPE_CHECKING:
    import pyarrow

Integers = NDArray[np.int64]


def pick_quantiles(level: Level, table: pyarrow.Table, sampler: Sampler) -> pyarrow.Table:
    """Return the cells of the groups that appear, with picked quantiles in place of exact bins."""
    import pyarrow as pa

    for index, ladder_counts in enumerate(level.measurements):
        if ladder_counts.kind is not Measured.LADDER:
            continue
        assert ladder_counts.of is not None  # noqa: S101  (a ladder stands around picks)
        picks = level.measurements[ladder_counts.of]
        assert picks.quantile_bins is not None  # noqa: S101
        picked, counted = [], []
        for rows in bin_rows(picks.bin_count, table, ladder_counts.of):
            places = pick(picks, rows, level.noises[ladder_counts.of], sampler)
            around = count_around(picks.quantile_bins, rows, places, level.noises[index], sampler)
            picked.append(places)
            counted.append(around)
        whole = pa.list_(pa.int64())
        table = table.drop_columns([f"l{ladder_counts.of}", f"m{ladder_counts.of}"])
        table = table.append_column(f"m{ladder_counts.of}", pa.array(picked, whole))
        table = table.append_column(f"m{index}", pa.array(counted, whole))
    return table


def bin_rows(bins: int, cells: pyarrow.Table, index: int) -> Iterator[Integers]:
    """Yield how many rows each bin of a measurement has, group by group."""
    pairs = zip(cells.column(f"l{index}"), cells.column(f"m{index}"), strict=True)
    for numbers, counts in pairs:
        rows = np.zeros(bins, dtype=np.int64)
        rows[numbers.values.to_numpy()] = counts.values.to_numpy()
        yield rows


def pick(picks: Measurement, rows: Integers, noise: Noise, sampler: Sampler) -> list[int]:
    """Return the places picked for the quantiles of one group, in ascending order of quantile."""
    bins = picks.quantile_bins
    assert bins is not None  # noqa: S101  (picks have bins)
    before = spread(rows, bins.splits)
    reach = rows_inward(bins, noise.scale) if isinstance(noise, Geometric) else 1
    picked: dict[int, int] = {}
    for level in pick_levels(picks.fractions):
        for turn in level:
            start = picked[turn.after] if turn.after is not None else 0
            stop = picked[turn.before] if turn.before is not None else bins.places
            scores = score(before, start, stop, turn, _aim(picks, turn, reach))
            noisy = add_saturating(scores, _drawn(sampler, noise, scores.size))
            picked[turn.index] = start + int(np.argmax(noisy))
    return [picked[index] for index in range(len(picks.fractions))]


def count_around(
    bins: QuantileBins, rows: Integers, picked: list[int], noise: Noise, sampler: Sampler
) -> Integers:
    """Return noisy counts of the rows between the steps of a ladder around the picks."""
    before = np.concatenate([[0], np.cumsum(rows)])
    bounds = [0, *ladder(bins, [place // bins.splits for place in picked]), bins.count]
    exact = np.diff(before[bounds])
    return add_saturating(exact, sampler.sample(noise, exact.size))


def spread(rows: Integers, splits: int) -> Integers:
    """Return the rows before each place, and before the end, when a bin's rows go round its places.

    The order of the round is fixed, so one row more in a bin is one more in one of its places; bit
    reversal keeps the first rows of a bin far apart.
    """
    full, remainder = np.divmod(rows, splits)
    within = full[:, None] * np.arange(splits) + _rounds(splits)[remainder]
    starts = np.concatenate([[0], np.cumsum(rows)])
    return np.append((within + starts[:-1, None]).ravel(), starts[-1])


@lru_cache(maxsize=16)
def _rounds(splits: int) -> Integers:
    """Return how many of the first k rows of a round lie before place t, at [k, t]."""
    bits = splits.bit_length() - 1
    places = np.arange(splits)
    order = sum(((places >> bit) & 1) << (bits - 1 - bit) for bit in range(bits)) + 0 * places
    taken = np.zeros((splits, splits), dtype=np.int64)
    for row in range(1, splits):
        taken[row] = taken[row - 1] + (order[row - 1] < places)
    return taken


def score(before: Integers, start: int, stop: int, turn: Turn, aim: int) -> Integers:
    """Return the scores of the places from `start` to `stop`, in parts of ROW, of the rows between."""
    last = min(stop, before.size - 2)
    places = np.arange(start, last + 1)
    all_rows = int(before[stop] - before[start])
    target = turn.share * all_rows + aim
    below = (before[places] - before[start]) * ROW
    upto = (before[np.minimum(places + 1, stop)] - before[start]) * ROW
    away: Integers = np.maximum(0, np.maximum(below - target, target - upto))
    return -away


def _aim(picks: Measurement, turn: Turn, reach: int) -> int:
    """Return how far inward an extreme is aimed, in parts of ROW."""
    fraction = picks.fractions[turn.index]
    return ROW * reach * ((fraction == 0) - (fraction == 1))


def _drawn(sampler: Sampler, noise: Noise, count: int) -> Integers:
    if isinstance(noise, NoNoise):
        return np.zeros(count, dtype=np.int64)
    return sampler.sample(noise, count)
