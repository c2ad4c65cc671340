"""Which columns' bounds a question needs that San has to find, decided without a row being read.

A question that can be answered as it stands is: nothing is found that it does not need. One that
cannot is read once more with a small guess in place of all bounds that could be found; if that does
not help, its refusal stands. Otherwise those columns are left without which it could not be answered.

The range of its type is no bound of a whole number: that AVG(x / 1000) could be computed with it does
not count, which shows in that another range would make the value summed much narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction

from sanql.errors import Refused
from sanql.parse import Query, Question
from sanql.parse.tree import Aggregation, ColumnRef, Expr
from sanql.plan.auto_bounds import Ends, Place, with_bounds
from sanql.policy import Column, Table

Read = Callable[[Mapping[str, Table]], Question]
"""Reads one text over tables that differ only in the bounds of columns."""

WIDE = Fraction(2**52)
COUNTS = (Aggregation.COUNT, Aggregation.COUNT_UNITS, Aggregation.COUNT_DISTINCT)


@dataclass(frozen=True)
class Posed:
    """A question, and the columns whose bounds must be found for it; until then they are guessed."""

    question: Question
    tables: Mapping[str, Table]
    needed: tuple[Place, ...] = ()


def pose(read: Read, tables: Mapping[str, Table]) -> Posed:
    """Return the question with the fewest columns whose bounds must be found, or its refusal."""
    found_by_san = {
        (table.name, column.name): guess(column)
        for table in tables.values()
        for column in table.columns.values()
        if column.bounds_auto
    }
    if not found_by_san:
        return Posed(read(tables), tables)
    try:
        question = read(tables)
    except Refused as refused:
        return _with_needed(read, tables, found_by_san, refused)
    if not _rests_on_types(question, read, tables):
        return Posed(question, tables)
    return _with_needed(read, tables, found_by_san, None)


def guess(column: Column, width: int = 1) -> Ends:
    """Return bounds to go on with while the true ones are unknown: positive, and so many steps wide."""
    step = column.precision if column.type != "integer" and column.precision else Fraction(1)
    return step, (1 + width) * step


def _with_needed(
    read: Read,
    tables: Mapping[str, Table],
    guesses: Mapping[Place, Ends],
    refused: Refused | None,
) -> Posed:
    try:
        question = read(with_bounds(tables, guesses))
    except Refused as still:
        raise refused or still from None
    needed = {place: guesses[place] for place in _read_columns(question) if place in guesses}
    for place in sorted(needed):
        fewer = {other: ends for other, ends in needed.items() if other != place}
        if _is_enough(read, with_bounds(tables, fewer)):
            needed = fewer
    guessed = with_bounds(tables, needed)
    return Posed(read(guessed), guessed, tuple(sorted(needed)))


def _is_enough(read: Read, tables: Mapping[str, Table]) -> bool:
    try:
        return not _rests_on_types(read(tables), read, tables)
    except Refused:
        return False


def _rests_on_types(question: Question, read: Read, tables: Mapping[str, Table]) -> bool:
    """Return whether the range of its type is all that bounds a value of some column to be found."""
    unbounded = {
        (table.name, column.name): (-WIDE, WIDE)
        for table in tables.values()
        for column in table.columns.values()
        if column.bounds_auto and column.bounds is None and column.type == "integer"
    }
    if not isinstance(question.query, Query) or not unbounded.keys() & set(_read_columns(question)):
        return False
    try:
        narrower = read(with_bounds(tables, unbounded)).query
    except Refused:
        return False
    assert isinstance(narrower, Query)  # noqa: S101  (the same tables are private)
    pairs = zip(_summed(question.query), _summed(narrower), strict=False)
    return any(_width(one) > 2 * _width(other) for one, other in pairs)


def _summed(query: Query) -> Iterator[Expr]:
    """Yield the values whose bounds decide about noise."""
    for aggregate in query.aggregates:
        if aggregate.kind not in COUNTS:
            yield from (part for part in (aggregate.argument, aggregate.second) if part is not None)


def _width(value: Expr) -> Fraction:
    low, high = value.facts.low, value.facts.high
    assert isinstance(low, Fraction) and isinstance(high, Fraction)  # noqa: S101  (bound already)
    return high - low


def _read_columns(question: Question) -> set[Place]:
    """Return the columns of tables that a question reads, wherever it does."""
    found: set[Place] = set()
    pending: list[object] = [question.query]
    seen: set[int] = set()  # parts of a question are shared: each is looked at once
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ColumnRef) and node.stored and node.origin is not None:
            found.add(node.origin)
        elif isinstance(node, tuple):
            pending.extend(node)
        elif is_dataclass(node):
            pending.extend(getattr(node, part.name) for part in fields(node))
    return found
