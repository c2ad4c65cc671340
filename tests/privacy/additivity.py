"""The additivity oracle: the cells of all are the sum of the cells of each, under one secret.

A unit's rows are computed from its own rows and public tables (ARCHITECTURE.md), so the exact cells of a
database are the sum over its units of the cells that each has when nobody else is there. Any plan of the
engine by which one unit's rows, sizes or values decide for another's breaks that equation, whatever the
limits are. Each unit's own cells must lie within the declared sensitivity besides: together the two are
what the guarantee needs.

What does not add up, and what is asserted of it instead:

- *public tables* asked by themselves: every part has the whole of them.
- *saturated sums*: a cell that reaches CELL_LIMIT stays there; where no part does, the sum of the parts,
  held to the limit, is the whole.
- *distinct values* (COUNT(DISTINCT x)): two units may have the same one, and where others have taken it a
  unit takes another, also in another group. So no fewer in a group than in any part, and no more in all
  groups than in all parts together, unless a key that nobody keeps hides some. A unit alone moves them by
  no more than is declared. `test_distinct_values.py` has an oracle of their own. Where it is chosen how
  many values of a unit count, all that holds for each choice; and what all groups have, by which it is
  chosen, is no less than in any part and no more than in all of them together.
- *rows of two kinds of unit*: what a patient's rows add hangs on how much room their doctors have left.
  No cells of such a table add up; `test_two_kinds.py` has an oracle of their own.
- *quantiles* and *counts by value*: their bins add up as multisets: so many rows of each bin.
- *selection of keys* (thresholds on noisy counts of units) and *other groups*: both are made of cells
  after noise, which no statement sees. Which keys have cells adds up: exactly those that a part has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from privacy.replay import Key, check, keyed
from sanql.compile.cells import CELL_LIMIT
from sanql.measurements.measurement import Measured, Measurement
from sanql.plan.keys import PrivateKeys
from sanql.plan.level import Level

Groups = dict[Key, list[Any]]
BY_BINS = (Measured.PICKS, Measured.LADDER, Measured.HISTOGRAM)
SUMS = (Measured.SUM, Measured.BELOW)


class Violation(AssertionError):
    """Cells that are not what they must be."""


def check_sum(plan: Level, whole: pa.Table, parts: Sequence[pa.Table]) -> int:
    """Raise a Violation unless the parts' cells add up to the whole's; return how many were compared."""
    if plan.outline.table.public:
        for part in parts:
            check_same(plan, whole, part)
        return len(parts)
    every, some = keyed(plan, whole), [keyed(plan, part) for part in parts]
    known = set().union(*some)
    if isinstance(plan.outline.keys, PrivateKeys) and every.keys() != known:
        raise Violation(f"groups: {_few(every.keys() - known)} and {_few(known - every.keys())}")
    if not isinstance(plan.outline.keys, PrivateKeys):
        for part in some:
            if part.keys() != every.keys():
                raise Violation("the set of groups depends on the data")
    for index, part in enumerate(plan.computed):
        if part.kind is Measured.OTHER_GROUPS:
            continue
        if part.choices or part.kind is Measured.CHOICE:
            _check_choices(plan, part, index, every, some)
            continue
        for key in every:
            cells = [side[key][index] for side in some if key in side]
            if not _adds_up(part.kind, every[key][index], cells):
                raise Violation(f"{key} {part.kind}: {every[key][index]} is not made of {cells}")
        if part.kind is Measured.DISTINCT and not isinstance(plan.outline.keys, PrivateKeys):
            total, most = (
                sum(cells[index] for side in sides for cells in side.values())
                for sides in ([every], some)
            )
            if total > most:
                raise Violation(f"{part.kind}: {total} in all, and the parts have {most}")
    return len(every) * len(plan.measurements)


def _check_choices(
    plan: Level, part: Measurement, index: int, every: Groups, some: Sequence[Groups]
) -> None:
    """Raise a Violation unless lists, a number for each choice, lie between the parts and their sum."""
    assert part.kind in (Measured.DISTINCT, Measured.CHOICE)
    for key in every:
        parts = [side[key][index] for side in some if key in side]
        for place, whole in enumerate(every[key][index]):
            if whole < max((cells[place] for cells in parts), default=0):
                raise Violation(f"{key} {part.kind}: {every[key][index]} is less than of {parts}")
    if isinstance(plan.outline.keys, PrivateKeys) and part.kind is Measured.DISTINCT:
        return
    if not every:
        return
    whole, *parts = (_in_all(part, index, side) for side in (every, *some) if side)
    most = [sum(column) for column in zip(*parts, strict=True)]
    if any(all_of > of_parts for all_of, of_parts in zip(whole, most, strict=True)):
        raise Violation(f"{part.kind}: {whole} in all, and the parts have {most}")


def _in_all(part: Measurement, index: int, side: Groups) -> list[int]:
    """Return a list of all groups together: of the choice, every group has that beside its own."""
    lists = [cells[index] for cells in side.values()]
    if part.kind is Measured.CHOICE:
        lists = lists[:1]
    return [sum(column) for column in zip(*lists, strict=True)]


def _adds_up(kind: Measured, whole: Any, parts: list[Any]) -> bool:
    if kind in BY_BINS:
        return Counter(whole) == sum(map(Counter, parts), Counter())
    if kind is Measured.DISTINCT:
        return bool(max(parts, default=0) <= whole)
    if kind in SUMS and any(abs(part) >= CELL_LIMIT for part in parts):
        return True
    if kind in SUMS:
        return bool(whole == max(-CELL_LIMIT, min(CELL_LIMIT, sum(parts))))
    return bool(whole == sum(parts))


def check_units(plan: Level, units: Sequence[pa.Table], *, rows: bool) -> int:
    """Raise a Violation where one unit's cells leave the declared sensitivity; return how many checks.

    Where one unit is changed for another, pairs of them are compared; a unit that is no single row may
    also have nothing to say.
    """
    if plan.outline.table.public:
        return 0
    nothing = without_units(plan, units[0])
    others = [nothing] * len(units)
    if plan.outline.neighbours == "change-one":
        others = [after for _, after in pairwise([*units, units[0] if rows else nothing])]
    for unit, other in zip(units, others, strict=True):
        try:
            check(plan, unit, other)
        except AssertionError as error:
            raise Violation(f"one unit alone: {error}") from error
    return len(units)


def without_units(plan: Level, cells: pa.Table) -> pa.Table:
    """Return the cells that a question has where nobody is: public keys with zeros, or no row."""
    if isinstance(plan.outline.keys, PrivateKeys):
        return cells.slice(0, 0)
    for index, column in enumerate(cells.schema):
        if column.name[0] in "lmq":
            choices = plan.measurements[int(column.name[1:])].choices
            nothing: Any = [0] * len(choices) if pa.types.is_list(column.type) else 0
            values = pa.array([nothing] * cells.num_rows, column.type)
            cells = cells.set_column(index, column, values)
    return cells


def check_same(plan: Level, whole: pa.Table, again: pa.Table) -> None:
    """Raise a Violation unless two runs of one statement on the same rows have the same cells."""
    ours, theirs = keyed(plan, whole), keyed(plan, again)
    if whole.schema != again.schema or ours != theirs:
        keys = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
        seen = [(key, ours.get(key), theirs.get(key)) for key in keys[:3]]
        raise Violation(f"another run differs: {seen}")


def _few(keys: set[Key]) -> list[Key]:
    return sorted(keys, key=repr)[:3]
