"""Checks that an aggregate is about the rows of the SELECT it is written in.

By SQL's rules an aggregate whose argument reads columns of an outer query alone belongs to *that* query:
`SELECT SUM((SELECT MAX(t.y) FROM p)) FROM t` would take the maximum over all of t, whoever its rows
belong to. Here an aggregate belongs to the SELECT it stands in, and one that SQL would place elsewhere
is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from sanql.errors import Refused
from sanql.question import (
    ColumnRef,
    Derived,
    Expr,
    From,
    Grouped,
    Identifier,
    Join,
    Listed,
    Rows,
    Scan,
    Selected,
    Subquery,
    Union,
    slots,
    walk,
)


def check_own_rows(argument: Expr | None, source: From, text: str) -> None:
    """Refuse an aggregate's argument that reads other rows than those of its own FROM, and none of it."""
    if argument is None:
        return
    here = slots(source)
    directly = set(_directly(argument))
    if directly & here:
        return
    inside = set(_read(argument)) - directly
    if not directly and (not inside or inside & here):
        return
    raise Refused(
        "aggregate_of_outer_row",
        f"{text} reads no column of the query it stands in, so by SQL's rules it is about the rows of "
        "the query around it",
        "leave the aggregate out and use the value itself, or aggregate what the subquery reads",
    )


def _directly(expression: Expr) -> Iterator[int]:
    """Yield the slots of columns that an expression reads outside of its subqueries."""
    return (node.slot for node in walk(expression) if isinstance(node, ColumnRef | Identifier))


def _read(expression: Expr) -> Iterator[int]:
    """Yield the slots of columns that an expression reads, but those its subqueries make themselves."""
    yield from _directly(expression)
    for node in walk(expression):
        if isinstance(node, Subquery):
            yield from set(_read_by(node.rows)) - set(_made(node.rows))


def _read_by(rows: Rows) -> Iterator[int]:
    for expression in _expressions(rows):
        yield from _read(expression)
    if isinstance(rows, Union):
        for branch in rows.branches:
            yield from _read_by(branch)
    else:
        yield from _read_by_source(rows.source)


def _read_by_source(source: From) -> Iterator[int]:
    match source:
        case Join(_, left, right, on):
            yield from _read(on) if on is not None else ()
            yield from _read_by_source(left)
            yield from _read_by_source(right)
        case Derived(_, rows):
            yield from _read_by(rows)
        case Scan() | Listed():
            pass


def _expressions(rows: Rows) -> Iterator[Expr]:
    """Yield every expression of a subquery but those of its FROM."""
    if isinstance(rows, Union):
        return
    listed: list[Expr | None] = [rows.where]
    for field in rows.fields:
        listed += [field.value, field.identity]
    match rows:
        case Selected():
            listed.append(rows.qualify)
        case Grouped():
            listed += [
                *rows.keys,
                rows.having,
                *(aggregate.argument for aggregate in rows.aggregates),
            ]
    yield from (expression for expression in listed if expression is not None)


def _made(rows: Rows) -> Iterator[int]:
    """Yield the slots of a subquery's own FROM, at any depth."""
    if isinstance(rows, Union):
        for branch in rows.branches:
            yield from _made(branch)
        return
    yield from _made_by(rows.source)


def _made_by(source: From) -> Iterator[int]:
    match source:
        case Join(_, left, right):
            yield from _made_by(left)
            yield from _made_by(right)
        case Derived(slot, rows):
            yield slot
            yield from _made(rows)
        case Scan(slot) | Listed(slot):
            yield slot
