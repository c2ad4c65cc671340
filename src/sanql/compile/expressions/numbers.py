"""Numbers as SQL: whole numbers widened where needed, real functions kept to their domains."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.compile.expressions.values import (
    Emit,
    clamp_integer,
    constant_value,
    engine_function,
    real,
    whole,
)
from sanql.question import Expr, Facts, Literal, Type

if TYPE_CHECKING:
    from sanql.compile.expressions.emitter import Emitter


def _infix(sign: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        left, right = emitter.operands(args, facts)
        return f"({left} {sign} {right})"

    return emit


def _prefix(sign: str) -> Emit:
    return lambda emitter, args, facts: f"({sign}{emitter.operands(args, facts)[0]})"


def _double(emitter: Emitter, arg: Expr) -> str:
    return f"CAST({emitter.sql(arg)} AS DOUBLE)"


def _divide(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    top, bottom = (_double(emitter, arg) for arg in args)
    return _divided(f"{top} / {bottom}", bottom, args[1])


def _whole_division(sign: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        top, bottom = emitter.operands(args, facts)
        return _divided(f"{top} {sign} {bottom}", bottom, args[1])

    return emit


def _divided(quotient: str, bottom: str, divisor: Expr) -> str:
    """Return a quotient, NULL where the divisor is zero."""
    number = divisor.value if isinstance(divisor, Literal) else None
    if isinstance(number, int | Fraction) and float(number) != 0:
        return f"({quotient})"
    return f"CASE WHEN {bottom} <> 0 THEN {quotient} END"


def _rounding(name: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        digits = constant_value(args[1])
        text = emitter.sql(args[0])
        if args[0].facts.type is not Type.REAL:
            if isinstance(digits, int) and digits >= 0:
                return text
            return f"TRY_CAST(system.main.{name}(CAST({text} AS DOUBLE), {digits}) AS BIGINT)"
        return f"system.main.{name}({text}, {digits})"

    return emit


def _to_whole(name: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        text = emitter.sql(args[0])
        if args[0].facts.type is not Type.REAL:
            return text
        rounded = f"system.main.{name}({text})"
        if facts.type is not Type.INTEGER:
            return rounded
        return clamp_integer(f"TRY_CAST({rounded} AS BIGINT)", facts)

    return emit


def _within_domain(name: str, condition: str) -> Emit:
    """Return a real function, NULL outside its domain: NaN would pass COALESCE and miss from sums."""

    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        text = _double(emitter, args[0])
        return f"CASE WHEN {condition.format(text)} THEN system.main.{name}({text}) END"

    return emit


def _everywhere(name: str) -> Emit:
    """Return a real function that has a value for every finite number."""

    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        texts = [_double(emitter, arg) for arg in args]
        value = f"system.main.{name}({', '.join(texts)})"
        unsure = [t for t, arg in zip(texts, args, strict=True) if not arg.facts.bounded]
        if not unsure:
            return value
        proper = " AND ".join(f"system.main.isfinite({text})" for text in unsure)
        return f"CASE WHEN {proper} THEN {value} END"

    return emit


def _logarithm(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    base, text = (_double(emitter, arg) for arg in args)
    number = getattr(args[0], "value", None)
    if number in (2, 10):
        return f"CASE WHEN {text} > 0 THEN system.main.log{number}({text}) END"
    proper = f"{base} > 0 AND {base} <> 1 AND {text} > 0"
    return f"CASE WHEN {proper} THEN system.main.log({base}, {text}) END"


def _logarithm_of_one_more(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    """Return ln(1 + x): what 1 + x loses of a small x, the quotient of x and what is left puts right."""
    text = _double(emitter, args[0])
    more = f"({real(Fraction(1))} + {text})"
    put_right = f"system.main.ln({more}) * ({text} / ({more} - {real(Fraction(1))}))"
    small = f"CASE WHEN {more} = {real(Fraction(1))} THEN {text} ELSE {put_right} END"
    whole = f"CASE WHEN system.main.isinf({text}) THEN {text} ELSE {small} END"
    return f"CASE WHEN {text} > {real(Fraction(-1))} THEN {whole} END"


def _pi(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    return "system.main.pi()"


def _width_bucket(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text = _double(emitter, args[0])
    low, high, count = (constant_value(arg) for arg in args[1:])
    assert isinstance(low, int | Fraction) and isinstance(high, int | Fraction)  # noqa: S101
    assert isinstance(count, int)  # noqa: S101  (the rule checked all three)
    share = f"({text} - {real(low)}) * {real(count)} / ({real(high)} - {real(low)})"
    inside = f"TRY_CAST(system.main.floor({share}) AS BIGINT) + 1"
    return (
        f"CASE WHEN {text} < {real(low)} THEN {whole(0)} "
        f"WHEN {text} >= {real(high)} THEN {whole(count + 1)} "
        f"WHEN {text} IS NOT NULL THEN system.main.greatest(1, system.main.least({whole(count)}, "
        f"{inside})) END"
    )


def _shift_right(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    return f"({emitter.operands(args[:1], facts)[0]} >> {constant_value(args[1])})"


def _bit_count(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    return f"CAST(system.main.bit_count(CAST({emitter.sql(args[0])} AS BIGINT)) AS BIGINT)"


def _test(name: str) -> Emit:
    return lambda emitter, args, facts: f"system.main.{name}({_double(emitter, args[0])})"


NUMBER_SQL: Mapping[str, Emit] = {
    "add": _infix("+"),
    "subtract": _infix("-"),
    "multiply": _infix("*"),
    "negate": _prefix("-"),
    "divide": _divide,
    "integer_divide": _whole_division("//"),
    "modulo": _whole_division("%"),
    "abs": engine_function("abs"),
    "sign": lambda emitter, args, facts: (
        f"CAST(system.main.sign({emitter.sql(args[0])}) AS BIGINT)"
    ),
    "round": _rounding("round"),
    "truncate": _rounding("trunc"),
    "floor": _to_whole("floor"),
    "ceil": _to_whole("ceil"),
    "trunc": _to_whole("trunc"),
    "least": engine_function("least"),
    "greatest": engine_function("greatest"),
    "sqrt": _within_domain("sqrt", "{} >= 0"),
    "ln": _within_domain("ln", "{} > 0"),
    "log1p": _logarithm_of_one_more,
    "acosh": _within_domain("acosh", "{} >= 1"),
    "asin": _within_domain("asin", "{} BETWEEN -1 AND 1"),
    "acos": _within_domain("acos", "{} BETWEEN -1 AND 1"),
    "atanh": _within_domain("atanh", "system.main.abs({}) < 1"),
    "log": _logarithm,
    "power": engine_function("pow"),
    **{
        name: _everywhere(name)
        for name in (
            "cbrt", "exp", "sin", "cos", "tan", "cot", "atan", "atan2", "sinh", "cosh", "tanh",
            "asinh", "degrees", "radians",
        )
    },
    "pi": _pi,
    "width_bucket": _width_bucket,
    "gcd": engine_function("gcd"),
    "lcm": engine_function("lcm"),
    "bit_and": _infix("&"),
    "bit_or": _infix("|"),
    "bit_xor": engine_function("xor"),
    "bit_not": _prefix("~"),
    "shift_right": _shift_right,
    "bit_count": _bit_count,
    "isnan": _test("isnan"),
    "isinf": _test("isinf"),
    "isfinite": _test("isfinite"),
}  # fmt: skip
