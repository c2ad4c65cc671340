"""UNION: rows of the same shape put together, each still its own unit's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sanql.errors import Refused
from sanql.parse.relations.units import by_row, merges_rows, names_unit
from sanql.question import ColumnRef, Facts, Field, Rows, Type, Union, is_private

if TYPE_CHECKING:
    from sanql.parse.relations.reader import Reader


def united(branches: tuple[Rows, Rows], distinct: bool, reader: Reader) -> Union:
    """Return the rows of both parts; a distinct union may only merge rows of one unit."""
    if len({len(branch.fields) for branch in branches}) > 1:
        raise Refused(
            "union_columns",
            f"the parts of UNION have {len(branches[0].fields)} and {len(branches[1].fields)} columns",
            "let both have the same",
        )
    if is_private(branches[0]) != is_private(branches[1]):
        raise Refused(
            "subquery_across_units",
            "UNION puts rows of somebody among rows of nobody",
            "ask about the private and the public tables in two questions",
        )
    if any(by_row(branch, reader) for branch in branches):
        raise merges_rows("UNION")
    fields = tuple(
        _field(first, second)
        for first, second in zip(branches[0].fields, branches[1].fields, strict=True)
    )
    rows = Union(branches, fields, distinct)
    if distinct and is_private(rows) and not any(names_unit(field.identity) for field in fields):
        raise Refused(
            "distinct_across_units",
            "UNION would merge rows of different units",
            "use UNION ALL, or add the unit's column to both parts",
        )
    return rows


def _field(one: Field, other: Field) -> Field:
    identity = None
    if one.identity and other.identity and one.identity.entity == other.identity.entity:
        nullable = one.identity.facts.nullable or other.identity.facts.nullable
        identity = replace(one.identity, facts=replace(one.identity.facts, nullable=nullable))
    if one.value is None or other.value is None:
        return Field(one.name, None, identity)
    first, second = one.value.facts, other.value.facts
    origins = {
        part.origin if isinstance(part, ColumnRef) else None for part in (one.value, other.value)
    }
    origin = origins.pop() if len(origins) == 1 else None
    value = ColumnRef("united", hull(first, second), origin=origin, stored=False)
    return Field(one.name, value, identity)


def hull(first: Facts, second: Facts) -> Facts:
    """Return what holds for the values of both."""
    if Type.NULL in (first.type, second.type):
        return replace(second if first.type is Type.NULL else first, nullable=True)
    kinds = {first.type, second.type}
    kind = first.type
    if len(kinds) > 1:
        if kinds != {Type.INTEGER, Type.REAL}:
            raise Refused(
                "union_columns",
                f"the parts of UNION have {first.type} and {second.type} in one place",
                "CAST one of them",
            )
        kind = Type.REAL
    bounded = first.bounded and second.bounded
    return Facts(
        kind,
        min(first.low, second.low) if bounded else None,  # type: ignore[type-var]
        max(first.high, second.high) if bounded else None,  # type: ignore[type-var]
        first.nullable or second.nullable,
        first.grid if first.grid == second.grid else None,
    )
