"""What the groups that do not appear have together, as one row more of the noisy cells.

plan/other_groups.py says why this may be released, and what it costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from sanql.compile import CELL_LIMIT
from sanql.measurements import REST
from sanql.mechanisms import Sampler, add_saturating
from sanql.noise.histograms import finish_bins
from sanql.plan import Level, adds_up

if TYPE_CHECKING:
    import pyarrow


class Rest:
    """What the groups that do not appear have together, added up batch by batch."""

    def __init__(self, level: Level) -> None:
        self._measuring = level.outline.measuring
        self._sums = {
            index: 0
            for index, part in enumerate(level.measurements)
            if part.of is None and adds_up(part, level.outline.limits)
        }

    def add(self, hidden: pyarrow.Table) -> Self:
        """Add the exact cells of some of these groups."""
        for index in self._sums:
            self._sums[index] += _added_up(hidden.column(f"m{index}").to_numpy())
        return self

    def exact(self) -> dict[int, int]:
        """Return what every measurement that adds up comes to, held where every cell is held.

        Only the whole sum is held: which groups are in one batch is the engine's choice. Where the
        count that selects is shown, its rest is there as the measurement made for it.
        """
        found = {index: max(-CELL_LIMIT, min(CELL_LIMIT, n)) for index, n in self._sums.items()}
        measuring = self._measuring
        units = found.pop(measuring.selection, 0) if measuring.selection is not None else 0
        return found if measuring.rest is None else found | {measuring.rest: units}


def append_rest(level: Level, shown: pyarrow.Table, rest: Rest, sampler: Sampler) -> pyarrow.Table:
    """Return noisy cells with a last row for the groups that do not appear."""
    import pyarrow as pa

    noisy = _noisy_rest(level, rest, sampler)
    row = {
        field.name: pa.array([noisy.get(field.name)], field.type)
        for field in shown.schema
        if not pa.types.is_list(field.type)
    }
    for index, part in enumerate(level.measurements):
        if part.by_bins:  # as where no row is, and never shown
            row |= dict.fromkeys((f"l{index}", f"m{index}"), pa.array([[]], pa.list_(pa.int64())))
    last = finish_bins(level, pa.table(row), sampler).select(shown.column_names)
    told = [np.zeros(shown.num_rows, dtype=np.bool_), np.ones(1, dtype=np.bool_)]
    both = pa.concat_tables([shown, last])
    return both.append_column(REST, pa.array(np.concatenate(told)))


def _noisy_rest(level: Level, rest: Rest, sampler: Sampler) -> dict[str, int]:
    """Return the numbers of the row by column, each with a draw of its own."""
    columns = {f"m{i}": 0 for i, part in enumerate(level.measurements) if not part.by_bins}
    for index, exact in rest.exact().items():
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
