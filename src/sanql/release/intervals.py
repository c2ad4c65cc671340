"""Intervals carried through the arithmetic an analyst writes around aggregates."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sanql.parse.tree import AggregateRef, Call, Expr, Literal, walk
from sanql.plan import Plan
from sanql.plan.measurements import measurements_of
from sanql.release.bands import Band
from sanql.release.cells import NoisyCells
from sanql.release.finish import Finish, finished_band, finished_value


def output_band(
    plan: Plan,
    cells: NoisyCells,
    expression: Expr,
    confidence: Fraction,
    finish: Finish,
    shown: NoisyCells,
) -> Band | None:
    """Return the interval of an output column, or None where it has none.

    It is that of the cells as measured. Where other values are `shown` in their place, the interval of
    each aggregate is widened to hold its value, and then that of the column holds the column's: what
    is computed from intervals holds whatever is computed from numbers in them.
    """
    used = {node.index for node in walk(expression) if isinstance(node, AggregateRef)}
    if not used:
        return None
    resting = frozenset().union(*(measurements_of(plan.estimates[index]) for index in used))

    def leaf(index: int) -> Band:
        band = finished_band(plan, cells, index, confidence, len(resting), finish)
        if shown is cells:
            return band
        values = finished_value(plan, shown, index, finish)
        return _holding(band, values.to_numpy(zero_copy_only=False))

    with np.errstate(all="ignore"):
        return _band(expression, leaf, cells.count)


def _holding(band: Band, values: np.ndarray) -> Band:
    """Return the band widened to hold these values, those that there are."""
    return Band(np.fmin(band.low, values), np.fmax(band.high, values))


def _band(expression: Expr, leaf: Callable[[int], Band], count: int) -> Band | None:
    match expression:
        case AggregateRef(index):
            return leaf(index)
        case Literal(int() | Fraction() as value) if not isinstance(value, bool):
            constant = np.full(count, float(value))
            return Band(constant, constant)
        case Call(op, args) if op in OPERATORS:
            parts = [_band(arg, leaf, count) for arg in args[: ARITY.get(op, len(args))]]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            return OPERATORS[op](expression, *known)
        case _:
            return None


def _corners(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Callable[..., Band]:
    def combine(expression: Call, a: Band, b: Band) -> Band:
        ends = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Band(np.minimum.reduce(ends), np.maximum.reduce(ends))

    return combine


def _divide(expression: Call, a: Band, b: Band) -> Band:
    quotient = _corners(np.divide)(expression, a, b)
    through_zero = (b.low <= 0) & (b.high >= 0)
    return Band(
        np.where(through_zero, -np.inf, quotient.low), np.where(through_zero, np.inf, quotient.high)
    )


def _absolute(expression: Call, a: Band) -> Band:
    low, high = np.abs(a.low), np.abs(a.high)
    inside = (a.low <= 0) & (a.high >= 0)
    return Band(np.where(inside, 0.0, np.minimum(low, high)), np.maximum(low, high))


def _monotone(function: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Band]:
    return lambda expression, a: Band(function(a.low), function(a.high))


def _round(expression: Call, a: Band) -> Band:
    digits = expression.args[1]
    places = digits.value if isinstance(digits, Literal) and isinstance(digits.value, int) else 0
    step = 10.0**-places
    return Band(np.floor(a.low / step) * step, np.ceil(a.high / step) * step)


def _pick(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., Band]:
    def combine(expression: Call, *bands: Band) -> Band:
        result = bands[0]
        for band in bands[1:]:
            result = Band(function(result.low, band.low), function(result.high, band.high))
        return result

    return combine


ARITY = {"round": 1, "nullif": 1}
OPERATORS: dict[str, Callable[..., Band]] = {
    "add": lambda expression, a, b: Band(a.low + b.low, a.high + b.high),
    "subtract": lambda expression, a, b: Band(a.low - b.high, a.high - b.low),
    "multiply": _corners(np.multiply),
    "divide": _divide,
    "negate": lambda expression, a: Band(-a.high, -a.low),
    "abs": _absolute,
    "round": _round,
    "floor": _monotone(np.floor),
    "ceil": _monotone(np.ceil),
    "trunc": _monotone(np.trunc),
    "sqrt": _monotone(lambda x: np.sqrt(np.maximum(x, 0.0))),
    "exp": _monotone(np.exp),
    "least": _pick(np.minimum),
    "greatest": _pick(np.maximum),
    "nullif": lambda expression, a: a,
    "cast_real": lambda expression, a: a,
}
