"""Windows as SQL: within the rows of one unit, and the same whichever of two equal rows comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanql.question import Selected, UnitAggregate, Window, walk

if TYPE_CHECKING:
    from sanql.compile.relations import RelationWriter

# functions whose value depends on which of two equal rows comes first
PLACED = frozenset(["row_number", "lag", "lead", "first_value", "last_value", "nth_value", "ntile"])
AGGREGATED = frozenset(["count", "sum", "avg", "min", "max", "bool_or", "bool_and"])
TIES = "\x00ties\x00"
"""Where the order of a window goes on with every column that is read, known once all are written."""


def window_sql(writer: RelationWriter, window: Window) -> str:
    """Return a window function over the rows of the unit that a row belongs to."""
    unit = writer.unit(window.unit_of)
    partition = [unit] if unit is not None else []
    partition += [writer.emitter.sql(key) for key in window.partition]
    order = [
        f"{writer.emitter.sql(item.expression)} {'DESC' if item.descending else 'ASC'} "
        f"NULLS {'FIRST' if item.nulls_first else 'LAST'}"
        for item in window.order
    ]
    order += [TIES] if is_placed(window) else []
    clauses = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    clauses += [f"ORDER BY {', '.join(order)}"] if order else []
    clauses += [window.frame] if window.frame else []
    over = f" OVER ({' '.join(clauses)})"
    if window.function in AGGREGATED:
        argument = window.args[0] if window.args else None
        aggregate = UnitAggregate(window.function, argument, False, window.facts)
        return writer.aggregate(aggregate, over)
    args = ", ".join(writer.emitter.sql(arg) for arg in window.args)
    return f"system.main.{window.function}({args}){over}"


def placed_windows(rows: Selected) -> set[Window]:
    """Return the windows of a SELECT whose value depends on which of two equal rows comes first."""
    expressions = [field.value for field in rows.fields] + [rows.qualify]
    return {
        node
        for expression in expressions
        if expression is not None
        for node in walk(expression)
        if isinstance(node, Window) and is_placed(node)
    }


def is_placed(window: Window) -> bool:
    """Return whether a window's value depends on which of two equal rows comes first."""
    return window.function in PLACED or window.frame.startswith("ROWS")
