"""Each question's own cells, read from those that a batch has measured together.

A question has the columns of its keys and the measurements of its level; where its groups are made of
several of that level's, their noisy cells are added up. Levels whose exact numbers add up are fitted to
each other first (reconcile.py), as those of one question with several grouping sets are, so that the
same number is the same in every answer, and parts add up to totals. All of it is computed from noisy
cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sanql.answer.levels import LevelCells
from sanql.answer.reconcile import fitted
from sanql.measurements import OTHER_GROUPS_COLUMN, NoisyCells
from sanql.plan import BatchPlan, PlannedQuestion, ReadFrom

if TYPE_CHECKING:
    import pyarrow

HALF = 32  # bits, that sums of many numbers have room
LARGEST = 1 << 62  # as of every noisy cell


@dataclass(frozen=True)
class QuestionCells:
    """The cells of one question: as measured, or added up from what was; and as they are shown."""

    measured: LevelCells
    shown: LevelCells


def cells_of_questions(
    batch: BatchPlan, cells: LevelCells, questions: Sequence[PlannedQuestion] | None = None
) -> tuple[QuestionCells, ...]:
    """Return the cells of every question of a batch, or of those that can be read from it."""
    measured, shown = cells.levels, list(cells.levels)
    for plan, numbers in batch.families:
        fit = fitted(plan, [measured[number] for number in numbers])
        for number, values in zip(numbers, fit, strict=True):
            shown[number] = values
    return tuple(
        QuestionCells(
            LevelCells(tuple(read_cells(measured[reads.level], reads) for reads in question.reads)),
            LevelCells(tuple(read_cells(shown[reads.level], reads) for reads in question.reads)),
        )
        for question in (batch.questions if questions is None else questions)
    )


def read_cells(cells: NoisyCells, reads: ReadFrom) -> NoisyCells:
    """Return the cells of a level by a question's own keys, in their order."""
    import pyarrow as pa

    table = cells.table
    keys = {f"k{own}": table.column(f"k{there}") for own, there in enumerate(reads.keys)}
    others = {
        name: table.column(name)
        for name in table.column_names
        if not (name.startswith("k") and name[1:].isdecimal())
    }
    if reads.cells == 1:
        return NoisyCells(_in_order(pa.table(keys | others), list(keys)))
    numbers = {name: c for name, c in others.items() if pa.types.is_integer(c.type)}
    return NoisyCells(_added_up(keys, numbers, table.num_rows))


def _added_up(
    keys: dict[str, pyarrow.ChunkedArray], numbers: dict[str, pyarrow.ChunkedArray], rows: int
) -> pyarrow.Table:
    """Return the sums of integers over the rows with equal keys, held within their range."""
    import pyarrow as pa

    numbered = pa.table({**keys, "place": pa.array(np.arange(rows))})
    named = numbered.group_by(list(keys)).aggregate([("place", "list")]) if keys else numbered[:1]
    group_of = np.zeros(rows, dtype=np.int64)
    if keys:
        for group, places in enumerate(named.column("place_list")):
            group_of[places.values.to_numpy()] = group
    sums = {
        name: pa.array(_sums(column.to_numpy(), group_of, named.num_rows))
        for name, column in numbers.items()
    }
    return _in_order(pa.table({key: named.column(key) for key in keys} | sums), list(keys))


def _sums(values: NDArray[np.int64], group_of: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return the exact sum of each group's values, held within ±2^62; half of the bits at a time.

    >>> _sums(np.array([2**62, 2**62, -5]), np.array([0, 0, 1]), 2).tolist() == [2**62, -5]
    True
    """
    low, high = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    np.add.at(low, group_of, values & ((1 << HALF) - 1))
    np.add.at(high, group_of, values >> HALF)
    exact = [(int(above) << HALF) + int(below) for above, below in zip(high, low, strict=True)]
    return np.array([max(-LARGEST, min(LARGEST, n)) for n in exact], dtype=np.int64)


def _in_order(table: pyarrow.Table, keys: list[str]) -> pyarrow.Table:
    """Return the groups in the order of their keys, as they are recorded; others come last."""
    if not keys:
        return table
    last = [OTHER_GROUPS_COLUMN] if OTHER_GROUPS_COLUMN in table.column_names else []
    return table.sort_by([(name, "ascending") for name in [*last, *keys]])
