"""What the groups that do not appear have together, as one row more of the noisy cells.

plan/other_groups.py says why this may be released, and what it costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from sanql.compile import CELL_LIMIT
from sanql.measurements import OTHER_GROUPS_COLUMN
from sanql.mechanisms import Sampler, add_saturating
from sanql.noise.histograms import add_noise_to_bins
from sanql.plan import Level, adds_up

if TYPE_CHECKING:
    import pyarrow


class OtherGroups:
    """What the groups that do not appear have together, added up batch by batch."""

    def __init__(self, level: Level) -> None:
        self._measuring = level.outline.measuring
        self._sums = {
            index: 0
            for index, measurement in enumerate(level.measurements)
            if measurement.of is None and adds_up(measurement, level.outline.limits)
        }

    def add(self, hidden: pyarrow.Table) -> Self:
        """Add the exact cells of some of these groups."""
        for index in self._sums:
            self._sums[index] += _added_up(hidden.column(f"m{index}").to_numpy())
        return self

    def exact(self) -> dict[int, int]:
        """Return the total of every measurement that adds up, saturated like any cell.

        Only the whole sum is held: which groups are in one batch is the engine's choice. Where the
        count that selects is shown, it is there as the measurement made for it.
        """
        sums = {index: max(-CELL_LIMIT, min(CELL_LIMIT, n)) for index, n in self._sums.items()}
        measuring = self._measuring
        units = sums.pop(measuring.selection, 0) if measuring.selection is not None else 0
        return sums if measuring.other_groups is None else sums | {measuring.other_groups: units}


def append_other_groups(
    level: Level, shown: pyarrow.Table, hidden: OtherGroups, sampler: Sampler
) -> pyarrow.Table:
    """Return noisy cells with a last row for the groups that do not appear."""
    import pyarrow as pa

    noisy = _noisy_other_groups(level, hidden, sampler)
    row = {
        field.name: pa.array([noisy.get(field.name)], field.type)
        for field in shown.schema
        if not pa.types.is_list(field.type)
    }
    for index, measurement in enumerate(level.measurements):
        if measurement.by_bins:  # as where no row is, and never shown
            row |= dict.fromkeys((f"l{index}", f"m{index}"), pa.array([[]], pa.list_(pa.int64())))
    last = add_noise_to_bins(level, pa.table(row), sampler).select(shown.column_names)
    is_other = [np.zeros(shown.num_rows, dtype=np.bool_), np.ones(1, dtype=np.bool_)]
    both = pa.concat_tables([shown, last])
    return both.append_column(OTHER_GROUPS_COLUMN, pa.array(np.concatenate(is_other)))


def _noisy_other_groups(level: Level, hidden: OtherGroups, sampler: Sampler) -> dict[str, int]:
    """Return the numbers of the row by column, each with a draw of its own."""
    columns = {
        f"m{i}": 0 for i, measurement in enumerate(level.measurements) if not measurement.by_bins
    }
    for index, exact in hidden.exact().items():
        drawn = sampler.sample(level.noises[index], 1)
        of = level.measurements[index].of
        place = index if of is None else of
        columns[f"m{place}"] = int(add_saturating(np.array([exact]), drawn)[0])
    return columns


def _added_up(values: NDArray[np.int64]) -> int:
    """Return the exact sum; half of the bits at a time, to have room.

    >>> _added_up(np.array([2**62, 2**62, 2**62, 2**62, 7])) == 2**64 + 7
    True
    """
    low, high = int(np.sum(values & 0xFFFFFFFF)), int(np.sum(values >> 32))
    return (high << 32) + low
