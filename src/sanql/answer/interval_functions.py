"""Interval arithmetic for functions: the interval of a result from the intervals of its operands.

A function that rises or falls throughout maps the ends. Ends that a library computes are moved outward
by more than its error, and roundings go outward, so an end is never inside by a digit. An end is
infinite where nothing is known, and NaN where a value cannot be told.

`missing` says where a value may be NULL at some point of the intervals it is computed from: there
COALESCE, LEAST and GREATEST may pass it over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sanql.functions import CAST_RANGES, constant_number
from sanql.measurements import Band, Reals
from sanql.question import Call, Literal

SLACK = 1e-14  # relative, far more than the error of a logarithm or a power in either library
BASE_LEAST = 2.0**-20  # of a logarithm's logarithm: nearer to one, rounding would decide
Mask = NDArray[np.bool_]
Function = Callable[[Reals], Reals]


@dataclass(frozen=True)
class PropagatedBand:
    """An interval for every group, and where the value inside it may be NULL."""

    band: Band
    missing: Mask


def constant(value: float, count: int) -> PropagatedBand:
    """Return a number that the analyst wrote, which is its own interval."""
    ends = np.full(count, value)
    return PropagatedBand(Band(ends, ends), np.zeros(count, dtype=np.bool_))


def propagate_bands(expression: Call, operands: list[PropagatedBand]) -> PropagatedBand | None:
    """Return the interval of a function of intervals, or None for a function that has none."""
    op = expression.op
    if op in CHOICES:
        return CHOICES[op](operands)
    bands = [operand.band for operand in operands]
    band = OPERATORS[op](expression, *bands)
    if band is None:
        return None
    missing = ~(np.isfinite(band.low) & np.isfinite(band.high))
    for operand in operands:
        missing = missing | operand.missing
    return PropagatedBand(band, missing | _undefined(expression, bands[0]))


def _undefined(expression: Call, a: Band) -> Mask:
    """Return where a function with a finite interval may still be NULL at some point of its operand."""
    match expression.op:
        case "sqrt" | "power":
            number = constant_number(expression.args[1]) if expression.op == "power" else None
            whole = number is not None and number.denominator == 1
            return (a.low < 0) & (not whole)
        case "nullif":
            other = constant_number(expression.args[1])
            if other is None:
                return np.ones_like(a.low, dtype=np.bool_)
            return (a.low <= float(other)) & (a.high >= float(other))
        case op if op in CASTS:
            low, high = CASTS[op]
            return (a.low <= low) | (a.high >= high)
        case _:
            return np.zeros_like(a.low, dtype=np.bool_)


def _coalesced(operands: list[PropagatedBand]) -> PropagatedBand:
    """Return the first that is not NULL: where one may be missing, the next may stand for it."""
    band, missing = operands[0].band, operands[0].missing
    for operand in operands[1:]:
        low, high = np.minimum(band.low, operand.band.low), np.maximum(band.high, operand.band.high)
        band = Band(np.where(missing, low, band.low), np.where(missing, high, band.high))
        missing = missing & operand.missing
    return PropagatedBand(band, missing)


def _least(operands: list[PropagatedBand]) -> PropagatedBand:
    """Return the least of those that are not NULL: at most each that is surely there."""
    highs = np.array([operand.band.high for operand in operands])
    missing = np.array([operand.missing for operand in operands])
    none: Mask = np.logical_and.reduce(missing)
    sure = np.where(missing & ~np.isnan(highs), np.inf, highs).min(axis=0)
    low = np.minimum.reduce([operand.band.low for operand in operands])
    return PropagatedBand(Band(low, np.where(none, highs.max(axis=0), sure)), none)


def _greatest(operands: list[PropagatedBand]) -> PropagatedBand:
    turned = _least(
        [PropagatedBand(_negated(operand.band), operand.missing) for operand in operands]
    )
    return PropagatedBand(_negated(turned.band), turned.missing)


def _negated(a: Band) -> Band:
    return Band(-a.high, -a.low)


def _corners(function: Callable[[Reals, Reals], Reals]) -> Callable[..., Band]:
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


def _rising(function: Function) -> Callable[..., Band]:
    """Return what an exact function that never falls makes of an interval."""
    return lambda expression, a: Band(function(a.low), function(a.high))


def _loosened(band: Band) -> Band:
    return Band(band.low - SLACK * np.abs(band.low), band.high + SLACK * np.abs(band.high))


def _computed(function: Function) -> Callable[..., Band]:
    """Return what a computed function that never falls makes of an interval."""
    return lambda expression, a: _loosened(Band(function(a.low), function(a.high)))


def _logarithm(a: Band) -> Band:
    """Return the natural logarithm of an interval: without a lower end where it reaches zero."""
    there = Band(np.log(np.maximum(a.low, 0.0)), np.log(np.maximum(a.high, 0.0)))
    return _only_where(a.high > 0, _loosened(there))


def _only_where(defined: Mask, band: Band) -> Band:
    """Return no interval at all, one that ends before it starts, where every point is NULL."""
    return Band(np.where(defined, band.low, np.inf), np.where(defined, band.high, -np.inf))


def _log(expression: Call, base: Band, a: Band) -> Band | None:
    number = constant_number(expression.args[0])
    if number is None or number <= 0 or abs(np.log(float(number))) < BASE_LEAST:
        return None
    natural, turns = _logarithm(a), float(np.log(float(number)))
    ends = natural.low / turns, natural.high / turns
    return _loosened(Band(*ends) if turns > 0 else Band(*ends[::-1]))


def _power(expression: Call, a: Band, exponent: Band) -> Band | None:
    """Return a constant power of an interval.

    Whole powers have their extremes at the ends and at zero: even ones are least there, and negative
    ones have no end. Others are only of what is not negative, and rise or fall there.
    """
    number = constant_number(expression.args[1])
    if number is None:
        return None
    through_zero = (a.low <= 0) & (a.high >= 0)
    if number.denominator != 1:
        a = Band(np.maximum(a.low, 0.0), np.maximum(a.high, 0.0))
    ends = np.power(a.low, float(number)), np.power(a.high, float(number))
    low, high = np.minimum(*ends), np.maximum(*ends)
    if number < 0:
        low, high = np.where(through_zero, -np.inf, low), np.where(through_zero, np.inf, high)
    elif number.denominator == 1 and number % 2 == 0 and number > 0:
        low = np.where(through_zero, 0.0, low)
    return _loosened(Band(low, high))


def _outward(expression: Call, a: Band) -> Band:
    """Return an interval rounded outward to digits: it holds a value rounded or cut off to them."""
    places = expression.args[1] if len(expression.args) > 1 else None
    digits = places.value if isinstance(places, Literal) and isinstance(places.value, int) else 0
    steps, size = (10.0**digits, 1.0) if digits >= 0 else (1.0, 10.0**-digits)
    low = np.floor(a.low * steps / size) * size / steps
    high = np.ceil(a.high * steps / size) * size / steps
    step = size / steps  # floating point may have landed on the inner side of an end, or nowhere
    low, high = np.where(low > a.low, low - step, low), np.where(high < a.high, high + step, high)
    return Band(np.where(np.isfinite(low), low, a.low), np.where(np.isfinite(high), high, a.high))


CASTS = {f"cast_{name}": ends for name, ends in CAST_RANGES.items()}
ARITY = {"round": 1, "truncate": 1, "nullif": 1}  # the other operand says how, and has no interval
CHOICES: dict[str, Callable[[list[PropagatedBand]], PropagatedBand]] = {
    "coalesce": _coalesced,
    "least": _least,
    "greatest": _greatest,
}
OPERATORS: dict[str, Callable[..., Band | None]] = {
    "add": lambda expression, a, b: Band(a.low + b.low, a.high + b.high),
    "subtract": lambda expression, a, b: Band(a.low - b.high, a.high - b.low),
    "multiply": _corners(np.multiply),
    "divide": _divide,
    "negate": lambda expression, a: _negated(a),
    "abs": _absolute,
    "sign": _rising(np.sign),
    "round": _outward,
    "truncate": _outward,
    "floor": _rising(np.floor),
    "ceil": _rising(np.ceil),
    "trunc": _rising(np.trunc),
    "sqrt": _rising(lambda x: np.sqrt(np.maximum(x, 0.0))),
    "cbrt": _computed(np.cbrt),
    "exp": _computed(np.exp),
    "ln": lambda expression, a: _logarithm(a),
    "log1p": lambda expression, a: _logarithm(Band(1 + a.low, 1 + a.high)),
    "log": _log,
    "power": _power,
    "nullif": lambda expression, a: a,
    "cast_real": lambda expression, a: a,
    **dict.fromkeys(CASTS, _outward),
}
