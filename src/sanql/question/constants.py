"""Constants as analysts write them, turned into exact values."""

from __future__ import annotations

import re
from datetime import date, datetime
from fractions import Fraction

from sanql.errors import Refused
from sanql.question.expressions import Facts, Literal, Type

_NUMBER = re.compile(r"(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?", re.ASCII)
NULL = Literal(None, Facts(Type.NULL))


def number_literal(text: str) -> Literal:
    """Return a number exactly as written.

    >>> number_literal("1.50").value
    Fraction(3, 2)
    """
    if not _NUMBER.fullmatch(text):
        raise Refused(
            "number_invalid",
            f"{text[:60]!r} is not a number that can be used",
            "write at most 40 digits, for example 12, 0.05 or 1e6",
        )
    if text.isdigit():
        whole = int(text)
        if whole >= 2**100:
            raise Refused("number_invalid", f"{text} is too large", "use a smaller number")
        return integer_literal(whole)
    value = Fraction(text)
    if abs(value) > Fraction(10) ** 300:
        raise Refused("number_invalid", f"{text} is too large", "use a smaller number")
    return Literal(value, Facts(Type.REAL, value, value, nullable=False, grid=_grid(value)))


def _grid(value: Fraction) -> Fraction | None:
    if not value:
        return Fraction(1)
    return abs(value) if value.denominator < 2**40 else None


def integer_literal(value: int) -> Literal:
    """Return a whole number."""
    exact = Fraction(value)
    grid = abs(exact) if value else Fraction(1)
    return Literal(value, Facts(Type.INTEGER, exact, exact, nullable=False, grid=grid))


def text_literal(value: str) -> Literal:
    """Return a string."""
    return Literal(value, Facts(Type.TEXT, nullable=False))


def boolean_literal(value: bool) -> Literal:
    """Return TRUE or FALSE."""
    return Literal(value, Facts(Type.BOOLEAN, nullable=False))


def temporal_literal(text: str, kind: Type) -> Literal:
    """Return a date or timestamp written in ISO form; refuse any other spelling."""
    try:
        moment: date = (
            date.fromisoformat(text.strip())
            if kind is Type.DATE
            else datetime.fromisoformat(text.strip())
        )
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            raise ValueError("time zone")
    except ValueError:
        raise Refused(
            "date_invalid",
            f"{text[:60]!r} is not a {kind.value} in ISO form",
            "write DATE '2026-01-31' or TIMESTAMP '2026-01-31 12:00:00', without a time zone",
        ) from None
    return Literal(moment, Facts(kind, moment, moment, nullable=False))


def moment_literal(moment: date) -> Literal:
    """Return a date or timestamp that has been computed from constants."""
    kind = Type.TIMESTAMP if isinstance(moment, datetime) else Type.DATE
    return Literal(moment, Facts(kind, moment, moment, nullable=False))
