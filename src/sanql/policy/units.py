"""Whose rows a table holds: each row by itself, a column's, or those of a row it refers to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sanql.policy.keys import KEYS
from sanql.policy.model import Column, ColumnUnit, RowUnit, Table, Unit, ViaUnit
from sanql.policy.section import Section, fold, quote, suggest
from sanql.policy.values import parse_column_name, parse_text

UNIT_REMEDY = (
    'write privacy_unit = "row", or the column that identifies whoever is protected, or'
    ' { via = "column", references = "table" }; public = true if the table is about nobody'
)
_VIA_REMEDY = 'write { via = "order_id", references = "orders" } or references = "orders.id"'


def read_unit(section: Section) -> Unit | None:
    """Return whose rows these are; a unit behind a foreign key still lacks its table's key."""
    written = section.content.get("privacy_unit")
    if isinstance(written, dict):
        return read_via(section, "privacy_unit")
    name = section.require("privacy_unit", parse_column_name, UNIT_REMEDY)
    if name is None:
        return None
    if fold(name) == "row" != name:
        section.fault(
            "privacy_unit",
            f'{quote(name)} and "row" differ only by case',
            'write "row" if each row is somebody else, or name another column',
        )
        return None
    return RowUnit() if name == "row" else ColumnUnit(name)


def check_unit(section: Section, unit: Unit, columns: Mapping[str, Column]) -> None:
    """Note a unit column that SQL could confuse with another, or that cannot tell units apart."""
    declared = section.content.get("column")
    spellings = {fold(name): name for name in declared} if isinstance(declared, dict) else {}
    if "row" in spellings:
        section.fault(
            ("column", spellings["row"]),
            f"the column name {quote(spellings['row'])} is ambiguous: as a privacy_unit it means"
            " each row by itself",
            "rename the column in the source, or leave it out of the policy",
        )
    if isinstance(unit, RowUnit):
        return
    spelling = spellings.get(fold(unit.column), unit.column)
    if spelling != unit.column:
        section.fault(
            "privacy_unit",
            f"{quote(unit.column)} and {quote(spelling)} differ only by case",
            "spell them the same way",
        )
    column = columns.get(unit.column)
    if column is not None and column.type == "float":
        section.fault(
            "privacy_unit",
            f"{quote(unit.column)} is a float, and rounded numbers cannot tell units apart",
            "identify units by an integer or a text",
        )


def read_key(section: Section) -> str | None:
    """Return the column by which other tables refer to a row of this one."""
    return section.read("key", parse_column_name, "name the column other tables refer to")


def read_via(section: Section, key: str) -> ViaUnit | None:
    """Return the reference that a key of a section holds; it still lacks its table's key."""
    written = section.section(key, _VIA_REMEDY)
    if written is None:
        return None
    written.allow(KEYS["privacy_unit"])
    column = written.require("via", parse_column_name, _VIA_REMEDY)
    references = written.require("references", parse_text, _VIA_REMEDY)
    if column is None or references is None:
        return None
    table, _, key = references.partition(".")
    return ViaUnit(column, table, key)


def resolve_chains(section: Section, tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables with the key of every foreign key known, and every chain followed to its end."""
    resolved = dict(tables)
    for name, table in tables.items():
        if isinstance(table.unit, ViaUnit):
            unit = _resolve(section, name, table.unit, tables)
            if unit is None:
                del resolved[name]
            else:
                resolved[name] = replace(table, unit=unit)
    return resolved


def _resolve(
    section: Section, name: str, unit: ViaUnit, tables: Mapping[str, Table]
) -> ViaUnit | None:
    place = (name, "privacy_unit", "references")
    if unit.table not in section.content:
        section.fault(
            place,
            f"no table {quote(unit.table)} is declared",
            suggest(unit.table, section.content),
        )
        return None
    referred = tables.get(unit.table)
    if referred is None:  # declared, with faults of its own
        return None
    if referred.public or isinstance(referred.unit, RowUnit):
        what = "is public" if referred.public else "protects each row by itself"
        section.fault(
            place,
            f"the table {quote(unit.table)} {what}, so it cannot say whose row this is",
            "refer to a table whose privacy_unit is a column, or leads to one",
        )
        return None
    if _goes_round(name, unit, tables):
        section.fault(
            place,
            "the references lead back to this table",
            "let one table of the chain name the column that identifies its unit",
        )
        return None
    own = referred.unit.column if isinstance(referred.unit, ColumnUnit) else None
    key = unit.key or referred.key or own
    if not key:
        section.fault(
            place,
            f"it is not said which column of {quote(unit.table)} is meant",
            f'write references = "{unit.table}.COLUMN", or key = "COLUMN" in [table.{unit.table}]',
        )
        return None
    return replace(unit, key=key)


def _goes_round(name: str, unit: ViaUnit, tables: Mapping[str, Table]) -> bool:
    seen = {name}
    following: Unit | None = unit
    while isinstance(following, ViaUnit):
        if following.table in seen:
            return True
        seen.add(following.table)
        table = tables.get(following.table)
        following = table.unit if table is not None else None
    return False


def identifiers(table: Table, tables: Mapping[str, Table]) -> tuple[str, ...]:
    """Return the columns of a private table that say whose a row is: its own, and those referred to."""
    columns = []
    if isinstance(table.unit, ColumnUnit | ViaUnit):
        columns.append(table.unit.column)
    if table.second is not None:
        columns.append(table.second.column)
    for other in tables.values():
        if isinstance(other.unit, ViaUnit) and other.unit.table == table.name:
            columns.append(other.unit.key)
    return tuple(dict.fromkeys(columns))


def own_unit(table: Table, tables: Mapping[str, Table]) -> str | None:
    """Return the column of a table that identifies whose its rows are; None where another table does.

    A foreign key that refers to the unit's own column is the unit.
    """
    match table.unit:
        case ColumnUnit(column):
            return column
        case ViaUnit(column, referred, key):
            unit = tables[referred].unit
            direct = isinstance(unit, ColumnUnit) and unit.column.lower() == key.lower()
            return column if direct else None
        case _:
            return None


def root_unit(table: Table, tables: Mapping[str, Table]) -> RowUnit | ColumnUnit | None:
    """Return the unit at the end of a table's chain of references."""
    unit = table.unit
    while isinstance(unit, ViaUnit):
        unit = tables[unit.table].unit
    return unit


def unit_path(table: Table, tables: Mapping[str, Table]) -> str:
    """Return how a private table's rows lead to whoever is protected: "order_id = orders.id: person"."""
    match table.unit:
        case ViaUnit(column, referred, key):
            return f"{column} = {referred}.{key}: {unit_path(tables[referred], tables)}"
        case ColumnUnit(column) if table.second is not None:
            also = table.second
            return f"{column} ({table.kind}), {also.column} ({also.kind})"
        case ColumnUnit(column):
            return column if table.kind is None else f"{column} ({table.kind})"
        case RowUnit():
            return "row"
        case None:
            raise AssertionError(f"{table.name} is public: its rows lead to nobody")
