"""Constants of another type than what they are compared with, read as values of that type.

Only where one value of the other type can be meant: 2 beside a text is '2' where it is asked whether they
are equal, and nothing where it is asked which is less, for '10' stands before '2'; 1 and 0 beside a
condition are TRUE and FALSE; a number in quotes beside a number is the number. Everything else is left as
it is, and refused by the operator.
"""

from __future__ import annotations

import re

from sanql.functions import call
from sanql.question import (
    NUMERIC,
    TEMPORAL,
    Expr,
    Literal,
    Type,
    boolean_literal,
    integer_literal,
    number_literal,
    temporal_literal,
    text_literal,
)

EQUALITIES = frozenset({"equal", "not_equal", "in", "distinct_from", "not_distinct_from"})
NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)
TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def fitted(op: str, *sides: Expr) -> tuple[Expr, ...]:
    """Return the operands of a comparison, constants as values of the type of what is no constant."""
    kinds = {side.facts.type for side in sides if not isinstance(side, Literal)}
    if len(kinds) != 1:
        return as_dates(*sides)
    (kind,) = kinds
    if kind in TEMPORAL:
        return as_dates(*sides)
    return tuple(
        _fitted(side, kind, op in EQUALITIES) if isinstance(side, Literal) else side
        for side in sides
    )


def _fitted(constant: Literal, kind: Type, equality: bool) -> Literal:
    value = constant.value
    if kind in NUMERIC and isinstance(value, str) and NUMBER.fullmatch(value):
        number = number_literal(value.removeprefix("-"))
        return _negative(number) if value.startswith("-") else number
    if not equality:
        return constant
    if kind in NUMERIC and isinstance(value, bool):
        return integer_literal(int(value))
    if kind is Type.TEXT and isinstance(value, int) and not isinstance(value, bool):
        return text_literal(str(value))
    if kind is Type.BOOLEAN and not isinstance(value, bool) and isinstance(value, int | str):
        truth = TRUTHS.get(str(value).lower())
        return constant if truth is None else boolean_literal(truth)
    return constant


def _negative(number: Literal) -> Literal:
    return Literal(-number.value, call("negate", number).facts)  # type: ignore[operator]


def as_dates(*sides: Expr) -> tuple[Expr, ...]:
    """Return the operands with quoted dates read as dates where another operand is one."""
    temporal = [side.facts.type for side in sides if side.facts.type in TEMPORAL]
    if not temporal:
        return sides
    target = temporal[0]
    return tuple(
        _quoted_date(side.value, target)
        if isinstance(side, Literal) and isinstance(side.value, str)
        else side
        for side in sides
    )


def _quoted_date(text: str, kind: Type) -> Literal:
    longer = len(text.strip()) > 10
    return temporal_literal(
        text, Type.TIMESTAMP if longer else Type.DATE if kind is Type.DATE else kind
    )
