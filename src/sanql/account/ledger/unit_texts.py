"""The text of a unit, "order_id = orders.id: person_id", with a table or a column under another name.

The first column is of the table whose unit it is; what follows ` = ` is the table that is referred to and
its key, and what follows `: ` is that table's own unit. A text that cannot be taken apart so is the name
of one column, and names in which one of these marks stands are never renamed.
"""

from __future__ import annotations

from sanql.policy import fold

MARKS = (" = ", ": ", ".")
"""What stands between the names in a unit's text."""


def with_table_renamed(text: str, table: str, to: str) -> str:
    """Return a unit's text after a table has another name.

    >>> with_table_renamed("order_id = orders.id: person_id", "Orders", "sales")
    'order_id = sales.id: person_id'
    """
    *steps, end = _steps(text)
    return _joined([(c, to if fold(t) == fold(table) else t, k) for c, t, k in steps], end[0])


def with_column_renamed(text: str, of: str, table: str, column: str, to: str) -> str:
    """Return the text of the unit `of` a table after a column of some table has another name.

    >>> with_column_renamed("id = orders.id: person_id", "items", "orders", "id", "number")
    'id = orders.number: person_id'
    >>> with_column_renamed("person_id", "people", "people", "Person_ID", "pid")
    'pid'
    """

    def named(name: str, its_table: str) -> str:
        return to if (fold(its_table), fold(name)) == (fold(table), fold(column)) else name

    *steps, end = _steps(text)
    renamed, at = [], of
    for first, referred, key in steps:
        renamed.append((named(first, at), referred, named(key, referred)))
        at = referred
    return _joined(renamed, end[0] if end[0] == "row" else named(end[0], at))


def columns_in_unit(text: str, of: str) -> set[tuple[str, str]]:
    """Return each table with a column that the text of a unit names, as SQL compares names."""
    *steps, end = _steps(text)
    found, at = set(), of
    for first, referred, key in steps:
        found |= {(fold(at), fold(first)), (fold(referred), fold(key))}
        at = referred
    return found if end[0] == "row" else found | {(fold(at), fold(end[0]))}


def _steps(text: str) -> list[tuple[str, str, str]]:
    """Return each reference of a chain, and last the column (or "row") that it leads to."""
    *references, end = text.split(": ")
    steps = []
    for reference in references:
        column, _, referred = reference.partition(" = ")
        table, _, key = referred.partition(".")
        steps.append((column, table, key))
    if _joined(steps, end) != text or not all(map(_is_whole, (*sum(steps, ()), end))):
        return [(text, "", "")]
    return [*steps, (end, "", "")]


def _joined(steps: list[tuple[str, str, str]], end: str) -> str:
    return "".join(f"{column} = {table}.{key}: " for column, table, key in steps) + end


def _is_whole(name: str) -> bool:
    return bool(name) and not any(mark in name for mark in MARKS)
