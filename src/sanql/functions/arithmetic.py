"""Arithmetic: bounds by interval arithmetic, grids by common divisors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from sanql.errors import Refused
from sanql.functions import bounds as intervals
from sanql.functions.bounds import Interval
from sanql.functions.facts import (
    Rule,
    any_nullable,
    choice,
    common_grid,
    comparable,
    constant_integer,
    interval_or_point,
    need,
    number_facts,
    numeric_kind,
)
from sanql.functions.table import Function
from sanql.question import BIGINT_RANGE, NUMERIC, Expr, Facts, Type


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
        return number_facts(numeric_kind(args), both, any_nullable(args), step)

    return rule


def _negative(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "minus")
    a = interval_or_point(args[0])
    return number_facts(
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
    return number_facts(Type.REAL, result, nullable=True)


def whole_operands(args: tuple[Expr, ...], name: str) -> tuple[Interval, Interval]:
    """Return the ranges of two whole numbers, or refuse other operands."""
    need(args, frozenset({Type.INTEGER}), name)
    a, b = (interval_or_point(arg) or BIGINT_RANGE for arg in args)
    return a, b


def _integer_division(args: tuple[Expr, ...]) -> Facts:
    a, b = whole_operands(args, "integer division //")
    low, high = intervals.divide_by_integer(a, b) or (Fraction(0), Fraction(0))
    return number_facts(Type.INTEGER, (Fraction(math.floor(low)), Fraction(math.ceil(high))), True)


def _modulo(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "MOD")
    if numeric_kind(args) is Type.REAL:
        a, b = (interval_or_point(arg) for arg in args)
        both = intervals.real_remainder(a, b) if a is not None and b is not None else None
        return number_facts(Type.REAL, both, nullable=True)
    whole = whole_operands(args, "MOD")
    return number_facts(Type.INTEGER, intervals.remainder(*whole), nullable=True)


def _absolute(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "ABS")
    a = interval_or_point(args[0])
    bounds = intervals.absolute(a) if a else None
    return number_facts(numeric_kind(args), bounds, any_nullable(args), args[0].facts.grid)


def _sign(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "SIGN")
    return number_facts(Type.INTEGER, (Fraction(-1), Fraction(1)), any_nullable(args))


def _rounding(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args[:1], NUMERIC, name)
        digits = constant_integer(args[1], f"{name}'s number of digits", -15, 15)
        value = args[0]
        a = interval_or_point(value)
        if value.facts.type is not Type.REAL:
            if digits >= 0:
                return value.facts
            if a is None or max(abs(a[0]), abs(a[1])) > 2**52:
                raise Refused(
                    "rounding_unbounded",
                    f"{name} to tens, hundreds … needs a whole number with declared bounds",
                    f"declare bounds for the column, or use {name}(x, 0)",
                )
        step = Fraction(10) ** -digits
        bounds = intervals.round_outward(a, digits) if a else None
        return number_facts(numeric_kind(args[:1]), bounds, value.facts.nullable, step)

    return rule


def _to_whole(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        if args[0].facts.type is Type.INTEGER:
            return args[0].facts
        a = interval_or_point(args[0])
        if a is None or max(abs(a[0]), abs(a[1])) > 2**52:
            bounds = intervals.round_outward(a, 0) if a is not None else None
            return number_facts(Type.REAL, bounds, True, Fraction(1))
        return number_facts(Type.INTEGER, intervals.round_outward(a, 0), True)

    return rule


def _extreme(pick: Callable[[Sequence[Fraction]], Fraction]) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        kind = comparable(args)
        if kind not in NUMERIC:
            return choice(args, all(arg.facts.nullable for arg in args))
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
        interval = (low, high) if low is not None and high is not None else None
        if kind is Type.INTEGER and interval is None:
            interval = BIGINT_RANGE
        facts = number_facts(kind, interval, nullable, grid)
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


ALWAYS = "takes every number"
WIDENED = "whole numbers are widened to 128 bits; a range beyond them is refused"
ARITHMETIC = (
    Function(
        "add", "x + y", _arithmetic("+", intervals.add, common_grid), WIDENED, "sum of the bounds"
    ),
    Function(
        "subtract",
        "x - y",
        _arithmetic("-", intervals.subtract, common_grid),
        WIDENED,
        "difference of the bounds",
    ),
    Function(
        "multiply",
        "x * y",
        _arithmetic("*", intervals.multiply, lambda a, b: a * b),
        WIDENED,
        "products of the bounds",
    ),
    Function("negate", "-x", _negative, WIDENED, "bounds turned round"),
    Function(
        "divide",
        "x / y, SAFE_DIVIDE(x, y), DIV0(x, y)",
        _division,
        "NULL where y is zero; DIV0 is 0 there",
        "quotients of the bounds; none where a real y may come close to zero",
        ("SAFE_DIVIDE",),
        (2, 2),
    ),
    Function(
        "integer_divide",
        "x // y, DIV(x, y)",
        _integer_division,
        "whole numbers only; NULL where y is zero",
        "quotients of the bounds",
        ("DIV",),
        (2, 2),
    ),
    Function(
        "modulo",
        "x % y, MOD(x, y)",
        _modulo,
        "NULL where y is zero",
        "the sign of x, not beyond x or y",
        ("MOD",),
        (2, 2),
    ),
    Function("abs", "ABS(x)", _absolute, WIDENED, "sizes of the bounds", ("ABS",)),
    Function("sign", "SIGN(x)", _sign, ALWAYS, "-1 to 1", ("SIGN",)),
    Function(
        "round",
        "ROUND(x[, digits])",
        _rounding("ROUND"),
        "digits are a constant from -15 to 15",
        "bounds rounded outward; the grid is the last digit",
        ("ROUND",),
        (1, 2),
    ),
    Function(
        "truncate",
        "TRUNC(x, digits)",
        _rounding("TRUNC"),
        "digits are a constant from -15 to 15",
        "bounds rounded outward; the grid is the last digit",
        ("TRUNC", "TRUNCATE"),
        (2, 2),
    ),
    Function(
        "floor",
        "FLOOR(x)",
        _to_whole("FLOOR"),
        ALWAYS,
        "bounds rounded outward; whole where they are below 2^52",
        ("FLOOR",),
    ),
    Function(
        "ceil",
        "CEIL(x)",
        _to_whole("CEIL"),
        ALWAYS,
        "bounds rounded outward; whole where they are below 2^52",
        ("CEIL", "CEILING"),
    ),
    Function(
        "trunc",
        "TRUNC(x)",
        _to_whole("TRUNC"),
        ALWAYS,
        "bounds rounded outward; whole where they are below 2^52",
        ("TRUNC", "TRUNCATE"),
    ),
    Function(
        "least",
        "LEAST(x, y, …)",
        _extreme(min),
        "passes over NULL; NULL when all are",
        "at most every operand that is never NULL",
        ("LEAST",),
        (1, 1000),
    ),
    Function(
        "greatest",
        "GREATEST(x, y, …)",
        _extreme(max),
        "passes over NULL; NULL when all are",
        "at least every operand that is never NULL",
        ("GREATEST",),
        (1, 1000),
    ),
)
