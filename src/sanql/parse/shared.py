"""Questions over public tables alone: answered as they stand, for nothing in them is private."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.guard import whole_number
from sanql.parse.places import place_of
from sanql.parse.reader import Reader
from sanql.parse.relations import Rows
from sanql.parse.scope import Scope


@dataclass(frozen=True)
class Place:
    """One item of ORDER BY: a column of the answer."""

    index: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class PublicQuery:
    """Rows of public tables, in order."""

    rows: Rows
    order: tuple[Place, ...]
    limit: int | None
    offset: int


def public_query(select: exp.Select, reader: Reader) -> PublicQuery:
    """Return a question over public tables; any shape that subqueries may have is allowed."""
    inner = select.copy()
    for clause in ("order", "limit", "offset"):
        inner.set(clause, None)
    rows = reader.rows(inner, Scope([], {}, None, {}))
    order = select.args.get("order")
    return PublicQuery(
        rows,
        tuple(_place(item, rows) for item in order.expressions) if order else (),
        whole_number(select.args.get("limit"), "LIMIT"),
        whole_number(select.args.get("offset"), "OFFSET") or 0,
    )


def _place(item: exp.Expression, rows: Rows) -> Place:
    node = item.this
    index = None
    if isinstance(node, exp.Literal) and str(node.this).isdecimal():
        index = int(str(node.this)) - 1
    elif isinstance(node, exp.Column):
        named = [i for i, f in enumerate(rows.fields) if f.name.lower() == str(node.name).lower()]
        index = named[0] if named else None
    if index is None or not 0 <= index < len(rows.fields):
        raise Refused(
            "position_invalid",
            "over public tables, ORDER BY names columns of the answer",
            "select what you order by",
            place_of(item),
        )
    return Place(index, bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
