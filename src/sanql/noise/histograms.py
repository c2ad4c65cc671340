"""Counts by public value: each with a draw of its own.

measurements/sensitivity.py says how far one unit moves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanql.measurements import Measured
from sanql.mechanisms import Sampler, add_saturating
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
        rows = list(bin_rows(measurement.bin_count, table, index))
        exact = np.array(rows, dtype=np.int64).reshape(-1)  # of all groups, one after the other
        noisy = add_saturating(exact, sampler.sample(level.noises[index], exact.size))
        counts = list(noisy.reshape(table.num_rows, measurement.bin_count))
        table = table.drop_columns([f"l{index}", f"m{index}"])
        table = table.append_column(f"m{index}", pa.array(counts, pa.list_(pa.int64())))
    return table
