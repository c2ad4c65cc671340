"""What a policy says about its tables: which are public, and who is protected in the others."""

from __future__ import annotations

from collections.abc import Mapping

from sanql.policy.columns import check_unit_sum, read_column
from sanql.policy.keys import KEYS
from sanql.policy.kinds import check_references, names_of_kinds, read_whose
from sanql.policy.limits import LIMIT_KEYS
from sanql.policy.model import Column, ColumnUnit, SecondKind, Table, TableDomain
from sanql.policy.protections import of_everybody, read_protections
from sanql.policy.section import Section, quote, suggest
from sanql.policy.summaries import read_summaries
from sanql.policy.units import UNIT_REMEDY, check_unit, read_key, resolve_chains
from sanql.policy.values import parse_column_name, parse_flag, parse_name


def read_tables(root: Section) -> dict[str, Table]:
    """Return the tables that could be read; each that could not has left a fault."""
    kinds = names_of_kinds(root)
    section = root.section("table", "write [table.NAME]")
    if section is None and "table" in root.content:
        return {}
    if section is None or not section.content:
        root.fault("table", "no table is declared", "write a [table.NAME] for each table")
        return {}
    tables: dict[str, Table] = {}
    for name, declared in section.named_sections(parse_name, "write [table.NAME], its keys below"):
        table = _read_table(declared, name, kinds)
        if table is not None:
            tables[name] = table
    for table in tables.values():
        for column in table.columns.values():
            if isinstance(column.domain, TableDomain):
                _check_table_domain(section, table, column, column.domain, tables)
    if kinds:
        check_references(section, tables)
    return of_everybody(resolve_chains(section, tables))


def _read_table(section: Section, name: str, kinds: tuple[str, ...]) -> Table | None:
    section.allow(KEYS["table"])
    if not section.content:
        section.fault((), "the table declares nothing", UNIT_REMEDY)
        return None
    columns = _read_columns(section)
    public = section.read("public", parse_flag, "write public = true, or leave it out")
    if public:
        _check_public(section, columns)
        return Table(name, None, columns, key=read_key(section))
    if public is None and "public" in section.content:
        return None
    whose = read_whose(section, kinds)
    if whose is None:
        return None
    unit, limits, second = whose.unit, whose.limits, whose.second
    check_unit(section, unit, columns)
    if second is not None:
        check_unit(section, ColumnUnit(second.column), columns)
    _check_totals(section, columns, second)
    most = max(limits.rows_per_unit_max or 1, 1 if second is None else second.rows_per_group_max)
    for column in columns.values():
        check_unit_sum(section, column, most)
    return Table(
        name,
        unit,
        columns,
        rows_per_unit_max=limits.rows_per_unit_max,
        rows_per_group_max=limits.rows_per_group_max,
        groups_per_unit_max=limits.groups_per_unit_max,
        key=read_key(section),
        unique=limits.unique,
        summaries=None if second is not None else read_summaries(section, unit, columns),
        kind=whose.kind,
        second=second,
        protections=read_protections(section, columns),
    )


def _check_totals(
    section: Section, columns: Mapping[str, Column], second: SecondKind | None
) -> None:
    """Note totals of one unit where rows have two: what a unit adds is limited by rows in a group."""
    for column in columns.values():
        if second is not None and column.total_bounds is not None:
            section.fault(
                ("column", column.name, "total_bounds"),
                "a total of one unit is not bounded where rows belong to units of two kinds",
                "remove total_bounds",
            )


def _read_columns(section: Section) -> dict[str, Column]:
    declared = section.section("column", "write [table.NAME.column] and a line for each column")
    if declared is None:
        return {}
    sections = declared.named_sections(parse_column_name, 'write it as NAME = { type = "…" }')
    read = (read_column(column_section, name) for name, column_section in sections)
    return {column.name: column for column in read if column is not None}


def _check_public(section: Section, columns: Mapping[str, Column]) -> None:
    for key in (
        *("privacy_unit", "unique", "summaries", "public_attributes", "group"),
        *LIMIT_KEYS,
    ):
        if key in section.content:
            section.fault(
                key,
                f"a public table has no {key}",
                "remove it, or remove public = true if the table is about anybody",
            )
    for column in columns.values():
        if column.total_bounds is not None:
            section.fault(
                ("column", column.name, "total_bounds"),
                "a public table has no units to limit",
                "remove total_bounds",
            )
        if column.bounds_auto:
            section.fault(
                ("column", column.name, "bounds"),
                "a public table hides nothing, so its bounds need not be found privately",
                "write bounds = [lowest, highest], as they are",
            )


def _check_table_domain(
    section: Section,
    table: Table,
    column: Column,
    domain: TableDomain,
    tables: Mapping[str, Table],
) -> None:
    place = (table.name, "column", column.name, "domain")
    if domain.table not in section.content:
        section.fault(
            place,
            f"no table {quote(domain.table)} is declared",
            suggest(domain.table, section.content),
        )
        return
    referred = tables.get(domain.table)
    if referred is None:  # declared, with faults of its own
        return
    source = referred.columns.get(domain.column)
    if not referred.public:
        section.fault(
            place,
            f"the table {quote(domain.table)} is not public, and all its values would be shown",
            "list the values, or refer to a table with public = true",
        )
    elif source is None and referred.columns:
        section.fault(
            place,
            f"the table {quote(domain.table)} declares no column {quote(domain.column)}",
            suggest(domain.column, referred.columns),
        )
    elif source is not None and source.type != column.type:
        section.fault(
            place,
            f"{domain.table}.{domain.column} is of type {source.type}, this column {column.type}",
            "declare both with the same type",
        )
