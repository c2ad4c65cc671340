"""Arithmetic: bounds by interval arithmetic, grids by common divisors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from sanql.errors import Refused
from sanql.parse import intervals
from sanql.parse.functions.facts import (
    BIGINT_RANGE,
    Rule,
    any_nullable,
    common_grid,
    constant_integer,
    interval_or_point,
    need,
    number,
    numeric_kind,
)
from sanql.parse.intervals import Interval
from sanql.parse.tree import NUMERIC, Expr, Facts, Type


def _arithmetic(
    name: str,
    combine: Callable[[Interval, Interval], Interval],
    grid: Callable[[Fraction, Fraction], Fraction],
) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        a, b = (interval_or_point(arg) for arg in args)
        both = combine(a, b) if a is not None and b is not None else None
        grids = [arg.facts.grid for arg in args]
        step = grid(grids[0], grids[1]) if grids[0] and grids[1] else None
        return number(numeric_kind(args), both, any_nullable(args), step)

    return rule


def _negative(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "minus")
    a = interval_or_point(args[0])
    return number(
        numeric_kind(args),
        intervals.negate(a) if a else None,
        any_nullable(args),
        args[0].facts.grid,
    )


def _division(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "division")
    a, b = (interval_or_point(arg) for arg in args)
    result = None
    if a is not None and b is not None:
        whole = args[1].facts.type is Type.INTEGER
        result = intervals.divide_by_integer(a, b) if whole else intervals.divide(a, b)
    return number(Type.REAL, result, nullable=True)


def _whole_only(args: tuple[Expr, ...], name: str) -> tuple[Interval, Interval]:
    need(args, frozenset({Type.INTEGER}), name)
    a, b = (interval_or_point(arg) or BIGINT_RANGE for arg in args)
    return a, b


def _integer_division(args: tuple[Expr, ...]) -> Facts:
    a, b = _whole_only(args, "integer division //")
    low, high = intervals.divide_by_integer(a, b) or (Fraction(0), Fraction(0))
    return number(Type.INTEGER, (Fraction(math.floor(low)), Fraction(math.ceil(high))), True)


def _modulo(args: tuple[Expr, ...]) -> Facts:
    a, b = _whole_only(args, "modulo %")
    return number(Type.INTEGER, intervals.remainder(a, b), nullable=True)


def _absolute(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "ABS")
    a = interval_or_point(args[0])
    bounds = intervals.absolute(a) if a else None
    return number(numeric_kind(args), bounds, any_nullable(args), args[0].facts.grid)


def _sign(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "SIGN")
    return number(Type.INTEGER, (Fraction(-1), Fraction(1)), any_nullable(args))


def _round(args: tuple[Expr, ...]) -> Facts:
    need(args[:1], NUMERIC, "ROUND")
    digits = constant_integer(args[1], "ROUND's number of digits", -15, 15)
    value = args[0]
    a = interval_or_point(value)
    if value.facts.type is Type.INTEGER:
        if digits >= 0:
            return value.facts
        if a is None or max(abs(a[0]), abs(a[1])) > 2**52:
            raise Refused(
                "rounding_unbounded",
                "ROUND to tens, hundreds … needs a whole number with declared bounds",
                "declare bounds for the column, or use ROUND(x, 0)",
            )
    step = Fraction(10) ** -digits
    bounds = intervals.round_outward(a, digits) if a else None
    return number(numeric_kind(args[:1]), bounds, value.facts.nullable, step)


def _to_whole(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        if args[0].facts.type is Type.INTEGER:
            return args[0].facts
        a = interval_or_point(args[0])
        if a is None or max(abs(a[0]), abs(a[1])) > 2**52:
            bounds = intervals.round_outward(a, 0) if a is not None else None
            return number(Type.REAL, bounds, True, Fraction(1))
        return number(Type.INTEGER, intervals.round_outward(a, 0), True)

    return rule


def _extreme(name: str, pick: Callable[[Sequence[Fraction]], Fraction]) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        known = [arg for arg in args if arg.facts.type is not Type.NULL]
        # NULL operands are passed over, so the result is NULL only when all of them are, and it
        # may be any operand that is not NULL: bounds hold for every nonempty subset
        nullable = all(arg.facts.nullable for arg in args)
        lows = [arg.facts.low for arg in known]
        highs = [arg.facts.high for arg in known]
        sure = [arg for arg in known if not arg.facts.nullable]
        low, high = _extreme_bounds(pick, lows, highs, sure)
        grids = [arg.facts.grid for arg in known]
        grid = grids[0] if grids else None
        for other in grids[1:]:
            grid = common_grid(grid, other) if grid and other else None
        kind = numeric_kind(args)
        interval = (low, high) if low is not None and high is not None else None
        if kind is Type.INTEGER and interval is None:
            interval = BIGINT_RANGE
        facts = number(kind, interval, nullable, grid)
        return facts if interval else Facts(kind, low, high, nullable, grid)

    return rule


def _extreme_bounds(
    pick: Callable[[Sequence[Fraction]], Fraction],
    lows: Sequence[object],
    highs: Sequence[object],
    sure: Sequence[Expr],
) -> tuple[Fraction | None, Fraction | None]:
    known_lows = [low for low in lows if isinstance(low, Fraction)]
    known_highs = [high for high in highs if isinstance(high, Fraction)]
    low = min(known_lows) if len(known_lows) == len(lows) and known_lows else None
    high = max(known_highs) if len(known_highs) == len(highs) and known_highs else None
    sure_lows = [arg.facts.low for arg in sure if isinstance(arg.facts.low, Fraction)]
    sure_highs = [arg.facts.high for arg in sure if isinstance(arg.facts.high, Fraction)]
    if pick is max and sure_lows:  # the greatest is at least every operand that is surely there
        low = max([*sure_lows, *([low] if low is not None else [])])
    if pick is min and sure_highs:
        high = min([*sure_highs, *([high] if high is not None else [])])
    return low, high


ARITHMETIC: dict[str, Rule] = {
    "add": _arithmetic("+", intervals.add, common_grid),
    "subtract": _arithmetic("-", intervals.subtract, common_grid),
    "multiply": _arithmetic("*", intervals.multiply, lambda a, b: a * b),
    "negate": _negative,
    "divide": _division,
    "integer_divide": _integer_division,
    "modulo": _modulo,
    "abs": _absolute,
    "sign": _sign,
    "round": _round,
    "floor": _to_whole("FLOOR"),
    "ceil": _to_whole("CEIL"),
    "trunc": _to_whole("TRUNC"),
    "least": _extreme("LEAST", min),
    "greatest": _extreme("GREATEST", max),
}
