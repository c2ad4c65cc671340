"""Intervals of output columns, propagated through the arithmetic written around aggregates."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sanql.answer.display import Display, displayed_band, displayed_value
from sanql.answer.estimates import may_be_null
from sanql.answer.interval_functions import (
    ARITY,
    CHOICES,
    OPERATORS,
    PropagatedBand,
    constant,
    propagate_bands,
)
from sanql.measurements import Band, NoisyCells
from sanql.plan import Level
from sanql.question import AggregateRef, Call, Expr, Literal, Query, walk

BandOfAggregate = Callable[[int], PropagatedBand | None]


def output_band(
    level: Level,
    cells: NoisyCells,
    expression: Expr,
    confidence: Fraction,
    display: Display,
    shown: NoisyCells,
) -> Band | None:
    """Return the interval of an output column, or None where it has none.

    It is that of the cells as measured. Where other values are `shown` in their place, the interval of
    each aggregate is widened to hold its value, and then that of the column holds the column's: what
    is computed from intervals holds whatever is computed from numbers in them.
    """
    if not _is_noisy(expression):
        return None
    used = {node.index for node in walk(expression) if isinstance(node, AggregateRef)}
    measurements = frozenset().union(*(level.estimates[index].measurements for index in used))

    chooses = any(isinstance(node, Call) and node.op in CHOICES for node in walk(expression))
    # one interval alone need not be made of those of its measurements
    together = len(measurements) if len(used) > 1 or chooses else None

    def band_of_aggregate(index: int) -> PropagatedBand | None:
        band = displayed_band(level, cells, index, confidence, together, display)
        if band is None:
            return None
        missing = np.zeros(cells.count, dtype=np.bool_)  # asked about by choices only
        if shown is cells and not chooses:
            return PropagatedBand(band, missing)
        values = displayed_value(level, shown, index, display)
        if chooses:
            missing = may_be_null(level, cells, index, confidence, len(measurements))
            missing = missing | values.is_null().to_numpy(zero_copy_only=False)
        if shown is not cells:
            band = _holding(band, values.to_numpy(zero_copy_only=False))
        return PropagatedBand(band, missing)

    with np.errstate(all="ignore"):
        propagated = _propagated(expression, band_of_aggregate, cells.count)
    return propagated.band if propagated is not None else None


def without_interval(query: Query, bands: dict[int, Band]) -> tuple[str, ...]:
    """Return the names of columns that depend on noise and have no interval among those `bands`."""
    return tuple(
        output.name
        for index, output in enumerate(query.outputs)
        if index not in bands and _is_noisy(output.expression)
    )


def _is_noisy(expression: Expr) -> bool:
    return any(isinstance(node, AggregateRef) for node in walk(expression))


def _holding(band: Band, values: np.ndarray) -> Band:
    """Return the band widened to hold these values, those that there are."""
    return Band(np.fmin(band.low, values), np.fmax(band.high, values))


def _propagated(
    expression: Expr, band_of_aggregate: BandOfAggregate, count: int
) -> PropagatedBand | None:
    match expression:
        case AggregateRef(index):
            return band_of_aggregate(index)
        case Literal(int() | Fraction() as value) if not isinstance(value, bool):
            return constant(float(value), count)
        case Call(op, args) if op in OPERATORS or op in CHOICES:
            taken = args[: ARITY.get(op, len(args))]
            if op in CHOICES:  # all of them pass over NULL
                taken = tuple(arg for arg in taken if arg != Literal(None, arg.facts))
            operands = [_propagated(arg, band_of_aggregate, count) for arg in taken]
            known = [operand for operand in operands if operand is not None]
            return (
                propagate_bands(expression, known)
                if known and len(known) == len(operands)
                else None
            )
        case _:
            return None
