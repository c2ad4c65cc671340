"""INTERSECT and EXCEPT of identifiers, as the conditions that they are.

Those who are in one table and in another, or not in it, are SELECT id … WHERE id IN (SELECT id …) GROUP
BY id, or NOT IN. That is so of identifiers only, which are never NULL where rows are somebody's;
INTERSECT takes two NULLs for the same, and IN does not. What else they stand between is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from sanql.policy import Table, identifiers

SETS = (exp.Intersect, exp.Except)
_PLAIN = frozenset({"expressions", "from_", "joins", "where", "distinct", "group"})


def with_sets_of_units(nodes: Iterable[exp.Expression], tables: Mapping[str, Table]) -> None:
    """Replace these of the nodes, the innermost first, where both sides list an identifier."""
    by_name = {name.lower(): table for name, table in tables.items()}
    for node in reversed([node for node in nodes if isinstance(node, SETS)]):
        left, right = (_select(node.args[side]) for side in ("this", "expression"))
        extra = {name for name, value in node.args.items() if value} - {
            "this",
            "expression",
            "distinct",
        }
        if left is None or right is None or extra or not node.args.get("distinct"):
            continue
        if all(_lists_identifier(side, by_name, tables) for side in (left, right)):
            node.replace(_condition(left, right, kept=isinstance(node, exp.Intersect)))


def _select(node: exp.Expression) -> exp.Select | None:
    """Return the SELECT that a side is, by itself or in brackets."""
    while isinstance(node, exp.Subquery | exp.Paren) and not node.args.get("alias"):
        node = node.this
    return node if isinstance(node, exp.Select) else None


def _condition(left: exp.Select, right: exp.Select, *, kept: bool) -> exp.Select:
    made = left.copy()
    named = exp.In(this=_column(left).copy(), query=exp.Subquery(this=right.copy()))
    test: exp.Expression = named if kept else exp.Not(this=named)
    known = left.args.get("where")
    tests = [exp.paren(known.this.copy())] if known is not None else []
    made.set("where", exp.Where(this=exp.and_(*tests, test)))
    made.set("distinct", None)  # grouped by, each is known to be there once
    made.set("group", exp.Group(expressions=[_column(left).copy()]))
    return made


def _column(select: exp.Select) -> exp.Expression:
    (item,) = select.expressions
    column: exp.Expression = item.this if isinstance(item, exp.Alias) else item
    return column


def _lists_identifier(
    select: exp.Select, by_name: Mapping[str, Table], tables: Mapping[str, Table]
) -> bool:
    """Return whether a SELECT shows one column, which says whose a row of a private table is."""
    extra = {name for name, value in select.args.items() if value} - _PLAIN
    if extra or len(select.expressions) != 1 or not select.args.get("from_"):
        return False
    column, group = _column(select), select.args.get("group")
    by_itself = group is None or group == exp.Group(expressions=[column.copy()])
    if not isinstance(column, exp.Column) or not by_itself:
        return False
    read = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    has = [item for item in read if _has(item, str(column.name), by_name, tables)]
    if column.table:
        return any(str(item.alias_or_name).lower() == str(column.table).lower() for item in has)
    return len(has) == 1


def _has(
    item: exp.Expression, name: str, by_name: Mapping[str, Table], tables: Mapping[str, Table]
) -> bool:
    """Return whether an item of FROM is a private table with this identifier."""
    table = by_name.get(str(item.name).lower()) if isinstance(item, exp.Table) else None
    if table is None or table.public:
        return False
    return name.lower() in (each.lower() for each in identifiers(table, tables))
