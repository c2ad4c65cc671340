"""Bounds of columns from WHERE: in the rows that pass, a column is not NULL and lies between constants.

The bounds are enforced again where the column is read, so nothing rests on this but how much noise
is needed: WHERE age BETWEEN 20 AND 30 makes SUM(age) a sum of values up to 30.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from sanql.parse.relations.scope import Item, Scope, Visible
from sanql.question import Bound, Call, ColumnRef, Expr, Facts, Literal, Type, conjuncts

EXACT_MAX = 2**52  # beyond, a comparison of whole and real numbers may round
FLIPPED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
}
Ends = tuple[Bound | None, Bound | None]


def narrow(scope: Scope, condition: Expr | None) -> None:
    """Let the columns in sight have the bounds that a condition on all rows gives them."""
    narrowed: dict[tuple[int, str], Facts] = {}
    for test in conjuncts(condition):
        for column, ends in _limits(test):
            place = (column.slot, column.name)
            known = narrowed.get(place, column.facts)
            narrowed[place] = _within(known, ends)
    if not narrowed:
        return
    scope.items[:] = [
        Item(item.alias, tuple(_narrowed(column, narrowed) for column in item.columns))
        for item in scope.items
    ]
    scope.merged.update(
        {name: _narrowed(column, narrowed) for name, column in scope.merged.items()}
    )


def _narrowed(column: Visible, facts: dict[tuple[int, str], Facts]) -> Visible:
    value = column.value
    if not isinstance(value, ColumnRef) or (value.slot, value.name) not in facts:
        return column
    return replace(column, value=replace(value, facts=facts[value.slot, value.name]))


def _within(facts: Facts, ends: Ends) -> Facts:
    low, high = facts.low, facts.high
    if ends[0] is not None:
        low = ends[0] if low is None else max(low, ends[0])
    if ends[1] is not None:
        high = ends[1] if high is None else min(high, ends[1])
    if low is not None and high is not None and low > high:  # type: ignore[operator]
        return facts  # no row is left, and any bounds hold
    return replace(facts, low=low, high=high, nullable=False)


def _limits(test: Expr) -> Iterator[tuple[ColumnRef, Ends]]:
    """Yield what one comparison with constants says of a column."""
    match test:
        case Call("between", (ColumnRef() as column, Literal() as low, Literal() as high)):
            yield column, _ends("greater_equal", low, column.facts.type)
            yield column, _ends("less_equal", high, column.facts.type)
        case Call("in", (ColumnRef() as column, *choices)):
            constants = [choice for choice in choices if isinstance(choice, Literal)]
            ends = [_ends("equal", constant, column.facts.type) for constant in constants]
            lows, highs = [low for low, _ in ends], [high for _, high in ends]
            if len(constants) == len(choices) and None not in lows and None not in highs:
                yield column, (min(lows), max(highs))  # type: ignore[type-var]
        case Call(op, (ColumnRef() as column, Literal() as constant)) if op in FLIPPED:
            yield column, _ends(op, constant, column.facts.type)
        case Call(op, (Literal() as constant, ColumnRef() as column)) if op in FLIPPED:
            yield column, _ends(FLIPPED[op], constant, column.facts.type)
        case _:
            pass


def _ends(op: str, constant: Literal, kind: Type) -> Ends:
    """Return the bounds of a value for which `value op constant` holds."""
    value = constant.value
    if kind is Type.DATE and isinstance(value, date) and not isinstance(value, datetime):
        return _step(op, value, value, timedelta(days=1))
    if kind is Type.TIMESTAMP and isinstance(value, datetime):
        return _side(op, value, value)
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return None, None
    if not -EXACT_MAX <= value <= EXACT_MAX:
        return None, None
    if kind is Type.INTEGER:
        return _step(op, Fraction(math.ceil(value)), Fraction(math.floor(value)), Fraction(1))
    if kind is Type.REAL:
        return _side(op, Fraction(value), Fraction(value))
    return None, None


def _step(op: str, above: Bound, below: Bound, step: Fraction | timedelta) -> Ends:
    """Return the bounds among whole steps; strictly less is at least one step less."""
    try:
        match op:
            case "less" if above == below:
                return None, below - step  # type: ignore[operator]
            case "greater" if above == below:
                return above + step, None  # type: ignore[operator]
            case _:
                return _side(op, above, below)
    except OverflowError:
        return None, None


def _side(op: str, above: Bound, below: Bound) -> Ends:
    match op:
        case "less" | "less_equal":
            return None, below
        case "greater" | "greater_equal":
            return above, None
        case _:
            return (above, below) if above <= below else (None, None)  # type: ignore[operator]
