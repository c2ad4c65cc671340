"""The values that are measured, as SQL: on their grid, within their bounds, one for each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sanql.compile.expressions.emitter import Emitter
from sanql.compile.expressions.values import clamp_or_nan, clamp_to_bounds, real
from sanql.compile.grid import on_grid
from sanql.compile.group_keys import KeyWriter
from sanql.measurements import Measured, Measurement, QuantileBins
from sanql.question import ColumnRef, Expr, Type

SqlLayer = Callable[[str], str]


@dataclass(frozen=True)
class Layers:
    """SQL for a value of one row, computed in steps, each of which names the result of the one before.

    Grids and clamps write what they hold up to five times, and twenty copies of one argument in each of
    a dozen statistics are more than the engine can plan.
    """

    text: str
    above: tuple[SqlLayer, ...] = ()

    @property
    def written(self) -> str:
        """All of it as one text, which values that are written alike have in common."""
        return "\n".join([self.text, *(layer("x") for layer in self.above)])

    def then(self, layer: SqlLayer) -> Layers:
        """Return these with one more, which may write what it is given several times."""
        return Layers(self.text, (*self.above, layer))

    def within(self, layer: SqlLayer) -> Layers:
        """Return these with one that writes what it is given once, and so needs no name for it."""
        if not self.above:
            return Layers(layer(self.text))
        *below, last = self.above
        return Layers(self.text, (*below, lambda name: layer(last(name))))


def measured_value(measurement: Measurement, emitter: Emitter, keys: KeyWriter) -> Layers:
    """Return what a measurement reads of one row: whole steps of its grid, within its bounds."""
    expression = measurement.expression
    assert expression is not None  # noqa: S101  (only measurements with a value come here)
    if measurement.kind in (Measured.VALUES, Measured.UNITS):
        text = emitter.sql(expression)
        if expression.facts.type is Type.REAL:
            return Layers(f"system.main.isfinite({text}) OR NULL")
        return Layers(f"({text} IS NOT NULL) OR NULL")
    if measurement.kind is Measured.DISTINCT:
        return Layers(keys.gridded(expression))
    if measurement.values:
        position = "system.main.list_position({}, {})"
        listed = keys.listed(expression, measurement.values)
        return Layers(f"{position.format(listed, keys.grouped(expression))} - 1")
    if measurement.quantile_bins is not None:
        return binned_value(measurement, measurement.quantile_bins, expression, emitter)
    return summed_value(measurement, expression, emitter)


def binned_value(
    measurement: Measurement, bins: QuantileBins, expression: Expr, emitter: Emitter
) -> Layers:
    """Return in which of at most 2^16 bins the value of one row is."""
    steps = replace(measurement, quantile_bins=None, **_steps_of(bins))
    bin_of = f"TRY_CAST((({{}}) - ({bins.bottom})) // {bins.width} AS USMALLINT)"
    return summed_value(steps, expression, emitter).within(bin_of.format)


def summed_value(measurement: Measurement, expression: Expr, emitter: Emitter) -> Layers:
    """Return what a sum adds of one row."""
    if measurement.low == measurement.high and not expression.facts.nullable:
        # it may be free, so nothing is computed of the row
        return Layers(str(measurement.low + measurement.centre))
    value = _steps(measurement, expression, emitter)
    if not _clamped_on_reading(measurement):
        ends = str(measurement.low + measurement.centre), str(measurement.high + measurement.centre)
        value = value.then(lambda steps: clamp_to_bounds(steps, *ends, check_finite=False))
    if not expression.facts.nullable:
        # The sensitivity counts on a value in every row; what floating point makes of one
        # (an infinity from a logarithm of what should not be zero) must not take it away.
        value = value.within(
            lambda steps: f"coalesce({steps}, {measurement.low + measurement.centre})"
        )
    return value


def layered(body: str, shortened: Sequence[str], layers: Mapping[str, Sequence[SqlLayer]]) -> str:
    """Return rows with columns replaced: each layer is written over the names of the one before."""
    depth = max(map(len, layers.values()), default=0)
    for level in range(max(depth, bool(shortened))):
        made = [f"{above[level](x)} AS {x}" for x, above in layers.items() if level < len(above)]
        replaced = ", ".join([*shortened, *made] if level == 0 else made)
        body = f"SELECT * REPLACE ({replaced}) FROM ({body})"
    return body


def value_column(measurements: Sequence[Measurement], index: int) -> int:
    """Return the measurement whose column has this one's values: a sum's serves its count, or pair."""
    measurement = measurements[index]
    if measurement.kind is Measured.BELOW and measurement.pair is not None:
        return measurement.pair.partner
    if measurement.kind is Measured.VALUES:
        for other, summed in enumerate(measurements):
            if summed.kind is Measured.SUM and summed.expression == measurement.expression:
                return other
    return index


def below(sums: str, counts: str, measurement: Measurement) -> str:
    """Return how far values are below their upper bound in all, from their sum and number.

    The sum of as many values as count stays within so many times their bounds (`LimitWriter.bounded`), so
    it is never negative, and with what they are above their lower bound it is just the width for each.
    """
    top = measurement.centre + measurement.high
    return f"({counts}::HUGEINT * {top} - {sums})"


def _steps(measurement: Measurement, expression: Expr, emitter: Emitter) -> Layers:
    """Return a number of one row in whole steps of its grid."""
    if expression.facts.type is not Type.REAL:
        return Layers(f"CAST({emitter.sql(expression)} AS BIGINT)")
    low, high = expression.facts.low, expression.facts.high
    assert isinstance(low, Fraction) and isinstance(high, Fraction)  # noqa: S101
    ends = real(low), real(high)

    def gridded(value: str) -> str:
        return on_grid(f"({clamp_or_nan(value, *ends)})", measurement.grid)

    if _is_stored(expression):
        return Layers(gridded(emitter.unbounded(expression)))
    return Layers(emitter.sql(expression)).then(gridded)


def _steps_of(bins: QuantileBins) -> dict[str, Any]:
    """Return the fields of a sum over the grid steps that bins are made of."""
    return {
        "kind": Measured.SUM,
        "grid": bins.grid,
        "low": bins.bottom,
        "high": bins.top,
        "centre": 0,
    }


def _clamped_on_reading(measurement: Measurement) -> bool:
    """Return whether a column's own bounds already put its grid value between low and high.

    Reading clamps the column; turning it into grid steps is monotone, also in floating point, so it
    is enough that the two bounds land on the two ends.
    """
    if measurement.expression is None or not _is_stored(measurement.expression):
        return False
    if measurement.expression.facts.type is not Type.REAL:
        return True
    steps = Fraction(measurement.grid)
    ends = (measurement.expression.facts.low, measurement.expression.facts.high)
    landed = [
        math.floor(float(end) * float(steps.denominator) / float(steps.numerator) + 0.5)  # type: ignore[arg-type]
        for end in ends
    ]
    return landed == [measurement.low + measurement.centre, measurement.high + measurement.centre]


def _is_stored(expression: Expr) -> bool:
    """Return whether an expression is a table's column, whose bounds reading it enforces."""
    return isinstance(expression, ColumnRef) and expression.stored
