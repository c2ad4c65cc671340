"""What the groups that do not appear have together, as one row more of the noisy cells.

plan/rest.py says why this may be released, and what it costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sanql.execute.statement import CELL_LIMIT
from sanql.mechanisms import Sampler, add_saturating
from sanql.plan import Plan
from sanql.plan.rest import adds_up

if TYPE_CHECKING:
    import pyarrow

REST = "other"  # the column of the cells that is true in that row


def append_rest(
    plan: Plan, shown: pyarrow.Table, hidden: pyarrow.Table, sampler: Sampler
) -> pyarrow.Table:
    """Return noisy cells with a last row for the exact cells of the groups that do not appear."""
    import pyarrow as pa

    noisy = _noisy_rest(plan, hidden, sampler)
    row: dict[str, object] = {}
    for field in shown.schema:
        if field.name in noisy:
            row[field.name] = noisy[field.name]
        elif pa.types.is_list(field.type):
            row[field.name] = []  # quantiles are picked as where no row is, and never shown
        else:
            row[field.name] = None
    columns = {field.name: pa.array([row[field.name]], field.type) for field in shown.schema}
    told = [np.zeros(shown.num_rows, dtype=np.bool_), np.ones(1, dtype=np.bool_)]
    both = pa.concat_tables([shown, pa.table(columns)])
    return both.append_column(REST, pa.array(np.concatenate(told)))


def exact_rest(plan: Plan, hidden: pyarrow.Table) -> dict[int, int]:
    """Return what every measurement that adds up comes to over the groups that do not appear.

    Where the count that selects is shown, its rest is there as the measurement made for it.
    """
    measuring = plan.outline.measuring
    found = {
        index: _added_up(hidden.column(f"m{index}").to_numpy())
        for index, part in enumerate(plan.measurements)
        if part.of is None and adds_up(part, plan.outline.limits)
    }
    units = found.pop(measuring.selection, 0) if measuring.selection is not None else 0
    return found if measuring.rest is None else found | {measuring.rest: units}


def _noisy_rest(plan: Plan, hidden: pyarrow.Table, sampler: Sampler) -> dict[str, int]:
    """Return the numbers of the row by column, each with a draw of its own."""
    columns = {f"m{i}": 0 for i, part in enumerate(plan.measurements) if part.leaves is None}
    for index, exact in exact_rest(plan, hidden).items():
        drawn = sampler.sample(plan.noises[index], 1)
        of = plan.measurements[index].of
        place = index if of is None else of
        columns[f"m{place}"] = int(add_saturating(np.array([exact]), drawn)[0])
    return columns


def _added_up(values: NDArray[np.int64]) -> int:
    """Return the exact sum, held where every cell is held; half of the bits at a time, to have room.

    >>> _added_up(np.array([2**62, 2**62, 2**62, -(2**62), -(2**62), -7])) == 2**62 - 7
    True
    """
    low, high = int(np.sum(values & 0xFFFFFFFF)), int(np.sum(values >> 32))
    return max(-CELL_LIMIT, min(CELL_LIMIT, (high << 32) + low))
