"""Statistics of what each unit adds to a group: averages of units' averages, and bounds that leave out 0.

BigQuery's `AVG(x, contribution_bounds_per_group => (l, u))` is an average over units, of the average that
each has in the group, held within the bounds; and of `SUM` with bounds that leave out 0 a unit without
rows adds nothing, while one with rows adds at least the nearer end. Both are statistics over a subquery
that has one row for each unit and group:

    SELECT k, AVG(a held within l and u) FROM (SELECT unit, k, AVG(x) AS a … GROUP BY unit, k) GROUP BY k

and that is what is asked: inside, numbers are exact and about one unit, outside they are noisy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.statistics.contributions import PER_GROUP, leaves_out_zero
from sanql.parse.statistics.grouping import SEVERAL, unaliased
from sanql.parse.statistics.nodes import statistic_of_node
from sanql.parse.text.places import at
from sanql.policy import ColumnUnit, Table

OF_UNITS = "of_units"  # what the subquery is called
KINDS = (exp.Avg, exp.Sum, exp.Count)


def per_unit(select: exp.Select, tables: Mapping[str, Table]) -> exp.Select:
    """Return the question over what each unit adds, where a statistic of it is about that."""
    if PER_GROUP not in select.meta:
        return select
    asked = [node for node in _statistics(select) if _is_of_units(node)]
    if not asked:
        return select
    with at(asked[0]):
        return _over_units(select, tables)


def _statistics(select: exp.Select) -> Iterator[exp.Expression]:
    """Yield the statistics of a SELECT, wherever they stand in it but in a subquery."""
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    for clause in filter(None, clauses):
        for node in clause.find_all(exp.Filter, exp.AggFunc):
            inside = isinstance(node.parent, exp.Filter) and node.arg_key == "this"
            if node.find_ancestor(exp.Select) is select and not inside:
                yield node


def _is_of_units(node: exp.Expression) -> bool:
    inner = node.this if isinstance(node, exp.Filter) else node
    ends = inner.args.get("per_group")
    return ends is not None and (isinstance(inner, exp.Avg) or leaves_out_zero(ends))


def _over_units(select: exp.Select, tables: Mapping[str, Table]) -> exp.Select:
    unit = _unit(select, tables)
    keys = _keys(select)
    inner = exp.Select(expressions=[exp.alias_(unit.copy(), "unit")])
    for clause in ("from_", "joins", "where", "with_"):
        value = select.args.get(clause)
        if value is not None:
            moved = [each.copy() for each in value] if isinstance(value, list) else value.copy()
            inner.set(clause, moved)
    named = {key: exp.column(f"key_{n}", table=OF_UNITS) for n, key in enumerate(keys)}
    for n, key in enumerate(keys):
        inner.append("expressions", exp.alias_(key.copy(), f"key_{n}"))
    listed = [unit, *keys]
    inner.set("group", exp.Group(expressions=[each.copy() for each in listed]))
    outer = select.copy()
    for clause in ("from_", "joins", "where", "with_"):
        outer.set(clause, None)
    found: dict[exp.Expression, str] = {}
    for node in list(_statistics(outer)):
        name = found.setdefault(node, f"added_{len(found)}")
        node.replace(_outside(node, exp.column(name, table=OF_UNITS), unit))
    for node, name in found.items():
        inner.append("expressions", exp.alias_(_inside(node, unit), name))
    for key, column in named.items():
        for node in [each for each in outer.find_all(type(key)) if each == key]:
            shown: exp.Expr = column.copy()
            if isinstance(node.parent, exp.Select) and isinstance(key, exp.Column):
                shown = exp.alias_(shown, key.name)
            node.replace(shown)
    result: exp.Select = outer.from_(inner.subquery(OF_UNITS))
    if keys:
        result.set("group", exp.Group(expressions=[column.copy() for column in named.values()]))
    return result


def _keys(select: exp.Select) -> list[exp.Expression]:
    """Return what the question groups by: expressions, positions and names of SELECT resolved."""
    group = select.args.get("group")
    if group is None:
        return []
    items = [unaliased(item) for item in select.expressions]
    if group.args.get("all"):
        return [item for item in items if not any(item.find_all(exp.AggFunc))]
    aliases = {
        str(item.alias).lower(): item.this
        for item in select.expressions
        if isinstance(item, exp.Alias)
    }
    keys = []
    for item in group.expressions:
        if isinstance(item, SEVERAL):
            raise _in_another_question("ROLLUP, CUBE and GROUPING SETS")
        key = item
        if isinstance(item, exp.Literal) and item.is_int and 1 <= int(item.name) <= len(items):
            key = items[int(item.name) - 1]
        elif isinstance(item, exp.Column) and not item.table and item.name.lower() in aliases:
            key = aliases[item.name.lower()]
        keys.append(key)
    return keys


def _unit(select: exp.Select, tables: Mapping[str, Table]) -> exp.Column:
    """Return the unit's column, of the first table in FROM that has it."""
    by_name = {name.lower(): table for name, table in tables.items()}
    source = select.args.get("from_")
    nodes = [] if source is None else [source.this]
    nodes += [join.this for join in select.args.get("joins") or ()]
    for node in nodes:
        table = by_name.get(str(node.name).lower()) if isinstance(node, exp.Table) else None
        if table is not None and isinstance(table.unit, ColumnUnit):
            name = exp.to_identifier(table.unit.column, quoted=True)
            return exp.Column(this=name, table=exp.to_identifier(node.alias_or_name, quoted=True))
    raise Refused(
        "contribution_unsupported",
        "bounds on what a unit adds to a group are about units, and no table in FROM has the unit's "
        "column",
        "write it out: SELECT AVG(a) FROM (SELECT person_id, AVG(x) AS a FROM … GROUP BY person_id) AS t",
    )


def _inside(node: exp.Expression, unit: exp.Column) -> exp.Expression:
    """Return what is found of one unit: the statistic without its bounds."""
    made = node.copy()
    inner = made.this if isinstance(made, exp.Filter) else made
    if "per_group" in inner.args:
        inner.args.pop("per_group")
        return made
    return exp.Count(this=exp.Star())  # units are counted, and each row is one


def _outside(node: exp.Expression, value: exp.Column, unit: exp.Column) -> exp.Expression:
    """Return the statistic over units: of what each adds, held within the bounds."""
    inner = node.this if isinstance(node, exp.Filter) else node
    ends = inner.args.get("per_group")
    if ends is None:
        counted = inner.this.expressions if isinstance(inner.this, exp.Distinct) else []
        same = [each.name.lower() == unit.name.lower() for each in counted]
        if isinstance(inner, exp.Count) and same == [True] and inner is node:
            whose = exp.column("unit", table=OF_UNITS)
            return exp.Count(this=exp.Distinct(expressions=[whose]))
        raise _in_another_question(f"{_name(inner)} without contribution_bounds_per_group")
    low, high = (end.copy() for end in ends.expressions)
    held = exp.Greatest(
        this=low,
        expressions=[exp.Least(this=high, expressions=[value], ignore_nulls=True)],
        ignore_nulls=True,
    )
    missing = exp.Is(this=value.copy(), expression=exp.Null())
    of_unit = exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=held)
    return exp.Avg(this=of_unit) if isinstance(inner, exp.Avg) else exp.Sum(this=of_unit)


def _name(node: exp.Expression) -> str:
    known = statistic_of_node(node)
    return str(node.meta.get("typed") or (known.name if known else node.key.upper()))


def _in_another_question(what: str) -> Refused:
    return Refused(
        "contribution_unsupported",
        f"{what} cannot stand beside AVG, or bounds without 0, by units: these are about one number of "
        "each unit, and that is about rows",
        "ask for it in a question of its own",
    )
