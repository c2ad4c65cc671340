"""The writer of expressions, and how a column is read before anything is computed from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction

from sanql.errors import Refused
from sanql.execute.emit.dates import DATES
from sanql.execute.emit.logic import LOGIC
from sanql.execute.emit.numbers import NUMBERS
from sanql.execute.emit.text import TEXT
from sanql.execute.emit.values import Emit, finite, moment, real, whole, wide, within
from sanql.parse.tree import (
    Call,
    ColumnRef,
    Expr,
    Facts,
    Literal,
    LiteralValue,
    Type,
)

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
EMITTED: Mapping[str, Emit] = {**NUMBERS, **LOGIC, **TEXT, **DATES}


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
                text = EMITTED[op](self, args, facts)
            case _:
                return self._leaf(expression)
        if len(text) > SQL_LENGTH_MAX:
            raise Refused(
                "query_too_complex",
                "an expression of this question becomes too long for the engine",
                "nest fewer casts and CASEs in each other",
            )
        return text

    def unbounded(self, column: Expr) -> str:
        """Return a column as it is stored, where this is known; its reader must bound it."""
        if self._raw is None or not isinstance(column, ColumnRef):
            return self.sql(column)
        return self._raw(column)

    def literal(self, value: LiteralValue) -> str:
        """Return a constant; only strings need a parameter."""
        match value:
            case None:
                return "NULL"
            case bool():
                return "TRUE" if value else "FALSE"
            case int():
                return whole(value)
            case Fraction():
                return real(value)
            case date():
                return moment(value)
            case str():
                return self.parameter(value, "VARCHAR")

    def bound(self, end: object) -> str:
        """Return one end of a proved range of dates or numbers."""
        assert isinstance(end, Fraction | date)  # noqa: S101  (facts carry numbers and dates)
        return self.literal(end)

    def operands(self, args: tuple[Expr, ...], facts: Facts) -> list[str]:
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
        if Type.INTEGER in kinds and any(wide(part) for part in [facts, *(a.facts for a in args)]):
            return [f"CAST({text} AS HUGEINT)" for text in texts]
        if kinds >= {Type.DATE, Type.TIMESTAMP}:
            return [f"CAST({text} AS TIMESTAMP)" for text in texts]
        return texts


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


def row_leaf(scans: Mapping[str, str]) -> Callable[[Expr], str]:
    """Return how a column is read: canonical type, finite, and within its bounds."""

    def leaf(expression: Expr) -> str:
        assert isinstance(expression, ColumnRef)  # noqa: S101  (rows have nothing but columns)
        return scanned(scans[expression.name], expression.facts)

    return leaf


def scanned(scan: str, facts: Facts) -> str:
    """Return a column with its facts enforced."""
    bounded = facts.bounded and not (facts.type is Type.INTEGER and wide(facts))
    proper = facts.type in (Type.REAL, Type.DATE, Type.TIMESTAMP)
    if bounded:
        # a throw-away emitter is enough: bounds are numbers and dates, never strings
        printer = Emitter(lambda expression: "")
        low, high = (printer.literal(_bound(end, facts.type)) for end in (facts.low, facts.high))
        return f"({within(scan, low, high, proper)})"
    return f"({finite(scan)})" if facts.type is Type.REAL else scan


def _bound(end: object, kind: Type) -> LiteralValue:
    if kind is Type.INTEGER and isinstance(end, Fraction):
        return int(end)
    assert isinstance(end, Fraction | date)  # noqa: S101  (facts carry numbers and dates)
    return end
