"""Refusing statistics of whole numbers that are bounded only by the range of their type.

A column of whole numbers without declared bounds is read as a 64-bit number, which comparisons and
overflows can be decided with; so are places in a window, counts over public tables and texts that are
cast. But noise for AVG(x / 1000) on that range would be of the order of 10^15: the question is answered,
and nothing can be seen in the answer. So a question is read once more with all of these held within a
smaller range. If a value that is added up, averaged or ranked were less than half as wide then, its type
is all that bounds it. What the question itself holds within bounds stays as it is, and so does what is
narrow anyway: LN(x), or a cast to SMALLINT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sanql.policy import Table
from sanql.question import (
    Aggregate,
    Call,
    ColumnRef,
    Expr,
    Facts,
    Query,
    Subquery,
    Type,
    Window,
    is_private,
    walk,
)
from sanql.statistics import statistic_of

SMALLER = Fraction(2**52)  # no bound that anybody states is larger
ENDLESS = 2**62  # what only the range of 64 bits reaches
# a cast to a type of 32 bits states no bounds either; less than half of its range, and hardly less
CASTS = {"cast_bigint": (ENDLESS, SMALLER), "cast_integer": (2**31 - 1, Fraction(45 * 2**31, 100))}
NARROW = 2**16  # steps across which a type is as good a bound as any: those of 16 bits


def may_be_bounded_by_type(query: Query, tables: Mapping[str, Table]) -> bool:
    """Return whether a value may be bounded only by its type, which a second parse has to tell."""
    if not is_private(query.source):
        return False  # nothing is noisy
    unbounded = set(_unbounded(tables))
    return any(
        _is_open(node, unbounded)
        for aggregate in query.aggregates
        for value in _summed(aggregate)
        if _width(value) > NARROW
        for node in walk(value)
    )


def bounded_by_type(query: Query, held: Query) -> Aggregate | None:
    """Return the first statistic that is about a much narrower value in the question `held`."""
    # by their text: counts that are two in one question may be one in the other
    others = {aggregate.text: aggregate for aggregate in held.aggregates}
    for aggregate in query.aggregates:
        pairs = zip(_summed(aggregate), _summed(others.get(aggregate.text, aggregate)), strict=True)
        widths = [(_width(value), _width(other)) for value, other in pairs]
        if any(width > NARROW and width > 2 * other for width, other in widths):
            return aggregate
    return None


def tables_with_smaller_ranges(tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return the tables with their columns of whole numbers held within a smaller range."""
    changed = dict(tables)
    for name, column in _unbounded(tables):
        table = changed[name]
        held = replace(table.columns[column], bounds=(-int(SMALLER), int(SMALLER)))
        changed[name] = replace(table, columns={**table.columns, column: held})
    return changed


def value_in_smaller_range(value: Expr) -> Expr:
    """Return an expression held within a smaller range, if its own is that of a type."""
    if isinstance(value, Call) and value.op in CASTS:
        return replace(value, facts=facts_in_smaller_range(value.facts, *CASTS[value.op]))
    if isinstance(value, Window | Subquery):
        return replace(value, facts=facts_in_smaller_range(value.facts))
    return value


def facts_in_smaller_range(
    facts: Facts, reached: int = ENDLESS, smaller: Fraction = SMALLER
) -> Facts:
    """Return the facts of a whole number that reaches the end of its type, held before that.

    >>> facts_in_smaller_range(Facts(Type.INTEGER, Fraction(0), Fraction(2**63 - 1))).high == 2**52
    True
    """
    low, high = facts.low, facts.high
    if facts.type is not Type.INTEGER or not isinstance(low, Fraction):
        return facts
    assert isinstance(high, Fraction)  # noqa: S101  (a whole number has both ends)
    if low <= -reached:
        low = min(-smaller, high)
    if high >= reached:
        high = max(smaller, low)
    return replace(facts, low=low, high=high)


def _unbounded(tables: Mapping[str, Table]) -> Iterator[tuple[str, str]]:
    for table in tables.values():
        for column in table.columns.values():
            if column.type == "integer" and column.bounds is None:
                yield table.name, column.name


def _is_open(expression: Expr, unbounded: set[tuple[str, str]]) -> bool:
    """Return whether the range of a part may be that of a type, here or in the subquery it is from."""
    if isinstance(expression, ColumnRef):
        return not expression.stored or expression.origin in unbounded
    return isinstance(expression, Subquery | Window) or (
        isinstance(expression, Call) and expression.op in CASTS
    )


def _summed(aggregate: Aggregate) -> Iterator[Expr]:
    """Yield the values whose bounds decide about noise."""
    if statistic_of(aggregate).needs_bounds:
        yield from aggregate.arguments


def _width(value: Expr) -> Fraction:
    low, high = value.facts.low, value.facts.high
    if not isinstance(low, Fraction) or not isinstance(high, Fraction):
        return Fraction(0)  # NULL, of which nothing is known or needed
    return high - low
