"""The values of statistics: numbers with bounds, what is computed from them, and why others are refused.

Second moments are sums of ordinary expressions. With c the middle of the bounds and h half their width,
x - c lies in [-h, h] and its square in [0, h²]. Measured like any sum whose rows are counted, the square
is centred once more, so that one row moves it by at most h²/2. Then with n the count, u and v the means
of x - c and (x - c)²,

    variance = v - u²,    covariance of x and y = w - u_x u_y,    w the mean of (x - c_x)(y - c_y).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sanql.errors import Refused
from sanql.functions import call
from sanql.measurements import Measurement
from sanql.question import (
    NULL,
    NUMERIC,
    Expr,
    Facts,
    Literal,
    Type,
    integer_literal,
    stating_bounds,
)
from sanql.statistics.statistic import Written

STEPS_MAX = 2**24  # more would make sums of many rows reach the largest whole number


def when(condition: Expr) -> Expr:
    """Return 1 where a condition is true, and NULL elsewhere."""
    return call("case", condition, integer_literal(1), NULL)


def as_number(value: Expr) -> Expr:
    """Return a condition as 1 or 0, and any other value as it is."""
    if value.facts.type is not Type.BOOLEAN:
        return value
    one, zero = integer_literal(1), integer_literal(0)
    return call("case", value, one, call("not", value), zero, NULL)


def number_bounds(written: Written, argument: Expr) -> tuple[Fraction, Fraction]:
    """Return the bounds of a number, or refuse what is none or has none."""
    if argument.facts.type not in NUMERIC:
        raise _not_a_number(argument.facts.type, written)
    low, high = argument.facts.low, argument.facts.high
    unlimited = argument.facts.type is Type.INTEGER and max(abs(low), abs(high)) >= 2**62  # type: ignore[arg-type]
    if unlimited or not isinstance(low, Fraction) or not isinstance(high, Fraction):
        raise no_bounds(written.text, written.name)
    return low, high


def _not_a_number(kind: Type, written: Written) -> Refused:
    name, text = written.name, written.text
    if kind in (Type.DATE, Type.TIMESTAMP):
        return Refused(
            "type_mismatch",
            f"{text} needs a number, and has dates",
            f"ask for a number of them: {name}(YEAR(x)), or {name}(DATE_DIFF('day', DATE '2020-01-01', "
            "x)) for days since a day of your own",
        )
    counted = "COUNT(DISTINCT x)" if name.upper() in ("MIN", "MAX") else "COUNT(x)"
    return Refused(
        "type_mismatch",
        f"{text} needs a number",
        f"use {counted}, {name}(CASE WHEN … THEN 1 ELSE 0 END), or CAST a text that holds numbers",
    )


def check_some_value(written: Written) -> None:
    """Refuse a statistic of the values of NULL, which has none."""
    if written.argument.facts.type is Type.NULL:
        raise Refused(
            "type_mismatch",
            f"{written.text} is of NULL alone, which is no value",
            f"name a column, or CAST it to the type that is meant: {written.name}(CAST(NULL AS VARCHAR))",
        )


def no_bounds(text: str, name: str) -> Refused:
    """Return the refusal of a statistic of a value that nothing bounds."""
    return Refused(
        "bounds_missing",
        f"{text} has no bounds, so one row could change it without limit",
        'let the owner declare bounds for the column, or bounds = "auto" for San to find them; or state '
        "your own in the question: " + stating_bounds(name),
    )


def centred(argument: Expr, part: Measurement) -> Expr:
    """Return a value less the middle of its bounds, as its centred sum takes it."""
    return less(argument, part.centre * part.grid)


def less(value: Expr, middle: Fraction) -> Expr:
    """Return value - middle, as a real number."""
    grid = value.facts.grid
    on_grid = grid is not None and (middle / grid).denominator == 1
    facts = Facts(Type.REAL, middle, middle, nullable=False, grid=grid if on_grid else None)
    return call("subtract", value, Literal(middle, facts))


def squared(value: Expr) -> Expr:
    """Return the square of a value, which is never negative."""
    square = call("power", value, integer_literal(2))
    grid = value.facts.grid
    return _coarse(replace(square, facts=replace(square.facts, grid=grid and grid * grid)))


def multiplied(value: Expr, other: Expr) -> Expr:
    """Return the product of two values."""
    return _coarse(call("multiply", value, other))


def _coarse(product: Expr) -> Expr:
    """Return the product without a grid of its own where that would be too fine to sum on."""
    facts = product.facts
    if not isinstance(facts.low, Fraction) or not isinstance(facts.high, Fraction):
        return product  # beyond any number: it is refused where it is to be summed
    fine = facts.grid is not None and facts.high - facts.low > STEPS_MAX * facts.grid
    return replace(product, facts=replace(facts, grid=None)) if fine else product


def held(value: Expr, low: Fraction, high: Fraction) -> Expr:
    """Return the value moved to the nearer of two ends around 0, in its own steps; NULL stays NULL."""
    facts = value.facts
    assert isinstance(facts.low, Fraction) and isinstance(facts.high, Fraction)  # noqa: S101
    low, high = max(low, min(facts.low, Fraction(0))), min(high, max(facts.high, Fraction(0)))
    step = Fraction(1) if facts.type is Type.INTEGER else facts.grid
    if step is not None:
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    ends = [
        integer_literal(int(end))
        if facts.type is Type.INTEGER
        else Literal(end, Facts(Type.REAL, end, end, nullable=False, grid=step))
        for end in (low, high)
    ]
    moved = call("greatest", ends[0], call("least", ends[1], value))
    return call("case", call("is_null", value), NULL, moved) if facts.nullable else moved


def where_both(value: Expr, other: Expr) -> Expr:
    """Return the value in rows where the other one is there too."""
    if not other.facts.nullable:
        return value
    return call("case", call("not", call("is_null", other)), value, NULL)
