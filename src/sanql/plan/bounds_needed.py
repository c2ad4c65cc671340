"""Which columns need bounds found by San before a question can be answered; no row is read to tell.

A question that can be answered as it stands is: nothing is found that it does not need. One that
cannot is read once more with a small guess in place of all bounds that could be found; if that does
not help, its refusal stands. Otherwise those columns are left without which it could not be answered.

The range of its type is no bound of a whole number, so AVG(x / 1000) is one that cannot
(parse/expressions/type_ranges.py).

Columns of public tables have their range there: it is read for those without which a question could not
be answered, before any bounds are found that cost something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction

from sanql.errors import Refused
from sanql.parse import Question
from sanql.plan.find_bounds import Ends, QualifiedColumn, with_bounds
from sanql.policy import Column, Table
from sanql.question import ColumnRef

ParseOver = Callable[[Mapping[str, Table]], Question]
"""Parses one text over tables that differ only in the bounds of columns."""
ReadRanges = Callable[[Sequence[QualifiedColumn]], Mapping[QualifiedColumn, Ends]]
"""Reads the ranges of columns of public tables; one without values has none."""


@dataclass(frozen=True)
class ParsedQuestion:
    """A parsed question, and the columns whose bounds must be found for it; they are guessed so far."""

    question: Question
    tables: Mapping[str, Table]
    bounds_needed: tuple[QualifiedColumn, ...] = ()


def parse_guessing_bounds(
    parse_over: ParseOver, tables: Mapping[str, Table], read_ranges: ReadRanges
) -> ParsedQuestion:
    """Return the parsed question with the fewest columns whose bounds must be found, or refuse it."""
    guesses, public = _guesses(tables), _public(tables)
    if not guesses and not public:
        return ParsedQuestion(parse_over(tables), tables)
    try:
        return ParsedQuestion(parse_over(tables), tables)
    except Refused as refused:
        needed = _needed(parse_over, tables, {**guesses, **public}, refused)
    ranges = read_ranges([place for place in needed if place in public])
    tables = with_bounds(tables, ranges)
    guessed = {place: ends for place, ends in needed.items() if place in guesses}
    tables_guessed = with_bounds(tables, guessed)
    return ParsedQuestion(parse_over(tables_guessed), tables_guessed, tuple(sorted(guessed)))


def with_guessed_bounds(tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return the tables with guessed bounds wherever San could find some, to try a question on."""
    return with_bounds(tables, {**_guesses(tables), **_public(tables)})


def _guesses(tables: Mapping[str, Table]) -> Mapping[QualifiedColumn, Ends]:
    return {
        (table.name, column.name): guess_bounds(column)
        for table in tables.values()
        for column in table.columns.values()
        if column.bounds_auto
    }


def _public(tables: Mapping[str, Table]) -> Mapping[QualifiedColumn, Ends]:
    """Return guesses for the numbers of public tables that nobody has declared bounds of."""
    return {
        (table.name, column.name): guess_bounds(column)
        for table in tables.values()
        for column in table.columns.values()
        if table.public and column.bounds is None and column.type in ("integer", "decimal", "float")
    }


def guess_bounds(column: Column, width: int = 1) -> Ends:
    """Return placeholder bounds for a column: positive, and `width` steps apart."""
    step = column.precision if column.type != "integer" and column.precision else Fraction(1)
    return step, (1 + width) * step


def _needed(
    parse_over: ParseOver,
    tables: Mapping[str, Table],
    guesses: Mapping[QualifiedColumn, Ends],
    refused: Refused,
) -> Mapping[QualifiedColumn, Ends]:
    """Return the fewest guesses with which a question is read; those that cost something go first."""
    try:
        question = parse_over(with_bounds(tables, guesses))
    except Refused:
        raise refused from None
    needed = {place: guesses[place] for place in _read_columns(question) if place in guesses}
    for place in sorted(needed, key=lambda place: (tables[place[0]].public, place)):
        fewer = {other: ends for other, ends in needed.items() if other != place}
        if _is_enough(parse_over, with_bounds(tables, fewer)):
            needed = fewer
    return needed


def _is_enough(parse_over: ParseOver, tables: Mapping[str, Table]) -> bool:
    try:
        parse_over(tables)
    except Refused:
        return False
    return True


def _read_columns(question: Question) -> set[QualifiedColumn]:
    """Return the columns of tables that a question reads, wherever it does."""
    columns: set[QualifiedColumn] = set()
    pending: list[object] = [question.query]
    seen: set[int] = set()  # parts of a question are shared: each is looked at once
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ColumnRef) and node.stored and node.origin is not None:
            columns.add(node.origin)
        elif isinstance(node, tuple):
            pending.extend(node)
        elif is_dataclass(node):
            pending.extend(getattr(node, field.name) for field in fields(node))
    return columns
