"""One SELECT as two: its groups and their statistics inside, everything that is done to them outside.

SELECT k, COUNT(*) / SUM(COUNT(*)) OVER () FROM p GROUP BY k is the same as SELECT key, a / SUM(a) OVER ()
FROM (SELECT k AS key, COUNT(*) AS a FROM p GROUP BY k). The inner one is a question of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from sanql.parse.expressions.naming import column_name
from sanql.parse.statistics.aggregates import AGGREGATES
from sanql.parse.statistics.grouping import SEVERAL, unaliased

GROUPS = "groups"
"""What the groups of a SELECT are called where they are read."""
_INSIDE = ("from_", "joins", "where", "group", "laterals")
_OUTSIDE = ("expressions", "qualify", "order", "limit", "offset", "distinct")
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Bracket)

Visible = Callable[[exp.Column], bool]
"""Whether a name is a column of what FROM holds."""


def own_parts(select: exp.Select, *clauses: str) -> Iterator[exp.Expr]:
    """Yield the expressions of a SELECT itself, clause by clause: no subquery's inside."""
    for name in clauses or ("expressions", "where", "group", "having", "qualify", "order"):
        value = select.args.get(name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, exp.Expr):
                yield from item.walk(prune=_is_query)


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def has_windows(select: exp.Select) -> bool:
    """Return whether a SELECT itself has windows."""
    parts = own_parts(select, "expressions", "having", "qualify", "order")
    return any(isinstance(part, exp.Window) for part in parts)


def is_grouped(select: exp.Select) -> bool:
    """Return whether a SELECT itself has groups: GROUP BY, HAVING, or aggregates that are no windows."""
    clauses = ("expressions", "having", "qualify", "order")
    return bool(select.args.get("group") or select.args.get("having")) or any(
        _is_aggregate(part) for part in own_parts(select, *clauses)
    )


def with_windows_written_out(select: exp.Select) -> None:
    """Write the definition of a named window wherever it is used."""
    named = {str(window.this.name).lower(): window for window in select.args.get("windows") or ()}
    if not named:
        return
    for part in list(own_parts(select, "expressions", "qualify", "order")):
        alias = part.args.get("alias") if isinstance(part, exp.Window) else None
        known = named.get(str(alias.name).lower()) if alias is not None else None
        if known is None:
            continue
        part.set("alias", None)
        missing = [name for name in ("partition_by", "order", "spec") if not part.args.get(name)]
        set_clauses(part, known, *missing)
    select.set("windows", None)


def split(select: exp.Select, visible: Visible) -> tuple[exp.Select, exp.Select]:
    """Return the groups of a SELECT with their statistics, and the SELECT around them, without FROM."""
    aliases = {
        str(item.alias).lower(): item.this
        for item in select.expressions
        if isinstance(item, exp.Alias)
    }
    keys = _keys(select, aliases, visible)
    moved = select.args.get("having")
    if moved is not None and not _is_outside(moved):
        moved = None
    measures: list[exp.Expr] = []
    outer = exp.Select()
    set_clauses(outer, select, *_OUTSIDE)
    outer.set("expressions", [_named(item) for item in outer.expressions])
    if moved is not None:
        outer.set("where", exp.Where(this=_without(moved.this.copy(), aliases, visible)))
    qualify = outer.args.get("qualify")
    if qualify is not None:
        qualify.set("this", _without(qualify.this, aliases, visible))
    for name in ("expressions", "where", "qualify", "order"):
        _read_groups(outer.args.get(name), keys, measures, aliases if name == "order" else {})
    _keep_ungrouped(outer, visible)
    inner = exp.Select()
    set_clauses(inner, select, *_INSIDE)
    group = select.args.get("group")
    if group is not None and not _has_several(group):
        inner.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
    if moved is None and select.args.get("having") is not None:
        having = select.args["having"].copy()
        having.set("this", _without(having.this, aliases, visible))
        inner.set("having", having)
    inner.set(
        "expressions",
        [exp.alias_(key.copy(), f"key {i}", quoted=True) for i, key in enumerate(keys)]
        + [exp.alias_(each.copy(), f"measure {i}", quoted=True) for i, each in enumerate(measures)],
    )
    return inner, outer


def set_clauses(select: exp.Expr, like: exp.Expr, *clauses: str) -> None:
    """Give a SELECT copies of the clauses of another."""
    for name in clauses:
        value = like.args.get(name)
        if value:
            select.set(name, [v.copy() for v in value] if isinstance(value, list) else value.copy())


def _keep_ungrouped(outer: exp.Select, visible: Visible) -> None:
    """Let columns of FROM that are no keys stay what they are: none is a name that SELECT gives."""
    for part in own_parts(outer, "expressions"):
        if isinstance(part, exp.Column) and not part.args.get("table") and visible(part):
            part.set("table", exp.to_identifier(GROUPS))


def _is_outside(having: exp.Expr) -> bool:
    """Return whether a condition on groups needs more than their own statistics."""
    return any(isinstance(part, exp.Query | exp.Window) for part in having.walk())


def _named(item: exp.Expr) -> exp.Expr:
    if isinstance(item, exp.Alias):
        return item
    return exp.alias_(item.copy(), column_name(item), quoted=True)


def _keys(select: exp.Select, aliases: Mapping[str, exp.Expr], visible: Visible) -> list[exp.Expr]:
    """Return what the groups are by: positions and aliases resolved, each once."""
    group = select.args.get("group")
    if group is None:
        return []
    items: list[exp.Expr] = list(group.expressions)
    for name in ("rollup", "cube", "grouping_sets"):
        items += [each for each in group.args.get(name) or () if isinstance(each, exp.Expr)]
    if group.args.get("all"):
        items = [
            unaliased(item)
            for item in select.expressions
            if not any(isinstance(part, exp.AggFunc | exp.Window) for part in item.walk())
        ]
    found: dict[exp.Expr, None] = {}
    for item in items:
        for leaf in _leaves(item):
            found.setdefault(_resolved(leaf, select, aliases, visible))
    return list(found)


def _has_several(group: exp.Expr) -> bool:
    return bool(group.args.get("rollup") or group.args.get("cube")) or any(
        isinstance(part, SEVERAL) for part in group.walk()
    )


def _leaves(item: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(item, exp.Paren):
        yield from _leaves(item.this)
    elif isinstance(item, (*SEVERAL, exp.Tuple)):
        for each in item.expressions:
            yield from _leaves(each)
    else:
        yield item


def _resolved(
    item: exp.Expr,
    select: exp.Select,
    aliases: Mapping[str, exp.Expr],
    visible: Visible,
) -> exp.Expr:
    if isinstance(item, exp.Literal) and not item.args.get("is_string"):
        position = str(item.this)
        if position.isdecimal() and 1 <= int(position) <= len(select.expressions):
            return unaliased(select.expressions[int(position) - 1])
    return _aliased(item, aliases, visible) or item


def _aliased(node: exp.Expr, aliases: Mapping[str, exp.Expr], visible: Visible) -> exp.Expr | None:
    """Return what a name stands for that is an alias of SELECT, and no column."""
    if isinstance(node, exp.Column) and not node.args.get("table") and not visible(node):
        return aliases.get(str(node.name).lower())
    return None


def _without(node: exp.Expr, aliases: Mapping[str, exp.Expr], visible: Visible) -> exp.Expr:
    """Return an expression in which aliases of SELECT are what they stand for; no subquery sees them."""
    known = _aliased(node, aliases, visible)
    if known is not None:
        return exp.paren(known.copy())
    for part in list(node.walk(prune=_is_query)):
        known = _aliased(part, aliases, visible)
        if known is not None:
            part.replace(exp.paren(known.copy()))
    return node


def _read_groups(
    clause: object,
    keys: list[exp.Expr],
    measures: list[exp.Expr],
    aliases: Mapping[str, exp.Expr],
) -> None:
    """Put columns of the groups in the place of keys and of their statistics, which are collected."""
    for item in clause if isinstance(clause, list) else [clause]:
        if isinstance(item, exp.Expr):
            for child in list(item.iter_expressions()):
                _replace(child, keys, measures, aliases, nested=False)


def _replace(
    node: exp.Expr,
    keys: list[exp.Expr],
    measures: list[exp.Expr],
    aliases: Mapping[str, exp.Expr],
    *,
    nested: bool,
) -> None:
    nested = nested or isinstance(node, exp.Query)
    bare = isinstance(node, exp.Column) and not node.args.get("table")
    if bare and not nested and str(node.name).lower() in aliases:
        return  # ORDER BY names a column of the answer
    if node in keys and not (nested and bare):
        node.replace(_column(f"key {keys.index(node)}"))
        return
    if not nested and (_is_aggregate(node) or isinstance(node, exp.Grouping | exp.GroupingId)):
        if node not in measures:
            measures.append(node.copy())
        node.replace(_column(f"measure {measures.index(node)}"))
        return
    for child in list(node.iter_expressions()):
        _replace(child, keys, measures, aliases, nested=nested)


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=GROUPS)


def _is_aggregate(node: exp.Expr) -> bool:
    """Return whether a node is a statistic of a group, and not the function of a window."""
    inner = node
    while isinstance(inner, _WRAPPERS):
        inner = inner.this
    if not isinstance(inner, (exp.AggFunc, *AGGREGATES)) or isinstance(inner, exp.Filter):
        return False
    return not isinstance(node.parent, exp.Window) or node.arg_key != "this"
