"""The tables that a question joins, seen as one table with a privacy unit and contribution limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sanql.policy import Column, ColumnUnit, RowUnit, Table, root_unit
from sanql.question import (
    ColumnRef,
    Derived,
    From,
    Grouped,
    Join,
    Listed,
    Rows,
    Scan,
    Selected,
    Union,
    scans,
)


def reading(source: From, tables: Mapping[str, Table]) -> Table:
    """Return what FROM joins as one table with a unit and limits.

    Joined tables have the largest limits of those joined: enforced on the joined rows, they bound
    what a unit adds however often its rows were paired. A subquery that is grouped by the unit has
    one row for each.
    """
    if isinstance(source, Scan):
        table = tables[source.table]
        return table if table.public else replace(table, unit=root_unit(table, tables))
    private = [tables[scan.table] for scan in scans(source) if scan.private]
    names = " with ".join(dict.fromkeys(scan.table for scan in scans(source)))
    if not private:
        return Table(names, None, {})
    unit, kind, second = root_unit(private[0], tables), private[0].kind, private[0].second
    fewest = max(table.units_per_selected_group_min for table in private)
    if isinstance(unit, RowUnit):
        return Table(names, unit, {}, 1, None, 1, units_per_selected_group_min=fewest)
    assert isinstance(unit, ColumnUnit)  # noqa: S101  (a private table has a unit)
    rows, groups, per_group = limits_joined(source, tables)
    return Table(
        names,
        unit,
        {},
        rows,
        per_group,
        groups,
        kind=kind,
        second=second,
        units_per_selected_group_min=fewest,
    )


def column_of(reference: ColumnRef, tables: Mapping[str, Table]) -> Column | None:
    """Return the policy's column a reference's values come from unchanged."""
    if reference.origin is None:
        return None
    table, name = reference.origin
    return tables[table].columns.get(name)


def limits_joined(source: From | Rows, tables: Mapping[str, Table]) -> tuple[int, int, int | None]:
    """Return how many (rows, groups, rows in one group) of one unit may count."""
    match source:
        case Scan(_, name, private):
            table = tables[name]
            if not private:
                return 0, 0, 0
            rows = table.rows_per_unit_max or 1
            return rows, table.groups_per_unit_max or rows, table.rows_per_group_max
        case Listed():
            return 0, 0, 0
        case Derived(_, inner):
            return limits_joined(inner, tables)
        case Selected():
            return limits_joined(source.source, tables)
        case Grouped():
            return (1, 1, None) if source.one_each else limits_joined(source.source, tables)
        case Join(_, left, right, _):
            return _largest(limits_joined(left, tables), limits_joined(right, tables))
        case Union(branches):
            first, second = (limits_joined(branch, tables) for branch in branches)
            per_group = (
                None if None in (first[2], second[2]) else (first[2] or 0) + (second[2] or 0)
            )
            return first[0] + second[0], first[1] + second[1], per_group


def _largest(
    first: tuple[int, int, int | None], second: tuple[int, int, int | None]
) -> tuple[int, int, int | None]:
    per_group = None if None in (first[2], second[2]) else max(first[2] or 0, second[2] or 0)
    return max(first[0], second[0]), max(first[1], second[1]), per_group
