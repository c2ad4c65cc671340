"""Which nodes of the grammar are statistics: found by the names that statistics/ lists.

A name for which the grammar has a class of its own is parsed as that class; any other is parsed as an
unknown function, and `named` makes it a statistic.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sanql.statistics import BY_SPELLING, Statistic


def _dedicated() -> Iterator[tuple[type[exp.Expression], Statistic]]:
    for spelling, statistic in BY_SPELLING.items():
        node_type = exp.FUNCTION_BY_NAME.get(spelling)
        if node_type is not None and issubclass(node_type, exp.Expression):
            yield node_type, statistic


DEDICATED: dict[type[exp.Expression], Statistic] = dict(_dedicated())
"""The statistics for which the grammar has a class."""


def statistic_of_node(node: exp.Expression) -> Statistic | None:
    """Return the statistic that a node is, if it is one."""
    if isinstance(node, exp.AnonymousAggFunc):
        return BY_SPELLING.get(str(node.this).upper())
    return DEDICATED.get(type(node))


def named(node: exp.Anonymous) -> exp.Expression | None:
    """Return the statistic that an unknown function is, if its name is that of one."""
    name = str(node.this)
    if name.upper() not in BY_SPELLING:
        return None
    made = exp.AnonymousAggFunc(this=name.upper(), expressions=list(node.expressions))
    made.meta["typed"] = name
    return made


def operands(node: exp.Expression) -> list[exp.Expression]:
    """Return what stands between the brackets of a statistic."""
    if isinstance(node, exp.AnonymousAggFunc):
        return list(node.expressions)
    return [operand for operand in (node.this, node.args.get("expression")) if operand is not None]


def with_first(node: exp.Expression, value: exp.Expression) -> exp.Expression:
    """Return a copy of a statistic of another value."""
    made = node.copy()
    if isinstance(made, exp.AnonymousAggFunc):
        made.set("expressions", [value, *made.expressions[1:]])
    else:
        made.set("this", value)
    return made
