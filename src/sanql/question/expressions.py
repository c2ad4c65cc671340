"""The typed tree a question becomes: the only form in which an analyst's words go further.

What has no node here (or in `relations.py`, for what FROM holds) cannot be asked: no row identifiers,
no sampling, no function outside the list in `functions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from sanql.question.relations import From, Rows


class Type(StrEnum):
    """The types an expression can have; decimals and floats compute alike, as REAL."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    NULL = "null"


NUMERIC = frozenset({Type.INTEGER, Type.REAL})
TEMPORAL = frozenset({Type.DATE, Type.TIMESTAMP})

Bound = Fraction | date | datetime
LiteralValue = bool | int | Fraction | str | date | datetime | None


@dataclass(frozen=True)
class Facts:
    """What is proved about an expression for every row that could exist.

    `low` and `high` enclose every value that is not NULL (None: no bound is known). `grid` is a step
    that every value is a multiple of, when there is one. A fact belongs to one expression: wrapping
    it makes a new expression whose facts are proved anew.
    """

    type: Type
    low: Bound | None = None
    high: Bound | None = None
    nullable: bool = True
    grid: Fraction | None = None

    @property
    def bounded(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None


@dataclass(frozen=True)
class ColumnRef:
    """A column of one item of FROM (its `slot`).

    One that is `stored` in a table is read with its bounds enforced; one computed by a subquery has
    its facts by proof. `origin` is the policy's table and column the values come from unchanged.
    """

    name: str
    facts: Facts
    slot: int = 0
    origin: tuple[str, str] | None = None
    stored: bool = True


@dataclass(frozen=True)
class Literal:
    """A constant the analyst wrote."""

    value: LiteralValue
    facts: Facts


@dataclass(frozen=True)
class Call:
    """An operator or function of the allow-list, applied."""

    op: str
    args: tuple[Expr, ...]
    facts: Facts


@dataclass(frozen=True)
class KeyRef:
    """A reference to a GROUP BY key, in the SQL around the aggregates."""

    index: int
    facts: Facts


@dataclass(frozen=True)
class Grouping:
    """Which of these keys a row is not grouped by, as bits; the first key has the highest."""

    keys: tuple[int, ...]
    facts: Facts


@dataclass(frozen=True)
class AggregateRef:
    """A reference to an aggregate's noisy value, in the SQL around the aggregates."""

    index: int
    facts: Facts


@dataclass(frozen=True)
class IntervalEnd:
    """An end of the interval of a column of the answer, seen from outside; NULL where it has none."""

    output: int
    high: bool
    facts: Facts


@dataclass(frozen=True)
class Identifier:
    """A column that says whose a row is: it links tables and is counted, and is never shown.

    Equal values of one `entity` belong to one unit; the entity "unit" is the unit itself.
    """

    slot: int
    name: str
    entity: str
    facts: Facts


@dataclass(frozen=True)
class SameIdentity:
    """Two identifiers of one entity are equal."""

    left: Identifier
    right: Identifier
    facts: Facts


class SubqueryKind(StrEnum):
    """What an expression asks of a subquery."""

    EXISTS = "exists"
    MEMBER = "member"
    VALUE = "value"


@dataclass(frozen=True)
class Subquery:
    """A subquery in an expression, over public tables or over rows of the same unit as the row around it.

    `unit_of` is the FROM whose unit the rows must share; None where they are public.
    """

    ask: SubqueryKind
    rows: Rows
    operand: Expr | None
    unit_of: From | None
    facts: Facts


@dataclass(frozen=True)
class Window:
    """A function over the rows of one unit, or over public ones; a `frame` says over which of them."""

    function: str
    args: tuple[Expr, ...]
    partition: tuple[Expr, ...]
    order: tuple[Ordering, ...]
    unit_of: From
    facts: Facts
    frame: str = ""


Expr = (
    ColumnRef
    | Literal
    | Call
    | KeyRef
    | Grouping
    | AggregateRef
    | IntervalEnd
    | Identifier
    | SameIdentity
    | Subquery
    | Window
)


@dataclass(frozen=True)
class Aggregate:
    """One statistic over the rows of a group, by its name in the list of statistics.

    COUNT(*) and counts of all units have no arguments. `fraction` says which quantile is meant (0 and 1
    for the smallest and the largest value), `total` what one unit may add to a group.
    """

    statistic: str
    arguments: tuple[Expr, ...]
    facts: Facts
    text: str
    fraction: Fraction | None = None
    total: tuple[Fraction, Fraction] | None = None

    @property
    def argument(self) -> Expr | None:
        """The first argument, if there is one."""
        return self.arguments[0] if self.arguments else None

    @property
    def value(self) -> Expr:
        """The first argument, of a statistic that has one."""
        return self.arguments[0]


@dataclass(frozen=True)
class Output:
    """One column of the answer, computed from keys and noisy aggregates."""

    name: str
    expression: Expr


@dataclass(frozen=True)
class Ordering:
    """One ORDER BY item over keys and noisy aggregates."""

    expression: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Query:
    """A question: aggregates inside, ordinary SQL over their noisy values outside.

    `sets` are the grouping sets over the keys, in order and as often as they are asked for; none
    stand for the one set of all keys. A key is NULL in the rows of a set that it is not in.
    With `null_groups` rows whose public key is NULL are a group as well.
    """

    source: From
    where: Expr | None
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: Expr | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False
    sets: tuple[tuple[int, ...], ...] = ()
    null_groups: bool = False

    @property
    def table(self) -> str | None:
        """The only table of FROM, or None where there is more to it."""
        return getattr(self.source, "table", None)


def walk(expression: Expr) -> list[Expr]:
    """Return the expression and everything inside it but subqueries' rows, without recursion."""
    pending, found = [expression], []
    while pending:
        node = pending.pop()
        found.append(node)
        match node:
            case Call(args=args):
                pending.extend(args)
            case SameIdentity(left, right):
                pending += [left, right]
            case Subquery(operand=operand):
                pending += [operand] if operand is not None else []
            case Window():
                pending += [*node.args, *node.partition, *(o.expression for o in node.order)]
            case ColumnRef() | Literal() | KeyRef() | Grouping() | AggregateRef():
                pass
            case IntervalEnd() | Identifier():
                pass
            case _:
                assert_never(node)
    return found
