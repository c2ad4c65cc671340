"""What is counted of a table: its rows, what of each column is read as something else, and its units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction

from sanql.examine.rows import Rows
from sanql.kernel import CANONICAL
from sanql.kernel import literal as text_literal
from sanql.policy import (
    Column,
    ColumnUnit,
    ListedDomain,
    RowUnit,
    SecondKind,
    Table,
    TableDomain,
    Value,
    ViaUnit,
)

FREQUENT = 3  # values that are shown of those that a domain leaves out


@dataclass(frozen=True)
class ColumnCounts:
    """Of a column: how many rows have a value, and how many of them are read as what they are not.

    Of `rows` in all, so many are `given` one, and of these so many can be `read`. `low` and `high` are
    between which values 98 of 100 lie. `outside` have a value that is none of the `domain`'s, `alike`
    of these are but for case and blanks, and so many `keys` of the domain occur.
    """

    rows: int
    given: int
    read: int
    below: int = 0
    above: int = 0
    low: object = None
    high: object = None
    outside: int = 0
    alike: int = 0
    keys: int = 0
    domain: int = 0
    frequent: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnitCounts:
    """Of the units of a table: how many, the rows they have, and what limits leave out.

    `rows_cut` and `units_cut` are the rows beyond the limit on rows, and the units that have any.
    """

    units: int
    rows: int
    most: int
    typical: int
    rows_cut: int = 0
    units_cut: int = 0


@dataclass(frozen=True)
class Reference:
    """Of the rows that refer to another table: how many lead nowhere, and how many to several rows."""

    given: int
    nowhere: int
    several: int


@dataclass(frozen=True)
class TableCounts:
    """What was counted of one table; `whose` is of the column that says whose its rows are."""

    table: Table
    rows: int
    columns: Mapping[str, ColumnCounts]
    whose: ColumnCounts | None = None
    units: UnitCounts | None = None
    reference: Reference | None = None


def by_kind(table: Table) -> tuple[Table, ...]:
    """Return a table as units of each kind see it: where rows belong to two, once for each."""
    second = table.second
    if second is None or not isinstance(table.unit, ColumnUnit) or table.kind is None:
        return (table,)
    rows = table.rows_per_group_max or 1
    turned = replace(
        table,
        unit=ColumnUnit(second.column),
        columns={},
        kind=second.kind,
        second=SecondKind(table.kind, table.unit.column, rows),
        rows_per_unit_max=second.rows_per_group_max,
        rows_per_group_max=second.rows_per_group_max,
    )
    return table, turned


def count_table(rows: Rows, table: Table) -> TableCounts:
    """Return what is counted of a table."""
    relation = rows.relation(table)
    every = rows.first(f"SELECT count(*) AS n FROM {relation}")["n"]  # noqa: S608
    if not every:
        return TableCounts(table, 0, {})
    columns = {name: _column(rows, table, column) for name, column in table.columns.items()}
    if table.public or isinstance(table.unit, RowUnit) or table.unit is None:
        return TableCounts(table, every, columns)
    whose = _given_and_read(rows, table, table.unit.column)
    reference = _reference(rows, table, table.unit) if isinstance(table.unit, ViaUnit) else None
    return TableCounts(table, every, columns, whose, _units(rows, table), reference)


def _given_and_read(rows: Rows, table: Table, name: str) -> ColumnCounts:
    column, given = rows.column(table, name), rows.given(table, name)
    counts = rows.first(
        f"SELECT count(*) AS rows, count_if({given}) AS given, "  # noqa: S608
        f"count_if({given} AND {column} IS NOT NULL) AS read FROM {rows.relation(table)}"
    )
    return ColumnCounts(int(counts["rows"]), int(counts["given"]), int(counts["read"]))


def _column(rows: Rows, table: Table, column: Column) -> ColumnCounts:
    read, given = rows.column(table, column.name), rows.given(table, column.name)
    if CANONICAL[column.type] == "DOUBLE":  # what is infinite or no number counts as missing
        read = f"CASE WHEN isfinite({read}) THEN {read} END"
    counted = {
        "rows": "count(*)",
        "given": f"count_if({given})",
        "read": f"count_if({given} AND {read} IS NOT NULL)",
    }
    if column.bounds is not None:
        low, high = (literal(column, end) for end in column.bounds)
        counted |= {
            "below": f"count_if({read} < {low})",
            "above": f"count_if({read} > {high})",
            "low": f"quantile_disc({read}, 0.01)",
            "high": f"quantile_disc({read}, 0.99)",
        }
    keys = _domain(rows, column)
    if keys is not None:
        inside = f"{read} IN ({keys})"
        counted |= {
            "outside": f"count_if({read} IS NOT NULL AND NOT {inside})",
            "keys": f"count(DISTINCT CASE WHEN {inside} THEN {read} END)",
            "domain": f"(SELECT count(DISTINCT k) FROM ({keys}))",  # noqa: S608
        }
        if column.type == "text":
            folded = f"upper(trim({read})) IN (SELECT upper(trim(k)) FROM ({keys}))"  # noqa: S608
            counted["alike"] = f"count_if(NOT {inside} AND {folded})"
    named = ", ".join(f"{sql} AS {name}" for name, sql in counted.items())
    counts = rows.first(f"SELECT {named} FROM {rows.relation(table)}")  # noqa: S608
    ends = {name: counts.pop(name) for name in ("low", "high") if name in counts}
    numbers = {name: int(value or 0) for name, value in counts.items()}
    frequent = _frequent(rows, table, read, str(keys)) if numbers.get("outside") else ()
    return ColumnCounts(**numbers, **ends, frequent=frequent)


def _domain(rows: Rows, column: Column) -> str | None:
    """Return a SELECT of the public keys of a column, as `k`."""
    match column.domain:
        case ListedDomain(values):
            return f"SELECT unnest([{', '.join(literal(column, value) for value in values)}]) AS k"
        case TableDomain(name, public):
            table = rows.policy.tables[name]
            key = rows.column(table, public)
            return f"SELECT {key} AS k FROM {rows.relation(table)} WHERE {key} IS NOT NULL"  # noqa: S608
        case None:
            return None


def _frequent(rows: Rows, table: Table, read: str, keys: str) -> tuple[str, ...]:
    found = rows.all(
        f"SELECT CAST({read} AS VARCHAR) AS v FROM {rows.relation(table)} "  # noqa: S608
        f"WHERE {read} IS NOT NULL AND {read} NOT IN ({keys}) "
        f"GROUP BY {read} ORDER BY count(*) DESC, v LIMIT {FREQUENT}"
    )
    return tuple(str(row["v"]) for row in found)


def _units(rows: Rows, table: Table) -> UnitCounts:
    limit = table.rows_per_unit_max or 2**62
    counts = rows.first(
        "SELECT count(*) AS units, sum(n) AS rows, max(n) AS most, "  # noqa: S608
        "quantile_disc(n, 0.5) AS typical, "
        f"sum(greatest(n - {limit}, 0)) AS rows_cut, count_if(n > {limit}) AS units_cut FROM "
        f"(SELECT count(*) AS n FROM ({rows.with_units(table)}) WHERE u IS NOT NULL GROUP BY u)"
    )
    return UnitCounts(**{name: int(value or 0) for name, value in counts.items()})


def _reference(rows: Rows, table: Table, unit: ViaUnit) -> Reference:
    parent = rows.policy.tables[unit.table]
    column, key = rows.column(table, unit.column), rows.column(parent, unit.key)
    keys = (
        f"SELECT {key} AS k, count(*) AS n FROM {rows.relation(parent)} "  # noqa: S608
        "GROUP BY k"
    )
    counts = rows.first(
        f"SELECT count({column}) AS given, count_if({column} IS NOT NULL AND n IS NULL) AS nowhere, "  # noqa: S608
        f"count_if(n > 1) AS several FROM {rows.relation(table)} AS child "
        f"LEFT JOIN ({keys}) AS parent ON child.{column} = parent.k"
    )
    return Reference(**{name: int(value or 0) for name, value in counts.items()})


def literal(column: Column, value: Value) -> str:
    """Return a value of a policy in SQL, of the type that the column is read as."""
    match value:
        case bool():
            return str(value).upper()
        case int():
            return f"({value})::{CANONICAL[column.type]}"
        case Fraction():
            return f"({float(value)!r})::DOUBLE"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case str():
            return text_literal(value)
