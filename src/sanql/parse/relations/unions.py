"""UNION: rows of the same shape put together, each still its own unit's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sanql.errors import Refused
from sanql.parse.relations.units import by_row, merges_rows, names_unit
from sanql.question import ColumnRef, Facts, Field, Rows, Type, Union, is_private

if TYPE_CHECKING:
    from sanql.parse.relations.reader import Reader


def united(parts: tuple[Rows, Rows], distinct: bool, reader: Reader) -> Union:
    """Return the rows of both parts; a distinct union may only merge rows of one unit."""
    if len({len(part.fields) for part in parts}) > 1:
        raise Refused(
            "union_columns",
            f"the parts of UNION have {len(parts[0].fields)} and {len(parts[1].fields)} columns",
            "let both have the same",
        )
    if is_private(parts[0]) != is_private(parts[1]):
        raise Refused(
            "subquery_across_units",
            "UNION puts rows of somebody among rows of nobody",
            "ask about the private and the public tables in two questions",
        )
    if any(by_row(part, reader) for part in parts):
        raise merges_rows("UNION")
    fields = tuple(
        _field(one, other) for one, other in zip(parts[0].fields, parts[1].fields, strict=True)
    )
    rows = Union(parts, fields, distinct)
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
    value = ColumnRef("united", _hull(first, second), origin=origin, stored=False)
    return Field(one.name, value, identity)


def _hull(one: Facts, other: Facts) -> Facts:
    """Return what holds for the values of both."""
    if Type.NULL in (one.type, other.type):
        return replace(other if one.type is Type.NULL else one, nullable=True)
    kinds = {one.type, other.type}
    kind = one.type
    if len(kinds) > 1:
        if kinds != {Type.INTEGER, Type.REAL}:
            raise Refused(
                "union_columns",
                f"the parts of UNION have {one.type} and {other.type} in one place",
                "CAST one of them",
            )
        kind = Type.REAL
    bounded = one.bounded and other.bounded
    return Facts(
        kind,
        min(one.low, other.low) if bounded else None,  # type: ignore[type-var]
        max(one.high, other.high) if bounded else None,  # type: ignore[type-var]
        one.nullable or other.nullable,
        one.grid if one.grid == other.grid else None,
    )
