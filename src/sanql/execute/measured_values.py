"""The values that are measured, as SQL: on their grid, within their bounds, one for each row."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sanql.execute.emit import Emitter, real, within, within_or_nan
from sanql.execute.grid import on_grid
from sanql.execute.group_keys import KeyWriter
from sanql.parse.tree import ColumnRef, Expr, Type
from sanql.plan.measurements import Measured, Measurement
from sanql.plan.quantiles import Leaves


def measured_value(part: Measurement, emitter: Emitter, keys: KeyWriter) -> str:
    """Return what a measurement reads of one row: whole steps of its grid, within its bounds."""
    expression = part.expression
    assert expression is not None  # noqa: S101  (only measurements with a value come here)
    if part.kind is Measured.SUM and part.low == part.high and not expression.facts.nullable:
        return str(part.low + part.centre)  # it may be free, so nothing is computed of the row
    text = emitter.sql(expression)
    if part.kind in (Measured.VALUES, Measured.UNITS):
        if expression.facts.type is Type.REAL:
            return f"system.main.isfinite({text}) OR NULL"
        return f"({text} IS NOT NULL) OR NULL"
    if part.kind is Measured.DISTINCT:
        return keys.gridded(expression)
    if part.leaves is not None:
        steps = replace(part, leaves=None, **_steps_of(part.leaves))
        return f"({measured_value(steps, emitter, keys)} - ({part.leaves.bottom})) // {part.leaves.width}"
    if expression.facts.type is Type.REAL:
        low, high = expression.facts.low, expression.facts.high
        assert isinstance(low, Fraction) and isinstance(high, Fraction)  # noqa: S101
        if _is_stored(expression):
            text = emitter.unbounded(expression)
        text = on_grid(f"({within_or_nan(text, real(low), real(high))})", part.grid)
    else:
        text = f"CAST({text} AS BIGINT)"
    if not _clamped_on_reading(part):
        bottom, top = str(part.low + part.centre), str(part.high + part.centre)
        text = within(f"({text})", bottom, top, check_finite=False)
    if not expression.facts.nullable:
        # The sensitivity counts on a value in every row; what floating point makes of one
        # (an infinity from a logarithm of what should not be zero) must not take it away.
        text = f"coalesce({text}, {part.low + part.centre})"
    return text


def _steps_of(leaves: Leaves) -> dict[str, Any]:
    """Return the fields of a sum over the grid steps that leaves are made of."""
    return {
        "kind": Measured.SUM,
        "grid": leaves.grid,
        "low": leaves.bottom,
        "high": leaves.top,
        "centre": 0,
    }


def _clamped_on_reading(part: Measurement) -> bool:
    """Return whether a column's own bounds already put its grid value between low and high.

    Reading clamps the column; turning it into grid steps is monotone, also in floating point, so it
    is enough that the two bounds land on the two ends.
    """
    if part.expression is None or not _is_stored(part.expression):
        return False
    if part.expression.facts.type is not Type.REAL:
        return True
    steps = Fraction(part.grid)
    ends = (part.expression.facts.low, part.expression.facts.high)
    landed = [
        math.floor(float(end) * float(steps.denominator) / float(steps.numerator) + 0.5)  # type: ignore[arg-type]
        for end in ends
    ]
    return landed == [part.low + part.centre, part.high + part.centre]


def _is_stored(expression: Expr) -> bool:
    """Return whether an expression is a table's column, whose bounds reading it enforces."""
    return isinstance(expression, ColumnRef) and expression.stored
