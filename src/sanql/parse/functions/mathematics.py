"""Roots, powers, exponentials and logarithms: NULL where the mathematics has no value."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sanql.parse import intervals
from sanql.parse.functions.facts import Rule, any_nullable, interval_or_point, need, number
from sanql.parse.intervals import Interval
from sanql.parse.tree import NUMERIC, Expr, Facts, Literal, Type


def _monotone(name: str, function: Callable[[float], float], domain_low: float | None) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        a = interval_or_point(args[0])
        bounds: Interval | None = None
        if a is not None and a[1] <= 700:
            low = a[0] if domain_low is None else max(a[0], Fraction(domain_low))
            if low <= a[1] and (name != "LN" or float(low) > 0):
                slack = Fraction(1, 2**40)
                ends = (Fraction(function(float(low))), Fraction(function(float(a[1]))))
                bounds = (
                    ends[0] - slack * (1 + abs(ends[0])),
                    ends[1] + slack * (1 + abs(ends[1])),
                )
        return number(Type.REAL, bounds, nullable=True)

    return rule


def _square_root(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "SQRT")
    a = interval_or_point(args[0])
    if a is None:
        return number(Type.REAL, None, True)
    top = Fraction(math.isqrt(math.ceil(max(a[1], Fraction(0)))) + 1)
    return number(Type.REAL, (Fraction(0), top), nullable=True)


def _power(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "POWER")
    a = interval_or_point(args[0])
    exponent = args[1].value if isinstance(args[1], Literal) else None
    if a is not None and isinstance(exponent, int) and 0 <= exponent <= 16:
        return number(Type.REAL, intervals.power(a, exponent), any_nullable(args))
    return number(Type.REAL, None, nullable=True)


MATHEMATICS: dict[str, Rule] = {
    "sqrt": _square_root,
    "ln": _monotone("LN", math.log, 0.0),
    "exp": _monotone("EXP", math.exp, None),
    "power": _power,
}
