"""Pieces of SQL that several operators share: constants, clamps and guards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.question import Expr, Facts, Literal, Type

if TYPE_CHECKING:
    from sanql.compile.expressions.emitter import Emitter

BIGINT = 2**63 - 1
Emit = Callable[["Emitter", tuple[Expr, ...], Facts], str]


def real(value: Fraction | float) -> str:
    """Return a number as a DOUBLE constant."""
    text = repr(float(value) + 0.0)  # what is too small for a double is the one zero
    return f"({text if 'e' in text else text + 'e0'})::DOUBLE"


def whole(value: int) -> str:
    """Return a whole number as a constant."""
    return f"({value})::{'BIGINT' if abs(value) <= BIGINT else 'HUGEINT'}"


def moment(value: date) -> str:
    """Return a date or timestamp as a constant."""
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return f"DATE '{value.isoformat()}'"


def clamp_to_bounds(text: str, low: str, high: str, check_finite: bool) -> str:
    """Return a value clamped to its bounds; NULL, NaN and infinities become NULL, not a bound."""
    if not check_finite:
        # each branch has its condition: what is NULL otherwise is hidden from the engine (`hidden`)
        return (
            f"CASE WHEN {text} BETWEEN {low} AND {high} THEN {text} WHEN {text} > {high} THEN {high} "
            f"WHEN {text} < {low} THEN {low} END"
        )
    clamped = f"system.main.greatest({low}, system.main.least({high}, {text}))"
    proper = f"system.main.isfinite({text})"
    return f"CASE WHEN {text} BETWEEN {low} AND {high} THEN {text} WHEN {proper} THEN {clamped} END"


def clamp_or_nan(text: str, low: str, high: str) -> str:
    """Return a real number clamped to its bounds; NaN and infinities become NaN.

    That is enough for what is put on a grid, where NaN becomes NULL.
    """
    clamped = f"system.main.greatest({low}, system.main.least({high}, {text}))"
    beyond = f"{clamped} + ({text} - {text})"  # an infinity less itself is NaN, any other number 0
    return f"CASE WHEN {text} BETWEEN {low} AND {high} THEN {text} ELSE {beyond} END"


def finite_or_null(text: str) -> str:
    """Return a value, NULL unless it is finite."""
    return f"CASE WHEN system.main.isfinite({text}) THEN {text} END"


def hidden(text: str, facts: Facts) -> str:
    """Return a value written so that the engine cannot use the least and greatest that it knows of it.

    It follows the ends of a column through functions, and through a CASE whose branches all have ends:
    not through one that may be NULL; and of text, not through one of whose branches nothing is known.
    """
    if facts.type is Type.TEXT:
        return f"CASE WHEN {text} IS NOT NULL THEN {text} ELSE system.main.reverse({text}) END"
    return f"CASE WHEN {text} IS NOT NULL THEN {text} END"


def without_negative_zero(text: str) -> str:
    """Return a real number with 0.0 in place of -0.0."""
    return f"({text} + (0e0)::DOUBLE)"


def clamp_integer(text: str, facts: Facts) -> str:
    """Return a whole number made from a real one, held within its proved range.

    Floating point may carry a real number a few steps beyond the range proved for it. As a whole
    number it would then escape every proof that 64 bits are enough, and one row could make an
    overflow, which is an error that shows.
    """
    assert isinstance(facts.low, Fraction) and isinstance(facts.high, Fraction)  # noqa: S101
    low, high = f"({int(facts.low)})::BIGINT", f"({int(facts.high)})::BIGINT"
    clamped = f"system.main.greatest({low}, system.main.least({high}, {text}))"
    return f"CASE WHEN {text} IS NOT NULL THEN {clamped} END"


def may_exceed_64_bits(facts: Facts) -> bool:
    """Return whether a whole number may not fit 64 bits (the least one counts as not fitting)."""
    if facts.type is not Type.INTEGER:
        return False
    return not (isinstance(facts.low, Fraction) and facts.low >= -BIGINT) or not (
        isinstance(facts.high, Fraction) and facts.high <= BIGINT
    )


def engine_function(name: str) -> Emit:
    """Return how a function of the engine is written over its operands as they are."""

    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        return f"system.main.{name}({', '.join(emitter.operands(args, facts))})"

    return emit


def counted(name: str) -> Emit:
    """Return how a function is written whose result is a whole number of another width."""
    plain = engine_function(name)
    return lambda emitter, args, facts: f"CAST({plain(emitter, args, facts)} AS BIGINT)"


def constant_value(arg: Expr) -> object:
    """Return the value of an operand that the rule has checked to be a constant."""
    assert isinstance(arg, Literal)  # noqa: S101  (the rule refused anything else)
    return arg.value
