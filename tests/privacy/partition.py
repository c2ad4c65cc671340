"""Any database cut in two by its policy: one unit, and the others; public tables are whole in both."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sanql.kernel.lockdown import literal, quote_name
from sanql.policy.model import ColumnUnit, Policy, RowUnit, Unit, ViaUnit

PARTS = 2
FIRST_ROW = "'0'"


def partition(policy: Policy, database: Path, folder: Path) -> list[Path]:
    """Return a database that holds one unit and what is nobody's, and one that holds the others."""
    paths = []
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH '{database}' AS whole (READ_ONLY)")
        first = _first(connection, policy)
        for place in range(PARTS):
            path = folder / f"part{place}.duckdb"
            connection.execute(f"ATTACH '{path}' AS part")
            done: set[str] = set()
            for name in policy.tables:
                _copy(connection, policy, name, place, first, done)
            connection.execute("DETACH part")
            paths.append(path)
    return paths


def _copy(
    connection: duckdb.DuckDBPyConnection,
    policy: Policy,
    name: str,
    place: int,
    first: str,
    done: set[str],
) -> None:
    """Copy the rows of a table that belong to a part, after those they refer to."""
    if name in done:
        return
    done.add(name)
    match _unit(policy, name):
        case ViaUnit(column, parent, key):
            _copy(connection, policy, parent, place, first, done)
            kept = (
                f"{quote_name(column)} IN (SELECT {quote_name(key)} "
                f"FROM part.main.{quote_name(parent)})"
            )
        case ColumnUnit(column):
            kept = f"{_place(quote_name(column), first)} = {place}"
        case RowUnit():
            kept = f"{_place('rowid', FIRST_ROW)} = {place}"
        case _:
            kept = "true"
    relation = f"main.{quote_name(name)}"
    connection.execute(
        f"CREATE TABLE part.{relation} AS SELECT * FROM whole.{relation} WHERE {kept}"
    )


def _place(unit: str, first: str) -> str:
    """Return in which part a unit is."""
    return f"CASE WHEN {unit} IS NULL OR {unit}::VARCHAR = {first} THEN 0 ELSE 1 END"


def _first(connection: duckdb.DuckDBPyConnection, policy: Policy) -> str:
    """Return the first unit of those that a column names, in whichever table it is."""
    units = {name: _unit(policy, name) for name in policy.tables}
    named = [
        f"SELECT min({quote_name(unit.column)}::VARCHAR) AS u FROM whole.main.{quote_name(name)}"
        for name, unit in units.items()
        if isinstance(unit, ColumnUnit)
    ]
    if not named:
        return "NULL"
    ((first,),) = connection.execute(f"SELECT min(u) FROM ({' UNION ALL '.join(named)})").fetchall()
    return literal(first)


def _unit(policy: Policy, name: str) -> Unit | None:
    """Return whose rows a table has; a foreign key to the unit's own column is the unit."""
    unit = policy.tables[name].unit
    if isinstance(unit, ViaUnit) and policy.tables[unit.table].unit == ColumnUnit(unit.key):
        return ColumnUnit(unit.column)
    return unit
