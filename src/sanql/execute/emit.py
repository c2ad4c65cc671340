"""Expressions as DuckDB SQL: freshly written, fully qualified, total for every value of a row.

Nothing an analyst typed is copied: names come from the policy, strings travel as parameters,
numbers and dates are printed from exact values. Division guards against zero, casts yield NULL,
whole numbers are widened to 128 bits wherever their proved range asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction

from sanql.errors import Refused
from sanql.parse.functions import DATE_PARTS, TRUNCATIONS
from sanql.parse.tree import (
    Call,
    ColumnRef,
    Expr,
    Facts,
    Literal,
    LiteralValue,
    Type,
)

BIGINT = 2**63 - 1
SQL_LENGTH_MAX = 200_000
ENGINE_TYPES = {
    Type.INTEGER: "BIGINT",
    Type.REAL: "DOUBLE",
    Type.TEXT: "VARCHAR",
    Type.BOOLEAN: "BOOLEAN",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
    Type.NULL: "VARCHAR",
}
INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "distinct_from": "IS DISTINCT FROM",
    "not_distinct_from": "IS NOT DISTINCT FROM",
}
ENGINE_PARTS = {part: part for part in DATE_PARTS} | {"dayofweek": "dow", "dayofyear": "doy"}


class Emitter:
    """Writes expressions as SQL and collects their parameters in order of number."""

    def __init__(
        self, leaf: Callable[[Expr], str], raw: Callable[[ColumnRef], str] | None = None
    ) -> None:
        """Write leaves with `leaf`; `raw`, where given, reads a column without its bounds."""
        self._leaf = leaf
        self._raw = raw
        self.parameters: list[object] = []

    def parameter(self, value: object, engine_type: str) -> str:
        """Return a placeholder for a value, one for equal values."""
        for number, known in enumerate(self.parameters, 1):
            if type(known) is type(value) and known == value:
                return f"${number}::{engine_type}"
        self.parameters.append(value)
        return f"${len(self.parameters)}::{engine_type}"

    def sql(self, expression: Expr) -> str:
        """Return the SQL of an expression; one that would grow without limit is refused."""
        match expression:
            case Literal(value):
                return self.literal(value)
            case Call(op, args, facts):
                text = self._call(op, args, facts)
            case _:
                return self._leaf(expression)
        if len(text) > SQL_LENGTH_MAX:
            raise Refused(
                "query_too_complex",
                "an expression of this question becomes too long for the engine",
                "nest fewer casts and CASEs in each other",
            )
        return text

    def literal(self, value: LiteralValue) -> str:
        """Return a constant; only strings need a parameter."""
        match value:
            case None:
                return "NULL"
            case bool():
                return "TRUE" if value else "FALSE"
            case int():
                return f"({value})::{'BIGINT' if abs(value) <= BIGINT else 'HUGEINT'}"
            case Fraction():
                return real(value)
            case datetime():
                return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
            case date():
                return f"DATE '{value.isoformat()}'"
            case str():
                return self.parameter(value, "VARCHAR")

    def _call(self, op: str, args: tuple[Expr, ...], facts: Facts) -> str:
        if op in INFIX:
            left, right = self._operands(args, facts)
            return f"({left} {INFIX[op]} {right})"
        if op in CUSTOM:
            return CUSTOM[op](self, args, facts)
        if op.startswith("part_"):
            part = ENGINE_PARTS[op.removeprefix("part_")]
            return f"CAST(system.main.date_part('{part}', {self.sql(args[0])}) AS BIGINT)"
        unit = op.removeprefix("trunc_")
        if unit in TRUNCATIONS:
            moment = f"system.main.date_trunc('{unit}', {self.sql(args[0])})"
            return f"CAST({moment} AS {ENGINE_TYPES[facts.type]})"
        return self._cast(op.removeprefix("cast_"), args[0], facts)

    def _operands(self, args: tuple[Expr, ...], facts: Facts) -> list[str]:
        """Return the operands, brought to the type in which the operator is exact or total."""
        kinds = {arg.facts.type for arg in args}
        texts = [self.sql(arg) for arg in args]
        if self._raw is not None and facts.type is Type.BOOLEAN and _bounds_do_not_matter(args):
            assert isinstance(args[0], ColumnRef)  # noqa: S101  (that is what was asked)
            return [self._raw(args[0]), *texts[1:]]
        if Type.REAL in kinds or facts.type is Type.REAL:
            return [f"CAST({text} AS DOUBLE)" for text in texts]
        if facts.type is Type.BOOLEAN and kinds <= {Type.INTEGER, Type.NULL}:
            return texts  # comparing widens by itself, and cannot overflow
        if Type.INTEGER in kinds and any(_wide(part) for part in [facts, *(a.facts for a in args)]):
            return [f"CAST({text} AS HUGEINT)" for text in texts]
        if kinds >= {Type.DATE, Type.TIMESTAMP}:
            return [f"CAST({text} AS TIMESTAMP)" for text in texts]
        return texts

    def _cast(self, target: str, arg: Expr, facts: Facts) -> str:
        text = self.sql(arg)
        match target:
            case "real":
                return f"TRY_CAST({text} AS DOUBLE)"
            case "text":
                return f"TRY_CAST({text} AS VARCHAR)"
            case "boolean":
                return f"TRY_CAST({text} AS BOOLEAN)"
            case "date" | "timestamp":
                moment = f"TRY_CAST({text} AS {target.upper()})"
                return within(moment, self.literal(facts.low), self.literal(facts.high), True)
            case _:
                whole = f"CAST(TRY_CAST({text} AS {target.upper()}) AS BIGINT)"
                return _held(whole, facts) if arg.facts.type is Type.REAL else whole


def _held(text: str, facts: Facts) -> str:
    """Return a whole number made from a real one, held within its proved range.

    Floating point may carry a real number a few steps beyond the range proved for it. As a whole
    number it would then escape every proof that 64 bits are enough, and one row could make an
    overflow, which is an error that shows.
    """
    assert isinstance(facts.low, Fraction) and isinstance(facts.high, Fraction)  # noqa: S101
    low, high = f"({int(facts.low)})::BIGINT", f"({int(facts.high)})::BIGINT"
    clamped = f"system.main.greatest({low}, system.main.least({high}, {text}))"
    return f"CASE WHEN {text} IS NOT NULL THEN {clamped} END"


def _bounds_do_not_matter(args: tuple[Expr, ...]) -> bool:
    """Return whether comparing a column with these constants is the same with and without clamping.

    A whole number lies on the same side of a constant strictly between its bounds before and after
    it is brought within them; the engine compares a bare column much faster.
    """
    column, *others = args
    if not isinstance(column, ColumnRef) or column.facts.type is not Type.INTEGER:
        return False
    low, high = column.facts.low, column.facts.high
    return all(
        isinstance(other, Literal)
        and isinstance(other.value, int)
        and not isinstance(other.value, bool)
        and isinstance(low, Fraction)
        and isinstance(high, Fraction)
        and low < other.value < high
        for other in others
    )


def _wide(facts: Facts) -> bool:
    """Return whether a whole number may not fit 64 bits (the least one counts as not fitting)."""
    if facts.type is not Type.INTEGER:
        return False
    return not (isinstance(facts.low, Fraction) and facts.low >= -BIGINT) or not (
        isinstance(facts.high, Fraction) and facts.high <= BIGINT
    )


def real(value: Fraction | float) -> str:
    """Return a number as a DOUBLE constant."""
    text = repr(float(value))
    return f"({text if 'e' in text else text + 'e0'})::DOUBLE"


def _finite(text: str) -> str:
    return f"CASE WHEN system.main.isfinite({text}) THEN {text} END"


def within(text: str, low: str, high: str, check_finite: bool) -> str:
    """Return a value clamped to its bounds; NULL, NaN and infinities become NULL, not a bound."""
    clamped = f"system.main.greatest({low}, system.main.least({high}, {text}))"
    proper = f"system.main.isfinite({text})" if check_finite else f"{text} IS NOT NULL"
    return f"CASE WHEN {text} BETWEEN {low} AND {high} THEN {text} WHEN {proper} THEN {clamped} END"


def _function(name: str) -> Callable[[Emitter, tuple[Expr, ...], Facts], str]:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        return f"system.main.{name}({', '.join(emitter._operands(args, facts))})"

    return emit


def _joined(word: str) -> Callable[[Emitter, tuple[Expr, ...], Facts], str]:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        return "(" + f" {word} ".join(emitter.sql(arg) for arg in args) + ")"

    return emit


def _suffixed(words: str) -> Callable[[Emitter, tuple[Expr, ...], Facts], str]:
    return lambda emitter, args, facts: f"({emitter.sql(args[0])} {words})"


def _divide(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    top, bottom = (f"CAST({emitter.sql(arg)} AS DOUBLE)" for arg in args)
    return f"({top} / nullif({bottom}, 0))"


def _whole_division(sign: str) -> Callable[[Emitter, tuple[Expr, ...], Facts], str]:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        top, bottom = emitter._operands(args, facts)
        return f"({top} {sign} nullif({bottom}, 0))"

    return emit


def _negate(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    return f"(-{emitter._operands(args, facts)[0]})"


def _sign(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    return f"CAST(system.main.sign({emitter.sql(args[0])}) AS BIGINT)"


def _round(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    digits = args[1].value if isinstance(args[1], Literal) else 0
    text = emitter.sql(args[0])
    if args[0].facts.type is not Type.REAL:
        if isinstance(digits, int) and digits >= 0:
            return text
        return f"TRY_CAST(system.main.round(CAST({text} AS DOUBLE), {digits}) AS BIGINT)"
    return f"system.main.round({text}, {digits})"


def _to_whole(name: str) -> Callable[[Emitter, tuple[Expr, ...], Facts], str]:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        text = emitter.sql(args[0])
        if args[0].facts.type is not Type.REAL:
            return text
        rounded = f"system.main.{name}({text})"
        if facts.type is not Type.INTEGER:
            return rounded
        return _held(f"TRY_CAST({rounded} AS BIGINT)", facts)

    return emit


def _in(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    value, *choices = emitter._operands(args, facts)
    return f"({value} IN ({', '.join(choices)}))"


def _between(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    value, low, high = emitter._operands(args, facts)
    return f"({value} BETWEEN {low} AND {high})"


def _like(word: str) -> Callable[[Emitter, tuple[Expr, ...], Facts], str]:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        texts = [emitter.sql(arg) for arg in args]
        escape = f" ESCAPE {texts[2]}" if len(texts) > 2 else ""
        return f"({texts[0]} {word} {texts[1]}{escape})"

    return emit


def _case(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    values = emitter._operands((*args[1:-1:2], args[-1]), facts)
    conditions = [emitter.sql(arg) for arg in args[:-1:2]]
    branches = " ".join(
        f"WHEN {condition} THEN {value}"
        for condition, value in zip(conditions, values, strict=False)
    )
    return f"CASE {branches} ELSE {values[-1]} END"


def _coalesce(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    return f"coalesce({', '.join(emitter._operands(args, facts))})"


def _nullif(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    first, second = emitter._operands(args, facts)
    kept = emitter.sql(args[0])
    if first == kept:
        return f"nullif({first}, {second})"
    # compared in a wider type, the value itself stays as exact as it was
    return f"CASE WHEN {first} = {second} THEN NULL ELSE {kept} END"


def _square_root(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    """Return the root, NULL below zero: NaN would pass COALESCE and be missing from sums."""
    text = f"CAST({emitter.sql(args[0])} AS DOUBLE)"
    return f"CASE WHEN {text} >= 0 THEN system.main.sqrt({text}) END"


def _logarithm(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    """Return the logarithm, NULL at zero and below, for the same reason."""
    text = f"CAST({emitter.sql(args[0])} AS DOUBLE)"
    return f"CASE WHEN {text} > 0 THEN system.main.ln({text}) END"


CUSTOM: Mapping[str, Callable[[Emitter, tuple[Expr, ...], Facts], str]] = {
    "negate": _negate,
    "divide": _divide,
    "integer_divide": _whole_division("//"),
    "modulo": _whole_division("%"),
    "abs": _function("abs"),
    "sign": _sign,
    "round": _round,
    "floor": _to_whole("floor"),
    "ceil": _to_whole("ceil"),
    "trunc": _to_whole("trunc"),
    "least": _function("least"),
    "greatest": _function("greatest"),
    "sqrt": _square_root,
    "ln": _logarithm,
    "exp": _function("exp"),
    "power": _function("pow"),
    "in": _in,
    "between": _between,
    "like": _like("LIKE"),
    "ilike": _like("ILIKE"),
    "and": _joined("AND"),
    "or": _joined("OR"),
    "not": lambda emitter, args, facts: f"(NOT {emitter.sql(args[0])})",
    "is_null": _suffixed("IS NULL"),
    "is_true": _suffixed("IS TRUE"),
    "is_false": _suffixed("IS FALSE"),
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "lower": _function("lower"),
    "upper": _function("upper"),
    "trim": _function("trim"),
    "length": _function("length"),
}


def row_leaf(scans: Mapping[str, str]) -> Callable[[Expr], str]:
    """Return how a column is read: canonical type, finite, and within its bounds."""

    def leaf(expression: Expr) -> str:
        assert isinstance(expression, ColumnRef)  # noqa: S101  (rows have nothing but columns)
        return scanned(scans[expression.name], expression.facts)

    return leaf


def scanned(scan: str, facts: Facts) -> str:
    """Return a column with its facts enforced."""
    bounded = facts.bounded and not (facts.type is Type.INTEGER and _wide(facts))
    proper = facts.type in (Type.REAL, Type.DATE, Type.TIMESTAMP)
    if bounded:
        # a throw-away emitter is enough: bounds are numbers and dates, never strings
        printer = Emitter(lambda expression: "")
        low, high = (printer.literal(_bound(end, facts.type)) for end in (facts.low, facts.high))
        return f"({within(scan, low, high, proper)})"
    return f"({_finite(scan)})" if facts.type is Type.REAL else scan


def _bound(end: object, kind: Type) -> LiteralValue:
    if kind is Type.INTEGER and isinstance(end, Fraction):
        return int(end)
    assert isinstance(end, Fraction | date)  # noqa: S101  (facts carry numbers and dates)
    return end
