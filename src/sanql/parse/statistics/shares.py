"""Shares of rows, as quotients of two counts: the rows that count above the line are among those below.

COUNT_IF(c) / COUNT(*) is the average of 1 where c is true and of 0 elsewhere. Read so, the count above is
a sum whose rows are counted anyway, and both can be measured as a pair (measurements/pairs.py): rows with
c and rows without, of which one row moves only one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sanql.functions import call
from sanql.question import (
    NULL,
    Aggregate,
    AggregateRef,
    Call,
    Expr,
    Literal,
    Query,
    conjuncts,
    integer_literal,
    walk,
)
from sanql.statistics import Count, Sum

_COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


def shares_as_sums(query: Query) -> Query:
    """Return a question with counts above the line as sums of ones, where those below hold their rows."""
    aggregates = list(query.aggregates)
    for above, below in dict.fromkeys(_quotients(query)):
        pair = _share(aggregates[above], aggregates[below])
        others = [each for at, each in enumerate(aggregates) if at not in (above, below)]
        if pair is not None and not _is_counted(aggregates[below].argument, others):
            aggregates[above], aggregates[below] = pair
    return replace(query, aggregates=tuple(aggregates))


def _quotients(query: Query) -> Iterator[tuple[int, int]]:
    """Yield which statistic is divided by which, wherever one stands above a line and one below."""
    ordered = [ordering.expression for ordering in query.order]
    for shown in [*(each.expression for each in query.outputs), *conjuncts(query.having), *ordered]:
        for node in walk(shown):
            match node:
                case Call("divide", (over, under)):
                    above, below = _statistics(over), _statistics(under)
                    if len(above) == len(below) == 1 and above != below:
                        yield above[0], below[0]
                case _:
                    pass


def _statistics(expression: Expr) -> list[int]:
    return [node.index for node in walk(expression) if isinstance(node, AggregateRef)]


def _share(above: Aggregate, below: Aggregate) -> tuple[Aggregate, Aggregate] | None:
    """Return both counts as a sum and the count of its rows; None where it is not known to be a share."""
    condition = _condition(above)
    if condition is None or below.statistic != Count.name or below.total or _condition(below):
        return None
    one, zero = integer_literal(1), integer_literal(0)
    value, counted = call("case", condition, one, zero), below.argument
    if counted is not None and counted.facts.nullable:
        if not any(_needs(each, counted) for each in conjuncts(condition)):
            return None
        value = call("case", call("not", call("is_null", counted)), value, NULL)
        below = replace(below, arguments=(value,))
    return replace(above, statistic=Sum.name, arguments=(value,)), below


def _condition(aggregate: Aggregate) -> Expr | None:
    """Return the condition of which it is counted how often it is true, if that is what is counted."""
    match aggregate:
        case Aggregate(
            Count.name,
            (Call("case", (condition, Literal(value=1), Literal(value=None))),),
            total=None,
        ):
            return condition
        case _:
            return None


def _needs(test: Expr, value: Expr) -> bool:
    """Return whether a test is true only where a value is there."""
    match test:
        case Call(op, arguments) if op in _COMPARISONS:
            return value in arguments
        case Call("not", (Call("is_null", (subject,)),)):
            return subject == value
        case _:
            return False


def _is_counted(counted: Expr | None, others: list[Aggregate]) -> bool:
    """Return whether rows with a value that may be NULL are counted for another statistic as well."""
    return counted is not None and any(counted in each.arguments for each in others)
