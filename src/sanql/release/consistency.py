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
unit in one group than in several: there the parts are meant to be more than the total.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sanql.plan.levels import LevelsPlan, is_public
from sanql.plan.limits import Limits
from sanql.plan.rest import adds_up
from sanql.release.cells import NoisyCells
from sanql.release.lattice import Integers, lattice

if TYPE_CHECKING:
    import pyarrow

Places = dict[int, int]  # level → the measurement there


def fitted(plan: LevelsPlan, cells: Sequence[NoisyCells]) -> tuple[NoisyCells, ...]:
    """Return the cells of all levels, with those numbers fitted that can be added up."""
    found = list(cells)
    shared = in_common(plan)
    if not shared:
        return tuple(found)
    levels = sorted({level for places in shared for level in places})
    known = lattice([plan.sets[level] for level in levels], _groups(plan, cells, levels))
    if known is None:
        return tuple(found)
    for places in shared:
        measured = [
            found[level].measurement(places[level]) if level in places else None for level in levels
        ]
        fit = known.fit(measured, [_variance(plan, level, places) for level in levels])
        for level, values in zip(places, fit, strict=True):
            found[level] = found[level].with_measurement(places[level], values)
    return tuple(found)


def in_common(plan: LevelsPlan) -> list[Places]:
    """Return what several levels with public keys measure alike, and whose parts add up."""
    levels = [index for index, level in enumerate(plan.levels) if is_public(level.outline)]
    if any(_fewer_together(plan.levels[index].outline.limits) for index in levels):
        return []
    found: dict[object, Places] = {}
    for index in levels:
        level = plan.levels[index]
        for number, part in enumerate(level.measurements):
            if adds_up(part, level.outline.limits) and part.total is None:
                same = (part.kind, part.expression, part.grid, part.centre)
                found.setdefault(same, {})[index] = number
    noisy = (
        places
        for places in found.values()
        if len(places) > 1 and any(_variance(plan, level, places) for level in places)
    )
    return list(noisy)


def _fewer_together(limits: Limits) -> bool:
    """Return whether fewer rows of a unit count in one group than in several."""
    return limits.rows_per_group < limits.rows


def _variance(plan: LevelsPlan, level: int, places: Places) -> float:
    """Return the variance of a measurement's noise; of a level that has not measured it none."""
    return (
        plan.levels[level].noises[places[level]].standard_deviation ** 2 if level in places else 0.0
    )


def _groups(plan: LevelsPlan, cells: Sequence[NoisyCells], levels: Sequence[int]) -> list[Integers]:
    """Return the groups of levels as numbers: equal values of a key are equal numbers everywhere."""
    import pyarrow as pa

    found = [np.zeros((cells[level].count, len(plan.sets[level])), np.int64) for level in levels]
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
            found[number][:, place] = numbers[start : start + len(column)]
            start += len(column)
    return found


def _column(
    plan: LevelsPlan, cells: Sequence[NoisyCells], level: int, key: int
) -> pyarrow.ChunkedArray:
    return cells[level].table.column(f"k{plan.sets[level].index(key)}")


def _encoded(values: pyarrow.ChunkedArray) -> Integers:
    encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64)  # type: ignore[no-any-return]
