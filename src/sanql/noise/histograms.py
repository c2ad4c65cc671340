"""Counts by public value: each with a draw of its own, or only the value whose noisy score is largest.

measurements/sensitivity.py says how far one unit moves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import numpy as np

from sanql.measurements import Measured
from sanql.mechanisms import Integers, Noise, NoNoise, Sampler, add_saturating
from sanql.noise.picks import bin_rows, pick_quantiles
from sanql.plan import Level

if TYPE_CHECKING:
    import pyarrow


def finish_bins(level: Level, table: pyarrow.Table, sampler: Sampler) -> pyarrow.Table:
    """Return the cells of the groups that appear with no exact bin left in them."""
    import pyarrow as pa

    table = pick_quantiles(level, table, sampler)
    for index, part in enumerate(level.measurements):
        if not part.values:
            continue
        noise = level.noises[index]
        exact = bin_rows(part.bins, table, index)
        column: pa.Array
        match part.kind:
            case Measured.HISTOGRAM:
                noisy = [count_values(rows, noise, sampler) for rows in exact]
                column = pa.array(noisy, pa.list_(pa.int64()))
            case Measured.MOST:
                column = pa.array([pick_most(rows, noise, sampler) for rows in exact], pa.int64())
            case (
                Measured.ROWS | Measured.VALUES | Measured.UNITS | Measured.SUM | Measured.DISTINCT
                | Measured.PICKS | Measured.LADDER | Measured.REST
            ):  # fmt: skip
                raise AssertionError(f"{part.kind} are not counted by value")
            case _:
                assert_never(part.kind)
        table = table.drop_columns([f"l{index}", f"m{index}"])
        table = table.append_column(f"m{index}", column)
    return table


def count_values(rows: Integers, noise: Noise, sampler: Sampler) -> Integers:
    """Return noisy counts of the rows with each value in one group."""
    return add_saturating(rows, sampler.sample(noise, rows.size))


def pick_most(rows: Integers, noise: Noise, sampler: Sampler) -> int:
    """Return the place of the value with the largest noisy score in one group, the first of equals."""
    if isinstance(noise, NoNoise):
        return int(np.argmax(rows))
    return int(np.argmax(add_saturating(rows, sampler.sample(noise, rows.size))))
