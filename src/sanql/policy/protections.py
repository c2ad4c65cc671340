"""What certificates are to say besides one unit: public attributes, and groups that stay away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sanql.policy.keys import GROUP_MOST, KEYS
from sanql.policy.model import Column, ColumnUnit, Group, Protections, Table
from sanql.policy.section import Mistake, Section, quote, suggest
from sanql.policy.units import root_unit
from sanql.policy.values import integer_between, parse_column_name

_ATTRIBUTES_REMEDY = 'write public_attributes = ["COLUMN", …]'
_GROUP_REMEDY = 'write group = { size = 4 }, or group = { column = "household", size = 6 }'


def read_protections(section: Section, columns: Mapping[str, Column]) -> Protections | None:
    """Return what a table declares; columns that it has not have left a fault."""
    public = section.read("public_attributes", _parse_attributes, _ATTRIBUTES_REMEDY) or ()
    for name in public:
        if name not in columns:
            section.fault(
                "public_attributes",
                f"no column {quote(name)} is declared",
                suggest(name, columns) if columns else "declare the column, or leave it out",
            )
    group = _read_group(section)
    return Protections(public, group) if public or group else None


def of_everybody(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables; each that declares nothing has what is declared of the same units elsewhere."""
    roots = {name: root_unit(table, tables) for name, table in tables.items()}
    declared = {
        unit: table.protections
        for name, table in tables.items()
        if table.protections is not None and isinstance(unit := roots[name], ColumnUnit)
    }
    found = dict(tables)
    for name, table in tables.items():
        unit = roots[name]
        if table.protections is None and isinstance(unit, ColumnUnit) and unit in declared:
            found[name] = replace(table, protections=declared[unit])
    return found


def _read_group(section: Section) -> Group | None:
    written = section.section("group", _GROUP_REMEDY)
    if written is None:
        return None
    written.allow(KEYS["group"])
    size = written.require("size", integer_between(2, GROUP_MOST), _GROUP_REMEDY)
    column = written.read("column", parse_column_name, _GROUP_REMEDY)
    return None if size is None else Group(size, column)


def _parse_attributes(written: object) -> tuple[str, ...]:
    if not isinstance(written, list) or not written:
        raise Mistake("is no list of columns")
    names = tuple(parse_column_name(name) for name in written)
    if len(set(names)) < len(names):
        raise Mistake("names a column twice")
    return names
