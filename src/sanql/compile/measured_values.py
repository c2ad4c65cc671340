"""The values that are measured, as SQL: on their grid, within their bounds, one for each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sanql.compile.expressions.emitter import Emitter
from sanql.compile.expressions.values import clamp_or_nan, clamp_to_bounds, real
from sanql.compile.grid import on_grid
from sanql.compile.group_keys import KeyWriter
from sanql.measurements import Leaves, Measured, Measurement
from sanql.question import ColumnRef, Expr, Type

SqlLayer = Callable[[str], str]


@dataclass(frozen=True)
class Layers:
    """SQL over one row, and what is made of it step by step, each over the name of the one before.

    Grids and clamps write what they hold up to five times, and twenty copies of one argument in each of
    a dozen statistics are more than the engine can plan.
    """

    text: str
    above: tuple[SqlLayer, ...] = ()

    def then(self, layer: SqlLayer) -> Layers:
        """Return these with one more, which may write what it is given several times."""
        return Layers(self.text, (*self.above, layer))

    def within(self, layer: SqlLayer) -> Layers:
        """Return these with one that writes what it is given once, and so needs no name for it."""
        if not self.above:
            return Layers(layer(self.text))
        *below, last = self.above
        return Layers(self.text, (*below, lambda name: layer(last(name))))


def measured_value(part: Measurement, emitter: Emitter, keys: KeyWriter) -> Layers:
    """Return what a measurement reads of one row: whole steps of its grid, within its bounds."""
    expression = part.expression
    assert expression is not None  # noqa: S101  (only measurements with a value come here)
    if part.kind is Measured.SUM and part.low == part.high and not expression.facts.nullable:
        # it may be free, so nothing is computed of the row
        return Layers(str(part.low + part.centre))
    if part.kind in (Measured.VALUES, Measured.UNITS):
        text = emitter.sql(expression)
        if expression.facts.type is Type.REAL:
            return Layers(f"system.main.isfinite({text}) OR NULL")
        return Layers(f"({text} IS NOT NULL) OR NULL")
    if part.kind is Measured.DISTINCT:
        return Layers(keys.gridded(expression))
    if part.values:
        position = "system.main.list_position({}, {})"
        listed = keys.listed(expression, part.values)
        return Layers(f"{position.format(listed, keys.grouped(expression))} - 1")
    if part.leaves is not None:
        bottom, width = part.leaves.bottom, part.leaves.width
        steps = measured_value(replace(part, leaves=None, **_steps_of(part.leaves)), emitter, keys)
        return steps.within(lambda text: f"(({text}) - ({bottom})) // {width}")
    value = _steps(part, expression, emitter)
    if not _clamped_on_reading(part):
        ends = str(part.low + part.centre), str(part.high + part.centre)
        value = value.then(lambda steps: clamp_to_bounds(steps, *ends, check_finite=False))
    if not expression.facts.nullable:
        # The sensitivity counts on a value in every row; what floating point makes of one
        # (an infinity from a logarithm of what should not be zero) must not take it away.
        value = value.within(lambda steps: f"coalesce({steps}, {part.low + part.centre})")
    return value


def value_column(measurements: Sequence[Measurement], index: int) -> int:
    """Return the measurement whose column has this one's values: a sum's serves its count."""
    part = measurements[index]
    if part.kind is Measured.VALUES:
        for other, summed in enumerate(measurements):
            if summed.kind is Measured.SUM and summed.expression == part.expression:
                return other
    return index


def _steps(part: Measurement, expression: Expr, emitter: Emitter) -> Layers:
    """Return a number of one row in whole steps of its grid."""
    if expression.facts.type is not Type.REAL:
        return Layers(f"CAST({emitter.sql(expression)} AS BIGINT)")
    low, high = expression.facts.low, expression.facts.high
    assert isinstance(low, Fraction) and isinstance(high, Fraction)  # noqa: S101
    ends = real(low), real(high)

    def gridded(value: str) -> str:
        return on_grid(f"({clamp_or_nan(value, *ends)})", part.grid)

    if _is_stored(expression):
        return Layers(gridded(emitter.unbounded(expression)))
    return Layers(emitter.sql(expression)).then(gridded)


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
