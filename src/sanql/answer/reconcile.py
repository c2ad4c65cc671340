"""Totals that add up: counts and sums of levels with public keys, fitted to each other.

This is post-processing of noisy numbers. Where no limit on a unit takes anything away, exact levels add
up, and fitting brings every number nearer to the truth on average (lattice.py). Limits are enforced level
by level, and where they take away more in one level than in another, exact numbers do not add up; the
fit then lies between what the levels say.

So the interval of a number is not moved: it is that of the level's own noise around the number as it was
measured, which holds the exact number *of this level's bounded data* with the stated confidence whatever
the other levels are, and it is widened where the number shown lies outside.

Left as measured are distinct units (unless a unit is in one group), distinct values, quantiles, sums with
bounds on what one unit adds to a group, and all of it where `rows_per_group_max` counts fewer rows of a
unit in one group than in several: there the parts are meant to be more than the total. Cells that count
parts of a step (measurements/norms.py) are fitted in the nearest whole steps, as they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sanql.answer.lattice import Integers, lattice
from sanql.measurements import NoisyCells
from sanql.plan import Plan, noise_variance, shared_measurements
from sanql.statistics import whole_steps

if TYPE_CHECKING:
    import pyarrow

CELL_MOST = 2**62


def fitted(plan: Plan, cells: Sequence[NoisyCells]) -> tuple[NoisyCells, ...]:
    """Return the cells of all levels, with those numbers fitted that can be added up."""
    fitted_cells = list(cells)
    shared = shared_measurements(plan)
    if not shared:
        return tuple(fitted_cells)
    levels = sorted({level for places in shared for level in places})
    known = lattice([plan.sets[level] for level in levels], _groups(plan, cells, levels))
    if known is None:
        return tuple(fitted_cells)
    for places in shared:
        measured = [
            whole_steps(fitted_cells[level].measurement(places[level]), _scale(plan, level, places))
            if level in places
            else None
            for level in levels
        ]
        fit = known.fit(measured, [noise_variance(plan, level, places) for level in levels])
        for level, values in zip(places, fit, strict=True):
            scale = _scale(plan, level, places)
            most = CELL_MOST // scale
            cells_again = np.clip(values, -most, most) * scale if scale > 1 else values
            fitted_cells[level] = fitted_cells[level].with_measurement(places[level], cells_again)
    return tuple(fitted_cells)


def _scale(plan: Plan, level: int, places: Mapping[int, int]) -> int:
    """Return how many steps of a level's cells are one of the values, which all levels share."""
    return plan.levels[level].measurements[places[level]].steps_of_value


def _groups(plan: Plan, cells: Sequence[NoisyCells], levels: Sequence[int]) -> list[Integers]:
    """Return the groups of levels as numbers: equal values of a key are equal numbers everywhere."""
    import pyarrow as pa

    groups = [np.zeros((cells[level].count, len(plan.sets[level])), np.int64) for level in levels]
    for key in range(len(plan.query.keys)):
        having = [(n, level) for n, level in enumerate(levels) if key in plan.sets[level]]
        if not having:
            continue
        columns = [_column(plan, cells, level, key) for _, level in having]
        joined = pa.chunked_array([chunk for column in columns for chunk in column.chunks])
        numbers = _encoded(joined)
        start = 0
        for (number, level), column in zip(having, columns, strict=True):
            place = plan.sets[level].index(key)
            groups[number][:, place] = numbers[start : start + len(column)]
            start += len(column)
    return groups


def _column(plan: Plan, cells: Sequence[NoisyCells], level: int, key: int) -> pyarrow.ChunkedArray:
    return cells[level].table.column(f"k{plan.sets[level].index(key)}")


def _encoded(values: pyarrow.ChunkedArray) -> Integers:
    encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64)  # type: ignore[no-any-return]
