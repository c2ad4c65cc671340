"""The typed tree a question becomes: the only form in which an analyst's words go further.

What has no node here cannot be asked: no row identifiers, no windows, no sampling, no subqueries, no
function outside the list in `functions.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction


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
    """A declared column, read with its bounds enforced."""

    name: str
    facts: Facts


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
    """A GROUP BY key, seen from outside the aggregate."""

    index: int
    facts: Facts


@dataclass(frozen=True)
class AggregateRef:
    """An aggregate's noisy value, seen from outside."""

    index: int
    facts: Facts


Expr = ColumnRef | Literal | Call | KeyRef | AggregateRef


class Aggregation(StrEnum):
    """The statistics a question can ask for."""

    COUNT = "count"
    COUNT_UNITS = "count units"
    COUNT_DISTINCT = "count distinct"
    SUM = "sum"
    AVERAGE = "average"
    VARIANCE = "variance"
    VARIANCE_SAMPLE = "sample variance"
    DEVIATION = "standard deviation"
    DEVIATION_SAMPLE = "sample standard deviation"
    COVARIANCE = "covariance"
    COVARIANCE_SAMPLE = "sample covariance"
    CORRELATION = "correlation"


@dataclass(frozen=True)
class Aggregate:
    """One statistic over the rows of a group; `argument` is None for COUNT(*) and all units.

    `second` is the other value of a statistic of pairs.
    """

    kind: Aggregation
    argument: Expr | None
    facts: Facts
    text: str
    second: Expr | None = None


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
    """A question over one table: aggregates inside, ordinary SQL over their noisy values outside."""

    table: str
    where: Expr | None
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: Expr | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False


def walk(expression: Expr) -> Iterator[Expr]:
    """Yield the expression and everything inside it, without recursion."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Call):
            pending.extend(node.args)
