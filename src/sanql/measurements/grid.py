"""The step on which the values of an expression are added up, as whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.errors import Refused
from sanql.question import Expr, Type, stating_bounds

GRID_POINTS = 2**24  # steps across the bounds of a value that has no precision of its own


GRID_POINTS_MAX = 2**52


def bounds_of(argument: Expr) -> tuple[Fraction, Fraction]:
    """Return the bounds of an expression; refuse those that are too large to be numbers."""
    low, high = argument.facts.low, argument.facts.high
    if not isinstance(low, Fraction) or not isinstance(high, Fraction):
        raise Refused(
            "bounds_too_wide",
            "the values of a statistic are so large that their products are beyond any number",
            "limit them in the question, as in GREATEST(0, LEAST(1000000, x)), or write a smaller "
            "constant",
        )
    return low, high


def grid_for(argument: Expr) -> Fraction:
    """Return the step on which the values of an expression are summed, exactly, as integers."""
    facts = argument.facts
    low, high = bounds_of(argument)
    largest = max(abs(low), abs(high))
    if facts.type is Type.INTEGER:
        if largest > GRID_POINTS_MAX:
            raise Refused(
                "bounds_too_wide",
                f"the whole numbers summed may reach {float(largest):.3g}; sums are exact only "
                f"up to {float(GRID_POINTS_MAX):.3g} a row",
                "state narrower bounds in the question: " + stating_bounds("SUM", high=1_000_000),
            )
        return Fraction(1)
    if facts.grid is not None and largest / facts.grid <= GRID_POINTS_MAX:
        return facts.grid
    width = max(high - low, largest / GRID_POINTS, Fraction(1, 2**40))
    return Fraction(2) ** math.floor(math.log2(width / GRID_POINTS))
