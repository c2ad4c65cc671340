"""Conditions, choices and casts as SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sanql.compile.expressions.values import Emit, clamp_integer, clamp_to_bounds
from sanql.question import Expr, Facts, Identifier, Type

if TYPE_CHECKING:
    from sanql.compile.expressions.emitter import Emitter


def _infix(sign: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        left, right = emitter.compared(args, facts)
        return f"({left} {sign} {right})"

    return emit


def _joined(word: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        return "(" + f" {word} ".join(emitter.sql(arg) for arg in args) + ")"

    return emit


def _suffixed(words: str) -> Emit:
    return lambda emitter, args, facts: f"({emitter.sql(args[0])} {words})"


def _in(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    value, *choices = emitter.compared(args, facts)
    return f"({value} IN ({', '.join(choices)}))"


def _between(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    value, low, high = emitter.compared(args, facts)
    return f"({value} BETWEEN {low} AND {high})"


def _case(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    values = emitter.operands((*args[1:-1:2], args[-1]), facts)
    conditions = [emitter.condition(arg) for arg in args[:-1:2]]
    branches = " ".join(
        f"WHEN {condition} THEN {value}"
        for condition, value in zip(conditions, values, strict=False)
    )
    return f"CASE {branches} ELSE {values[-1]} END"


def _coalesce(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    return f"coalesce({', '.join(emitter.operands(args, facts))})"


def _nullif(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    first, second = emitter.operands(args, facts)
    # compared in a wider type, the value itself stays as exact as it was
    return f"CASE WHEN {first} = {second} THEN NULL ELSE {emitter.sql(args[0])} END"


def _cast_operand(emitter: Emitter, arg: Expr) -> str:
    """Return what is cast; an identifier is hidden like any column inside something else."""
    text = emitter.sql(arg)
    if isinstance(arg, Identifier):
        return f"CASE WHEN {text} IS NOT NULL THEN {text} END"
    return text


def _whole_cast(target: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        text = f"CAST(TRY_CAST({_cast_operand(emitter, args[0])} AS {target}) AS BIGINT)"
        return clamp_integer(text, facts) if args[0].facts.type is Type.REAL else text

    return emit


def _cast(target: str) -> Emit:
    return lambda emitter, args, facts: f"TRY_CAST({emitter.sql(args[0])} AS {target})"


def _text_cast(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text = f"TRY_CAST({_cast_operand(emitter, args[0])} AS VARCHAR)"
    if args[0].facts.type is not Type.REAL:
        return text
    return f"system.main.replace({text}, '-nan', 'nan')"  # one NaN is like another


def _moment_cast(target: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        text = f"TRY_CAST({emitter.sql(args[0])} AS {target})"
        return clamp_to_bounds(text, emitter.bound(facts.low), emitter.bound(facts.high), True)

    return emit


COMPARISON_SIGNS = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "distinct_from": "IS DISTINCT FROM",
    "not_distinct_from": "IS NOT DISTINCT FROM",
}
LOGIC_SQL: Mapping[str, Emit] = {
    **{op: _infix(sign) for op, sign in COMPARISON_SIGNS.items()},
    "in": _in,
    "between": _between,
    "and": _joined("AND"),
    "or": _joined("OR"),
    "not": lambda emitter, args, facts: f"(NOT {emitter.sql(args[0])})",
    "is_null": lambda emitter, args, facts: f"({emitter.compared(args, facts)[0]} IS NULL)",
    "is_true": _suffixed("IS TRUE"),
    "is_false": _suffixed("IS FALSE"),
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "cast_tinyint": _whole_cast("TINYINT"),
    "cast_smallint": _whole_cast("SMALLINT"),
    "cast_integer": _whole_cast("INTEGER"),
    "cast_bigint": _whole_cast("BIGINT"),
    "cast_real": _cast("DOUBLE"),
    "cast_text": _text_cast,
    "cast_boolean": _cast("BOOLEAN"),
    "cast_date": _moment_cast("DATE"),
    "cast_timestamp": _moment_cast("TIMESTAMP"),
}
