"""Which columns' bounds a question needs that San has to find, decided without a row being read.

A question that can be answered as it stands is: nothing is found that it does not need. One that
cannot is read once more with a small guess in place of all bounds that could be found; if that does
not help, its refusal stands. Otherwise those columns are left without which it could not be answered.

The range of its type is no bound of a whole number, so AVG(x / 1000) is one that cannot
(parse/expressions/type_ranges.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction

from sanql.errors import Refused
from sanql.parse import Question
from sanql.plan.find_bounds import Ends, Place, with_bounds
from sanql.policy import Column, Table
from sanql.question import ColumnRef

Read = Callable[[Mapping[str, Table]], Question]
"""Reads one text over tables that differ only in the bounds of columns."""


@dataclass(frozen=True)
class Posed:
    """A question, and the columns whose bounds must be found for it; until then they are guessed."""

    question: Question
    tables: Mapping[str, Table]
    needed: tuple[Place, ...] = ()


def pose(read: Read, tables: Mapping[str, Table]) -> Posed:
    """Return the question with the fewest columns whose bounds must be found, or its refusal."""
    found_by_san = _guesses(tables)
    if not found_by_san:
        return Posed(read(tables), tables)
    try:
        question = read(tables)
    except Refused as refused:
        return _with_needed(read, tables, found_by_san, refused)
    return Posed(question, tables)


def guessed(tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return the tables as if all bounds that San could find were found, for what is only looked at."""
    return with_bounds(tables, _guesses(tables))


def _guesses(tables: Mapping[str, Table]) -> Mapping[Place, Ends]:
    return {
        (table.name, column.name): guess(column)
        for table in tables.values()
        for column in table.columns.values()
        if column.bounds_auto
    }


def guess(column: Column, width: int = 1) -> Ends:
    """Return bounds to go on with while the true ones are unknown: positive, and so many steps wide."""
    step = column.precision if column.type != "integer" and column.precision else Fraction(1)
    return step, (1 + width) * step


def _with_needed(
    read: Read,
    tables: Mapping[str, Table],
    guesses: Mapping[Place, Ends],
    refused: Refused,
) -> Posed:
    try:
        question = read(with_bounds(tables, guesses))
    except Refused:
        raise refused from None
    needed = {place: guesses[place] for place in _read_columns(question) if place in guesses}
    for place in sorted(needed):
        fewer = {other: ends for other, ends in needed.items() if other != place}
        if _is_enough(read, with_bounds(tables, fewer)):
            needed = fewer
    guessed = with_bounds(tables, needed)
    return Posed(read(guessed), guessed, tuple(sorted(needed)))


def _is_enough(read: Read, tables: Mapping[str, Table]) -> bool:
    try:
        read(tables)
    except Refused:
        return False
    return True


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
