"""Second moments as sums of ordinary expressions: squares and products of centred values.

With c the middle of the bounds and h half their width, x - c lies in [-h, h] and its square in [0, h²].
Measured like any sum whose rows are counted, the square is centred once more, so that one row moves it
by at most h²/2. Then with n the count, u and v the means of x - c and (x - c)²,

    variance = v - u²,    covariance of x and y = w - u_x u_y,    w the mean of (x - c_x)(y - c_y).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sanql.parse.constants import NULL, integer_literal
from sanql.parse.functions import call
from sanql.parse.tree import Expr, Facts, Literal, Type

STEPS_MAX = 2**24  # more would make sums of many rows reach the largest whole number


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
