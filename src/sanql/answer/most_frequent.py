"""The most frequent of values that were selected privately, looked up in the level that counts them.

Only noisy counts are compared, of values that appear, so it costs nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sanql.answer.estimates import value_of
from sanql.measurements import NoisyCells
from sanql.plan import Level, Plan

if TYPE_CHECKING:
    import pyarrow

Key = tuple[object, ...]


def with_most_frequent(plan: Plan, cells: Sequence[NoisyCells]) -> tuple[NoisyCells, ...]:
    """Return the cells of all levels, those that are shown with the values that they ask for."""
    completed = list(cells)
    for level, counted in zip(plan.levels, cells, strict=True):
        served = level.outline.counts_for
        if served is not None:
            shown = completed[served.level]
            values = _most_frequent(level, counted, shown)
            completed[served.level] = shown.with_found(served.place, values)
    return tuple(completed)


def _most_frequent(
    level: Level, counted: NoisyCells, shown: NoisyCells
) -> pyarrow.Array[pyarrow.Scalar]:
    """Return for each group that is shown the value with the largest noisy count, NULL where none has 1.

    NULL is no value. Among equal counts it is the value that comes first.
    """
    import pyarrow as pa

    *keys, values = (counted.table.column(f"k{i}") for i in range(len(level.query.keys)))
    best: dict[Key, tuple[int, object]] = {}
    counts = value_of(level, counted, 0).tolist()
    rows = zip(_rows(keys, counted.count), counts, values.to_pylist(), strict=True)
    for key, count, value in rows:
        if value is not None and count >= 1 and count > best.get(key, (0, None))[0]:
            best[key] = count, value
    groups = _rows([shown.table.column(f"k{i}") for i in range(len(keys))], shown.count)
    found = [
        None if other else best.get(key, (0, None))[1]
        for key, other in zip(groups, shown.other_groups.tolist(), strict=True)
    ]
    return pa.array(found, values.type)


def _rows(columns: Sequence[pyarrow.ChunkedArray], count: int) -> list[Key]:
    """Return the keys of each group; there is one group where there are no keys."""
    listed = [column.to_pylist() for column in columns]
    return list(zip(*listed, strict=True)) if listed else [()] * count
