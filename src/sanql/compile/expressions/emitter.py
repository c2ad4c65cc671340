"""The writer of expressions, and how a column is read before anything is computed from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction

from sanql.compile.expressions.dates import DATE_SQL
from sanql.compile.expressions.logic import COMPARISON_SIGNS, LOGIC_SQL
from sanql.compile.expressions.numbers import NUMBER_SQL
from sanql.compile.expressions.text import TEXT_SQL
from sanql.compile.expressions.values import (
    Emit,
    clamp_to_bounds,
    finite_or_null,
    hidden,
    may_exceed_64_bits,
    moment,
    real,
    whole,
    without_negative_zero,
)
from sanql.errors import Refused
from sanql.question import (
    BIGINT_RANGE,
    Call,
    ColumnRef,
    Expr,
    Facts,
    Identifier,
    KeyRef,
    Literal,
    LiteralValue,
    SameIdentity,
    Subquery,
    SubqueryKind,
    Type,
    walk,
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
EMITTED: Mapping[str, Emit] = {**NUMBER_SQL, **LOGIC_SQL, **TEXT_SQL, **DATE_SQL}
# what is compared without a cast where all operands are of one type
COMPARED_BARE = ({Type.TEXT}, {Type.BOOLEAN}, {Type.INTEGER}, {Type.DATE}, {Type.TIMESTAMP})
# which yield no negative zero where their operands are none
ZERO_KEPT = frozenset(
    ["add", "subtract", "abs", "sqrt", "exp", "case", "coalesce", "nullif", "least", "greatest"]
)
TWO_VALUED = frozenset(["is_null", "is_true", "is_false", "distinct_from", "not_distinct_from"])


class Emitter:
    """Writes expressions as SQL and collects their parameters in order of number.

    The engine decides conditions from the least and greatest value it has noted of a column, or of a
    block of its rows, and it follows them through functions, not always rightly: one row would decide
    for all. So a column is bare where it stands alone or is compared with a constant, which the engine
    decides rightly and fast; inside anything else it is hidden (`values.hidden`).

    The engine also computes once what it meets with equal values, whosever they are, and picks one of
    them: so equal values must be alike in everything. Of the types there are, only real numbers have
    equal values that can be told apart: the two zeros, and NaN with either sign. Every real number is
    made the one zero where it is read (`tables.py`) and where an operator could make the other; by
    induction no operator meets it. The sign of NaN shows in no operator but a cast to text, which does
    not write it.

    No function is written that is a macro of the engine (`nullif`, `split_part`): it would write operands
    twice where their length is not seen.
    """

    def __init__(
        self,
        leaf: Callable[[Expr], str],
        raw: Callable[[ColumnRef], str] | None = None,
        length_max: int = SQL_LENGTH_MAX,
    ) -> None:
        """Write leaves with `leaf`; `raw`, where given, reads a column without its bounds."""
        self._leaf = leaf
        self.length_max = length_max
        self._raw = raw
        self._within_call = False
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
        if expression.facts.type is Type.NULL:
            return "NULL"  # whatever it is made of: the engine would give it a type of its choice
        around = self._within_call
        try:
            match expression:
                case Literal(value):
                    return self.literal(value)
                case Call(op, args, facts):
                    self._within_call = True
                    text = EMITTED[op](self, args, facts)
                    if facts.type is not Type.BOOLEAN and _takes_null(args):
                        text = f"CAST({text} AS {engine_type(facts)})"
                    if facts.type is Type.REAL and op not in ZERO_KEPT:
                        text = without_negative_zero(text)
                case _:
                    self._within_call = False  # a subquery's own expressions begin anew
                    text = self._leaf(expression)
                    return hidden(text, expression.facts) if around and _bare(expression) else text
        finally:
            self._within_call = around
        if len(text) > self.length_max:
            raise Refused(
                "query_too_complex",
                "an expression of this question becomes too long for the engine",
                "nest fewer divisions, casts, NULLIFs and CASEs in each other",
            )
        return text

    def condition(self, expression: Expr) -> str:
        """Return a condition that is true or false, and never unknown.

        What makes a filter unknown is then no question that the engine could answer from what it has
        noted of a column. A comparison of two columns stays as it is, because joins are found by it;
        neither side of it is known from what is noted of one column.
        """
        text = self.sql(expression)
        return text if _two_valued(expression) else f"({text} IS TRUE)"

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

    def compared(self, args: tuple[Expr, ...], facts: Facts) -> list[str]:
        """Return what is compared; a column that is compared as it is stands bare."""
        if self._raw is not None and _bounds_do_not_matter(args):
            assert isinstance(args[0], ColumnRef)  # noqa: S101  (that is what was asked)
            return [self._raw(args[0]), *(self.sql(arg) for arg in args[1:])]
        if {arg.facts.type for arg in args} in COMPARED_BARE:
            return [self._leaf(arg) if _bare(arg) else self.sql(arg) for arg in args]
        return self.operands(args, facts)

    def operands(self, args: tuple[Expr, ...], facts: Facts) -> list[str]:
        """Return the operands, brought to the type in which the operator is exact or total."""
        kinds = {arg.facts.type for arg in args}
        texts = [self.sql(arg) for arg in args]
        if Type.REAL in kinds or facts.type is Type.REAL:
            return [f"CAST({text} AS DOUBLE)" for text in texts]
        if facts.type is Type.BOOLEAN and kinds <= {Type.INTEGER, Type.NULL}:
            return texts  # comparing widens by itself, and cannot overflow
        if Type.INTEGER in kinds and any(
            may_exceed_64_bits(part) for part in [facts, *(a.facts for a in args)]
        ):
            return [f"CAST({text} AS HUGEINT)" for text in texts]
        if kinds >= {Type.DATE, Type.TIMESTAMP}:
            return [f"CAST({text} AS TIMESTAMP)" for text in texts]
        return texts


def engine_type(facts: Facts) -> str:
    """Return the type that a value has in the engine."""
    return "HUGEINT" if may_exceed_64_bits(facts) else ENGINE_TYPES[facts.type]


def _takes_null(args: tuple[Expr, ...]) -> bool:
    """Return whether an operand is NULL in every row: of what type the result is, the engine guesses."""
    return any(arg.facts.type is Type.NULL for arg in args)


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


def _two_valued(condition: Expr) -> bool:
    match condition:
        case Subquery(ask=SubqueryKind.EXISTS) | SameIdentity():
            return True
        case Call(op):
            return op in TWO_VALUED or _compares_columns(condition)
        case _:
            return False


def _compares_columns(call: Call) -> bool:
    """Return whether this compares two values that are both read from rows."""
    return call.op in COMPARISON_SIGNS and all(
        any(isinstance(node, ColumnRef | Identifier | KeyRef) for node in walk(arg))
        for arg in call.args
    )


def _bare(leaf: Expr) -> bool:
    """Return whether a leaf is written without anything around it that hides it from the engine."""
    match leaf:
        case ColumnRef(_, facts, stored=True):
            return not _enforced(facts) and facts.type is not Type.REAL
        case ColumnRef() | KeyRef():
            return True
        case _:
            return False


def row_column(scans: Mapping[str, str]) -> Callable[[Expr], str]:
    """Return how a column is read: canonical type, finite, and within its bounds."""

    def leaf(expression: Expr) -> str:
        assert isinstance(expression, ColumnRef)  # noqa: S101  (rows have nothing but columns)
        return scanned(scans[expression.name], expression.facts)

    return leaf


def scanned(scan: str, facts: Facts) -> str:
    """Return a column with its facts enforced."""
    proper = facts.type in (Type.REAL, Type.DATE, Type.TIMESTAMP)
    if _enforced(facts):
        low, high = lower_bound(facts), _written(facts.high, facts.type)
        return f"({clamp_to_bounds(scan, low, high, proper)})"
    return f"({finite_or_null(scan)})" if facts.type is Type.REAL else scan


def lower_bound(facts: Facts) -> str:
    """Return the lowest value that a bounded column has."""
    return _written(facts.low, facts.type)


def _written(end: object, kind: Type) -> str:
    # a throw-away emitter is enough: bounds are numbers and dates, never strings
    return Emitter(lambda expression: "").literal(_bound(end, kind))


def _enforced(facts: Facts) -> bool:
    """Return whether reading a column brings its values within bounds other than its type's."""
    return facts.bounded and (facts.low, facts.high) != BIGINT_RANGE


def _bound(end: object, kind: Type) -> LiteralValue:
    if kind is Type.INTEGER and isinstance(end, Fraction):
        return int(end)
    assert isinstance(end, Fraction | date)  # noqa: S101  (facts carry numbers and dates)
    return end
