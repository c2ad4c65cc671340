"""How far the rows themselves reach: beyond bounds, and in how many rows of one unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sanql.examine.counts import by_kind, literal
from sanql.examine.rows import Rows, examined_rows
from sanql.kernel import CANONICAL
from sanql.policy import Column, Policy, RowUnit, Table, Value

_STEPS_MAX = 2**52


@dataclass(frozen=True)
class Reach:
    """Of one table: the most rows that a unit has, by kind, and bounds that hold every value.

    Columns whose values all lie within their bounds are not among `bounds`.
    """

    rows_of_a_unit: Mapping[str | None, int] = field(default_factory=dict)
    bounds: Mapping[str, tuple[Value, Value]] = field(default_factory=dict)


def reach_of(policy: Policy, command: str, progress: Callable[[str], None]) -> dict[str, Reach]:
    """Return how far the rows of each private table reach; a command reads them, for nothing."""
    with examined_rows(policy, command, progress) as rows:
        return {
            table.name: Reach(
                {each.kind: _most(rows, each) for each in by_kind(table)}, _bounds(rows, table)
            )
            for table in policy.tables.values()
            if not table.public
        }


def _most(rows: Rows, table: Table) -> int:
    if isinstance(table.unit, RowUnit):
        return 1
    counted = rows.first(
        "SELECT max(n) AS most FROM (SELECT count(*) AS n "  # noqa: S608  (names of the policy)
        f"FROM ({rows.with_units(table)}) WHERE u IS NOT NULL GROUP BY u)"
    )
    return int(counted["most"] or 1)


def _bounds(rows: Rows, table: Table) -> dict[str, tuple[Value, Value]]:
    found = {
        column.name: _widened(rows, table, column)
        for column in table.columns.values()
        if column.bounds is not None
    }
    return {name: ends for name, ends in found.items() if ends is not None}


def _widened(rows: Rows, table: Table, column: Column) -> tuple[Value, Value] | None:
    """Return bounds that hold every value; None where the column's own do, or none can be had."""
    assert column.bounds is not None  # noqa: S101  (the caller looks)
    read = rows.column(table, column.name)
    if CANONICAL[column.type] == "DOUBLE":
        read = f"CASE WHEN isfinite({read}) THEN {read} END"
    low, high = column.bounds
    outside = f"{read} < {literal(column, low)} OR {read} > {literal(column, high)}"
    seen = rows.first(
        f"SELECT min({read}) AS low, max({read}) AS high, count_if({outside}) AS n "  # noqa: S608
        f"FROM {rows.relation(table)}"
    )
    if not seen["n"]:
        return None
    below: Any = _on_grid(column, seen["low"], math.floor)
    above: Any = _on_grid(column, seen["high"], math.ceil)
    if below is None or above is None:
        return None
    return min(below, low), max(above, high)


def _on_grid(column: Column, value: object, rounded: Callable[[Fraction], int]) -> Value | None:
    """Return a value, or the next step of the column's grid beyond it."""
    if isinstance(value, datetime | date):
        return value
    step = column.precision or Fraction(1)
    steps = rounded(Fraction(str(value)) / step)
    if abs(steps) > _STEPS_MAX:
        return None  # sums of such values have no room
    return steps if column.precision is None else steps * step
