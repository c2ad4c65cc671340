"""Questions over public tables alone: answered as they stand, for nothing in them is private."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.relations.reader import Reader
from sanql.parse.relations.scope import Scope
from sanql.parse.statistics.grouping import unaliased
from sanql.parse.text.guard import whole_number
from sanql.parse.text.places import place_of
from sanql.question import PublicQuery, Rows, SortColumn


def public_query(select: exp.Select, reader: Reader) -> PublicQuery:
    """Return a question over public tables; any shape that subqueries may have is allowed."""
    inner = select.copy()
    for clause in ("order", "limit", "offset"):
        inner.set(clause, None)
    order = select.args.get("order")
    items = order.expressions if order is not None else []
    unseen = [item for item in items if not _is_shown(item.this, select)]
    if unseen and select.args.get("distinct"):
        raise Refused(
            "position_invalid",
            "with DISTINCT, ORDER BY names columns of the answer",
            "select what you order by, or leave DISTINCT out",
            place_of(unseen[0]),
        )
    for number, item in enumerate(unseen):
        inner.append("expressions", exp.alias_(item.this.copy(), f"order_by_{number}"))
    rows = reader.rows(inner, Scope([], {}, None, {}))
    width = len(rows.fields) - len(unseen)
    behind = iter(range(width, len(rows.fields)))
    return PublicQuery(
        rows,
        width,
        tuple(
            _place(item, index)
            for item in items
            for index in ([next(behind)] if item in unseen else _indices(item, select, rows, width))
        ),
        whole_number(select.args.get("limit"), "LIMIT"),
        whole_number(select.args.get("offset"), "OFFSET") or 0,
    )


def _is_shown(node: exp.Expr, select: exp.Select) -> bool:
    """Return whether an item of ORDER BY is a column of the answer: its place, name or own words."""
    if isinstance(node, exp.Literal) or _is_all(node) or _written_at(node, select) is not None:
        return True
    if not _is_bare(node):
        return False
    stars = select.args.get("distinct") and _has_star(select)
    return bool(stars) or node.name.lower() in map(_name, select.expressions)


def _indices(item: exp.Expr, select: exp.Select, rows: Rows, width: int) -> Iterable[int]:
    return range(width) if _is_all(item.this) else [_index(item, select, rows, width)]


def _index(item: exp.Expr, select: exp.Select, rows: Rows, width: int) -> int:
    node = item.this
    index = None
    if isinstance(node, exp.Literal) and str(node.this).isdecimal():
        index = int(str(node.this)) - 1
    elif _is_bare(node):
        names = [field.name.lower() for field in rows.fields[:width]]
        index = names.index(node.name.lower()) if node.name.lower() in names else None
    if index is None and not isinstance(node, exp.Literal):
        index = _written_at(node, select)
    if index is None or not 0 <= index < width:
        raise Refused(
            "position_invalid",
            "ORDER BY names a column that is not there",
            "order by a column of the answer or of its tables, or by a position, such as 1",
            place_of(item),
        )
    return index


def _written_at(node: exp.Expr, select: exp.Select) -> int | None:
    """Return the place of an expression in SELECT; behind a star places are not known yet."""
    if _has_star(select):
        return None
    written: list[exp.Expr] = [unaliased(item) for item in select.expressions]
    return written.index(node) if node in written else None


def _is_all(node: exp.Expr) -> bool:
    return isinstance(node, exp.Var) and str(node.this).upper() == "ALL"


def _has_star(select: exp.Select) -> bool:
    return any(item.is_star for item in select.expressions)


def _is_bare(node: exp.Expr) -> bool:
    """Return whether a node is a name that may be one of the answer's: a.x is a table's."""
    return isinstance(node, exp.Column) and not node.args.get("table")


def _name(item: exp.Expr) -> str:
    return item.alias_or_name.lower() if isinstance(item, exp.Alias | exp.Column) else ""


def _place(item: exp.Expr, index: int) -> SortColumn:
    return SortColumn(index, bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
