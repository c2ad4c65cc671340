"""What FROM holds: tables, joins and subqueries, each row of which belongs to at most one unit.

Every relation here is *per unit*: the rows of a unit are computed from that unit's rows and from
public tables, from nothing else. So when a unit comes or goes, its rows come or go with it and no
other row changes, whatever was joined, nested or counted on the way; limits on what a unit
contributes, enforced at the very end, then bound every statistic.

- A table is per unit because each row names its unit, or the row of another table that does.
- A join of two private relations pairs rows of the same unit only, which is added to its condition.
- Inside a subquery, groups, windows and DISTINCT never span two units: the unit is added to the keys.
- EXISTS, IN and values look at rows of the asking row's own unit, or at public ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sanql.question.expressions import Call, Expr, Facts, Identifier, Literal


class JoinKind(StrEnum):
    """How unmatched rows are treated."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"


@dataclass(frozen=True)
class Scan:
    """A table of the policy."""

    slot: int
    table: str
    private: bool


@dataclass(frozen=True)
class Derived:
    """A subquery in FROM."""

    slot: int
    rows: Rows


@dataclass(frozen=True)
class Join:
    """Two relations side by side; two private ones pair rows of one unit only."""

    kind: JoinKind
    left: From
    right: From
    on: Expr | None


@dataclass(frozen=True)
class Listed:
    """Rows that are written in the question: they belong to nobody; each column's facts hold for all."""

    slot: int
    rows: tuple[tuple[Literal, ...], ...]
    facts: tuple[Facts, ...]

    def column(self, name: str) -> tuple[Literal, ...]:
        """Return the values of a column, row by row."""
        place = int(name.removeprefix("c"))
        return tuple(row[place] for row in self.rows)


From = Scan | Derived | Join | Listed


@dataclass(frozen=True)
class Field:
    """A column of a subquery: a value, an identifier, or a column that is both."""

    name: str
    value: Expr | None
    identity: Identifier | None


@dataclass(frozen=True)
class Selected:
    """SELECT … FROM … WHERE …: a row for a row, or each different row of a unit once."""

    source: From
    where: Expr | None
    fields: tuple[Field, ...]
    distinct: bool = False
    qualify: Expr | None = None


@dataclass(frozen=True)
class UnitAggregate:
    """An exact aggregate over the rows of one unit (or of public tables), held within its facts."""

    function: str
    argument: Expr | None
    distinct: bool
    facts: Facts


@dataclass(frozen=True)
class Grouped:
    """GROUP BY inside a unit; fields, and `having`, are over keys and aggregates.

    `one_each` says that a unit has one row: its keys are the unit's own.
    """

    source: From
    where: Expr | None
    keys: tuple[Expr, ...]
    aggregates: tuple[UnitAggregate, ...]
    fields: tuple[Field, ...]
    having: Expr | None
    one_each: bool


@dataclass(frozen=True)
class Union:
    """The rows of several subqueries with the same columns."""

    branches: tuple[Rows, ...]
    fields: tuple[Field, ...]
    distinct: bool


Rows = Selected | Grouped | Union


def scans(source: From | Rows) -> list[Scan]:
    """Return every table a relation reads in FROM, at any depth."""
    match source:
        case Scan():
            return [source]
        case Derived(_, rows):
            return scans(rows)
        case Join(_, left, right, _):
            return [*scans(left), *scans(right)]
        case Listed():
            return []
        case Selected() | Grouped():
            return scans(source.source)
        case Union(branches, _, _):
            return [scan for branch in branches for scan in scans(branch)]


def is_private(source: From | Rows) -> bool:
    """Return whether any row belongs to somebody."""
    return any(scan.private for scan in scans(source))


def slots(source: From) -> frozenset[int]:
    """Return the slots whose columns a FROM makes visible."""
    match source:
        case Scan(slot) | Derived(slot) | Listed(slot):
            return frozenset({slot})
        case Join(_, left, right, _):
            return slots(left) | slots(right)


def conjuncts(condition: Expr | None) -> list[Expr]:
    """Return the conditions that AND joins."""
    if isinstance(condition, Call) and condition.op == "and":
        return [conjunct for arg in condition.args for conjunct in conjuncts(arg)]
    return [] if condition is None else [condition]


def listed(source: From) -> list[Listed]:
    """Return the rows written in the question that stand in a FROM itself, not in its subqueries."""
    match source:
        case Listed():
            return [source]
        case Join(_, left, right, _):
            return [*listed(left), *listed(right)]
        case Scan() | Derived():
            return []
