"""GROUP BY: its keys, and the sets of keys that ROLLUP, CUBE and GROUPING SETS ask for.

The clause is a product of its items: a plain key is one set, ROLLUP(a, b) is the sets (a, b), (a) and
(), CUBE(a, b) all subsets, and GROUPING SETS those it lists. A set that comes twice is asked for twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.binder import A, Binder
from sanql.parse.text.places import at, place_of
from sanql.question import Expr, Facts, Grouping, Type, integer_literal

SETS_MAX = 32
BITS_MAX = 62
SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)

Nodes = tuple[exp.Expression, ...]


def group_sets(select: exp.Select, binder: Binder[A]) -> list[Nodes]:
    """Return the sets of what GROUP BY groups by: expressions, positions and aliases resolved."""
    group = select.args.get("group")
    if group is None:
        return [()]
    if group.args.get("all"):
        items = [unaliased(each) for each in select.expressions]
        return [tuple(item for item in items if not any(item.find_all(exp.AggFunc)))]
    with at(group):
        items = _items(group)
        if math.prod(map(_count, items)) > SETS_MAX:
            raise Refused(
                "grouping_sets_too_many",
                f"GROUP BY asks for more than {SETS_MAX} grouping sets",
                "list those that matter with GROUPING SETS, or ask several questions",
            )
        sets = [sum(chosen, ()) for chosen in product(*map(_sets, items))]
    return [tuple(group_item(node, select, binder) for node in nodes) for nodes in sets]


def group_nodes(select: exp.Select, binder: Binder[A]) -> Nodes:
    """Return what GROUP BY groups by where there is one set: inside, and in rows of public tables."""
    sets = group_sets(select, binder)
    if len(sets) > 1:
        raise Refused(
            "clause_unsupported",
            "ROLLUP, CUBE and GROUPING SETS are not supported in a subquery, nor where rows of public "
            "tables are shown as they are",
            "use GROUP BY with the finest keys inside, and ROLLUP, CUBE or GROUPING SETS around it, with "
            "COUNT, SUM and AVG",
            place_of(select.args["group"]),
        )
    return sets[0]


def without_repeats(select: exp.Select) -> bool:
    """Return whether the clause is GROUP BY DISTINCT: each set once."""
    group = select.args.get("group")
    return group is not None and group.args.get("all") is False


def _items(group: exp.Group) -> list[exp.Expression]:
    """Return the items of the clause; behind GROUP BY a, b WITH ROLLUP it is one."""
    extra = [name for name, value in group.args.items() if value and name != "expressions"]
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if extra == [name] and group.expressions and not _listed(group.args[name]):
            return [kind(expressions=[item.copy() for item in group.expressions])]
    if extra:
        raise Refused(
            "clause_unsupported",
            f"GROUP BY {extra[0].replace('_', ' ').upper()} is not supported",
            "use ROLLUP (…), CUBE (…) or GROUPING SETS (…)",
        )
    return list(group.expressions)


def _listed(nodes: Sequence[exp.Expression]) -> bool:
    return any(node.expressions for node in nodes)


def _count(node: exp.Expression) -> int:
    """Return how many sets an item stands for, without making them."""
    if isinstance(node, exp.Rollup):
        return len(_columns(node)) + 1
    if isinstance(node, exp.Cube):
        return 1 << len(_columns(node))
    if isinstance(node, exp.GroupingSets):
        return sum(map(_count, _columns(node)))
    return 1


def _sets(node: exp.Expression) -> list[Nodes]:
    if isinstance(node, exp.Rollup):
        columns = [_together(column) for column in _columns(node)]
        return [sum(columns[:length], ()) for length in range(len(columns), -1, -1)]
    if isinstance(node, exp.Cube):
        columns = [_together(column) for column in _columns(node)]
        return [sum(chosen, ()) for chosen in product(*([column, ()] for column in columns))]
    if isinstance(node, exp.GroupingSets):
        return [nodes for column in _columns(node) for nodes in _sets(column)]
    return [_together(node)]


def _columns(node: exp.Expression) -> list[exp.Expression]:
    columns = node.expressions
    if not columns:
        raise Refused(
            "grouping_sets_empty",
            f"{_named(node)} names no column",
            f"write, for example, {_named(node)} (city); for one group of all rows write ()",
        )
    return list(columns)


def _named(node: exp.Expression) -> str:
    return "GROUPING SETS" if isinstance(node, exp.GroupingSets) else node.key.upper()


def _together(node: exp.Expression) -> Nodes:
    """Return what one place of a list holds: an expression, or several in brackets."""
    if isinstance(node, exp.Paren):
        return _together(node.this)
    if isinstance(node, exp.Tuple):
        return sum(map(_together, node.expressions), ())
    if isinstance(node, SEVERAL):
        raise Refused(
            "clause_unsupported",
            f"{_named(node)} cannot stand here",
            "put it into GROUP BY itself, or directly into GROUPING SETS",
        )
    return (node,)


def group_item(item: exp.Expression, select: exp.Select, binder: Binder[A]) -> exp.Expression:
    """Return the expression that an item of GROUP BY is, by itself, its position or its alias."""
    if isinstance(item, exp.Literal) and not item.args.get("is_string"):
        position = str(item.this)
        if position.isdecimal() and 1 <= int(position) <= len(select.expressions):
            return unaliased(select.expressions[int(position) - 1])
        raise bad_position("GROUP BY", position, len(select.expressions)).at(place_of(item))
    if isinstance(item, exp.Column) and not item.args.get("table"):
        try:
            binder.key(item)
        except Refused:
            for output in select.expressions:
                if isinstance(output, exp.Alias) and output.alias.lower() == item.name.lower():
                    return unaliased(output)
            raise
    return item


def bad_position(clause: str, position: str, count: int) -> Refused:
    """Return the refusal of a number that is no position."""
    return Refused(
        "position_invalid",
        f"{clause} {position} is not the position of a column of the answer",
        f"positions run from 1 to {count}",
    )


def unaliased(node: exp.Expression) -> exp.Expression:
    """Return what an item of SELECT is without its name."""
    return node.this if isinstance(node, exp.Alias) else node


def bind_grouping(node: exp.Expression, select: exp.Select, binder: Binder[A]) -> Expr:
    """Return GROUPING(…): a bit for each key, set where a row is not grouped by it.

    As in DuckDB the first key has the highest bit, and GROUPING_ID is the same. Where there is one
    grouping set, every row is grouped by all keys.
    """
    indices = tuple(_key_index(key, select, binder) for key in node.expressions)
    if not 1 <= len(indices) <= BITS_MAX:
        raise Refused(
            "grouping_unknown",
            f"GROUPING takes keys of GROUP BY, at least one and at most {BITS_MAX}",
            "name keys of GROUP BY, or leave it out",
        )
    if not binder.sets:
        return integer_literal(0)
    top = Fraction(2 ** len(indices) - 1)
    return Grouping(
        indices, Facts(Type.INTEGER, Fraction(0), top, nullable=False, grid=Fraction(1))
    )


def _key_index(key: exp.Expression, select: exp.Select, binder: Binder[A]) -> int:
    try:
        bound = binder.key(group_item(key, select, binder))
    except Refused:
        bound = None
    if bound is None or bound not in binder.keys or isinstance(key, exp.Literal):
        raise Refused(
            "grouping_unknown",
            f"GROUPING({key.sql(dialect='duckdb', comments=False)}) is not about a key of GROUP BY",
            "name an expression that stands in GROUP BY",
        )
    return binder.keys.index(bound)
