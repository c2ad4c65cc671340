"""What a session's data offer to questions, as the owner declares it: no row is read for it."""

from __future__ import annotations

from fractions import Fraction

from sanql.ask.session import Session
from sanql.plan import unit_in_words
from sanql.policy import Column, Domain, ListedDomain, Table
from sanql.profile import Profile
from sanql.results import Schema, SchemaColumn, SchemaTable

_LIMITS = ("rows_per_unit_max", "rows_per_group_max", "groups_per_unit_max")


def schema_of(session: Session) -> Schema:
    """Return names, types, bounds, domains, limits and profiles; of public tables what the source has."""
    session.check_open()
    policy = session.policy
    known = session.profiles.now()
    tables = tuple(_table(table, known.get(name)) for name, table in session.tables.items())
    return Schema(policy.name, policy.neighbours, tables)


def _table(table: Table, profile: Profile | None) -> SchemaTable:
    limits = {name: getattr(table, name) for name in _LIMITS}
    second = table.second
    if second is not None:
        limits = {
            f"rows_per_group_max ({table.kind})": table.rows_per_group_max,
            f"rows_per_group_max ({second.kind})": second.rows_per_group_max,
        }
    return SchemaTable(
        table.name,
        table.public,
        unit_in_words(table),
        {name: limit for name, limit in limits.items() if limit is not None},
        tuple(map(_column, table.columns.values())),
        () if profile is None else tuple(profile.lines()),
    )


def _column(column: Column) -> SchemaColumn:
    bounds = column.bounds
    return SchemaColumn(
        column.name,
        column.type,
        None if bounds is None else (_plain(bounds[0]), _plain(bounds[1])),
        None if column.precision is None else _plain(column.precision),
        None if column.domain is None else _domain(column.domain),
    )


def _domain(domain: Domain) -> tuple[object, ...] | str:
    if isinstance(domain, ListedDomain):
        return tuple(map(_plain, domain.values))
    return f"{domain.table}.{domain.column}"


def _plain(value: object) -> object:
    """Return what the owner wrote as JSON has it: a number, true or false, or a text."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value if isinstance(value, bool | int | str) else str(value)
