"""Quantiles picked from exact bins by noisy ranks, and noisy counts around the picks.

A place is picked by permute and flip (mechanisms/choice.py). Which scores, and why one unit moves them
by little, is in measurements/quantile_picks.py.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from sanql.noise.places import PlacesBetween, RankedPlaces
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
    ranked = RankedPlaces(rows, bins.splits)
    inward = rows_inward(bins, noise.scale) if isinstance(noise, Geometric) else 1
    picked: dict[int, int] = {}
    for level in pick_levels(picks.fractions):
        for turn in level:
            start = picked[turn.after] if turn.after is not None else 0
            stop = picked[turn.before] if turn.before is not None else bins.places
            candidates = PlacesBetween(ranked, start, stop, turn.share, _aim(picks, turn, inward))
            picked[turn.index] = _picked(candidates, noise, sampler)
    return [picked[index] for index in range(len(picks.fractions))]


def _picked(candidates: PlacesBetween, noise: Noise, sampler: Sampler) -> int:
    """Return one of the places, the nearer to the share of rows the likelier."""
    if isinstance(noise, NoNoise):
        return candidates.runs(0).starts[0]
    assert isinstance(noise, Geometric)  # noqa: S101  (the largest noisy score is picked)
    return sampler.choose(noise, candidates)


def count_around(
    bins: QuantileBins, rows: Integers, picked: list[int], noise: Noise, sampler: Sampler
) -> Integers:
    """Return noisy counts of the rows between the steps of a ladder around the picks."""
    before = np.concatenate([[0], np.cumsum(rows)])
    bounds = [0, *ladder(bins, [place // bins.splits for place in picked]), bins.count]
    exact = np.diff(before[bounds])
    return add_saturating(exact, sampler.sample(noise, exact.size))


def _aim(picks: Measurement, turn: Turn, reach: int) -> int:
    """Return how far inward an extreme is aimed, in parts of ROW."""
    fraction = picks.fractions[turn.index]
    return ROW * reach * ((fraction == 0) - (fraction == 1))
