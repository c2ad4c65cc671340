"""Counts by public value: each with a draw of its own.

measurements/sensitivity.py says how far one unit moves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanql.measurements import Measured
from sanql.mechanisms import Integers, Noise, Sampler, add_saturating
from sanql.noise.picks import bin_rows, pick_quantiles
from sanql.plan import Level

if TYPE_CHECKING:
    import pyarrow


def add_noise_to_bins(level: Level, table: pyarrow.Table, sampler: Sampler) -> pyarrow.Table:
    """Return the cells of the groups that appear, with noise in place of every exact bin."""
    import pyarrow as pa

    table = pick_quantiles(level, table, sampler)
    for index, measurement in enumerate(level.measurements):
        if measurement.kind is not Measured.HISTOGRAM:
            continue
        exact = bin_rows(measurement.bin_count, table, index)
        noisy = [count_values(rows, level.noises[index], sampler) for rows in exact]
        table = table.drop_columns([f"l{index}", f"m{index}"])
        table = table.append_column(f"m{index}", pa.array(noisy, pa.list_(pa.int64())))
    return table


def count_values(rows: Integers, noise: Noise, sampler: Sampler) -> Integers:
    """Return noisy counts of the rows with each value in one group."""
    return add_saturating(rows, sampler.sample(noise, rows.size))
