"""Which groups an answer has: keys known without the data, or keys that must be selected privately."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction

from sanql.computed_once import computed_once
from sanql.errors import Refused
from sanql.parse import groups_of_individuals
from sanql.plan.chosen_keys import null_passes, values_passing
from sanql.plan.known_values import domain_of, values_among
from sanql.plan.lookups import Lookup, chosen_of_table, lookups
from sanql.plan.reading import column_of
from sanql.policy import ListedDomain, Table, TableDomain, identifiers
from sanql.question import (
    NUMERIC,
    Call,
    ColumnRef,
    Expr,
    Facts,
    From,
    Listed,
    Literal,
    LiteralValue,
    Type,
    listed,
)

PRODUCT_MAX = 200_000
VALUES_MAX = 4_096  # by which rows are counted in every group
STEPS_MAX = 2**52  # a key further from zero may not be a whole number in the engine


@dataclass(frozen=True)
class KeyColumn:
    """The public values of one key; rows with another value are left out when `filtered`.

    Where `null`, rows that have no value are a group besides.
    """

    values: tuple[LiteralValue, ...] | TableDomain | Lookup
    filtered: bool
    null: bool = False

    @property
    def shows_null(self) -> bool:
        """Whether rows whose key is NULL are in a group."""
        return self.null or (isinstance(self.values, tuple) and None in self.values)

    @property
    def count(self) -> int | None:
        """How many values there are, with NULL where it is one; None where a public table decides."""
        return len(self.values) + self.null if isinstance(self.values, tuple) else None


@dataclass(frozen=True)
class FilteringKey:
    """A key of another grouping set; rows that have none of its public values are left out here too."""

    key: Expr
    column: KeyColumn


@dataclass(frozen=True)
class OneGroup:
    """No GROUP BY: one group, always there."""


@dataclass(frozen=True)
class PublicKeys:
    """Every combination of these values appears, empty or not."""

    columns: tuple[KeyColumn, ...]

    @computed_once
    def count(self) -> int | None:
        """How many groups there are, where a public table does not decide it."""
        sizes = [column.count for column in self.columns]
        known = [size for size in sizes if size is not None]
        return math.prod(known) if len(known) == len(sizes) else None


@dataclass(frozen=True)
class PrivateKeys:
    """Keys come from the data, so only those that enough units share may appear."""


Keys = OneGroup | PublicKeys | PrivateKeys


def check_strategy(keys: Keys, typed: str | None) -> None:
    """Refuse a group_selection_strategy that is unknown, or that these keys do not allow."""
    if typed is None or typed.upper() == "LAPLACE_THRESHOLD":
        return  # unknown keys appear where enough units share them; known ones all appear anyway
    if typed.upper() != "PUBLIC_GROUPS":
        raise Refused(
            "strategy_unknown",
            f"group_selection_strategy = {typed[:40]!r} is not known",
            "write LAPLACE_THRESHOLD or PUBLIC_GROUPS, or leave it out",
        )
    if isinstance(keys, PrivateKeys):
        raise Refused(
            "groups_private",
            "PUBLIC_GROUPS shows every key, and a key of this question comes from rows of somebody: "
            "that it is there would tell of them",
            "leave the strategy out, let the owner declare the column's domain, or group by a public "
            "table's column",
        )


def _refuse_individuals(expressions: Iterable[Expr], tables: Mapping[str, Table]) -> None:
    """Refuse private groups of one unit each: none would ever have enough units to appear.

    So are those of a foreign key on the way to the unit: one order is one customer's.
    """
    for expression in expressions:
        origin = expression.origin if isinstance(expression, ColumnRef) else None
        if origin is not None and origin[1] in identifiers(tables[origin[0]], tables):
            raise groups_of_individuals(origin[1])


def keys_of(
    expressions: tuple[Expr, ...],
    tables: Mapping[str, Table],
    source: From | None = None,
    where: Expr | None = None,
    null_groups: bool = False,
) -> Keys:
    """Return the groups of a question: one, public, or to be selected; `source` is what is private.

    With `null_groups` rows whose public key is NULL are a group as well.
    """
    if not expressions:
        return OneGroup()
    columns = [
        _chosen(_key_column(expression, tables), index, expression, where, tables, null_groups)
        for index, expression in enumerate(expressions)
    ]
    if source is not None:
        columns = _looked_up(columns, expressions, source, where, tables, null_groups)
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        _refuse_individuals(expressions, tables)
        return PrivateKeys()
    keys = PublicKeys(tuple(known))
    return keys if (keys.count or 0) <= PRODUCT_MAX else PrivateKeys()


def listed_values(expression: Expr, tables: Mapping[str, Table]) -> tuple[LiteralValue, ...] | None:
    """Return the values by which rows are counted, if the question and the policy tell them.

    A row with any other value, or none, is in no bin. So a choice between values has those of all its
    branches, also where a branch may have others.
    """
    listed = _listed(expression, tables)
    if listed is None or (expression.facts.type is Type.REAL and expression.facts.grid is None):
        return None
    values = tuple(v for v in _distinct(listed, expression.facts) if v is not None)
    beyond = any(_beyond(value, expression.facts) for value in values)
    return values if values and not beyond and len(values) <= VALUES_MAX else None


def _listed(expression: Expr, tables: Mapping[str, Table]) -> tuple[LiteralValue, ...] | None:
    match expression:
        case Call("case", args):
            pairs = zip(args[:-1:2], args[1:-1:2], strict=True)
            listed = [_named_in(test, branch) or _listed(branch, tables) for test, branch in pairs]
            listed.append(_listed(args[-1], tables))
        case Call("coalesce", args):
            listed = [_listed(branch, tables) for branch in args]
        case _:
            column = _key_column(expression, tables)
            return column.values if column and isinstance(column.values, tuple) else None
    known = [values for values in listed if values is not None]
    return tuple(v for values in known for v in values) if len(known) == len(listed) else None


def _named_in(test: Expr, branch: Expr) -> tuple[LiteralValue, ...] | None:
    """Return the values of a branch that is taken only where it is one of some constants."""
    match test:
        case Call("in" | "equal", (subject, *choices)) if subject == branch:
            named = [c.value for c in choices if isinstance(c, Literal) and _is_alike(c, branch)]
            return tuple(named) if len(named) == len(choices) else None
        case _:
            return None


def _is_alike(constant: Expr, value: Expr) -> bool:
    """Return whether a constant is a value of the same kind, as it is."""
    kinds = constant.facts.type, value.facts.type
    return kinds[0] is kinds[1] or set(kinds) <= NUMERIC


def _looked_up(
    columns: list[KeyColumn | None],
    expressions: tuple[Expr, ...],
    source: From,
    where: Expr | None,
    tables: Mapping[str, Table],
    null_groups: bool,
) -> list[KeyColumn | None]:
    """Return the keys, those that public tables decide read from there."""
    undeclared = {
        index: expression
        for index, expression in enumerate(expressions)
        if not isinstance(expression, ColumnRef) or domain_of(expression, tables) is None
    }
    written = {each.slot: each for each in listed(source)}
    looked_up = [
        column
        or _with_null(
            _written_column(expression, written) or _public_column(expression, tables),
            expression,
            where,
            null_groups,
        )
        for column, expression in zip(columns, expressions, strict=True)
    ]
    unknown = {index for index, column in enumerate(columns) if column is None}
    for lookup in lookups(undeclared, source, where, tables, unknown, null_groups):
        for index in lookup.keys:
            looked_up[index] = KeyColumn(lookup, filtered=True, null=index in lookup.nullable)
    return looked_up


def _with_null(
    column: KeyColumn | None, key: Expr, where: Expr | None, null_groups: bool
) -> KeyColumn | None:
    """Return a key with NULL among its values, where that is asked for and a row may have it."""
    if column is None or not null_groups or not key.facts.nullable or column.shows_null:
        return column
    return replace(column, null=null_passes(where, key))


def _written_column(expression: Expr, written: Mapping[int, Listed]) -> KeyColumn | None:
    """Return all values of a column that the question writes out."""
    if not isinstance(expression, ColumnRef) or expression.slot not in written:
        return None
    if expression.facts.type is Type.REAL and expression.facts.grid is None:
        return None
    values = [constant.value for constant in written[expression.slot].column(expression.name)]
    present = [value for value in values if value is not None]
    return KeyColumn(_distinct(present, expression.facts), filtered=True) if present else None


def _public_column(expression: Expr, tables: Mapping[str, Table]) -> KeyColumn | None:
    """Return all values of a public table's column; a number needs a precision to be a key."""
    if not isinstance(expression, ColumnRef) or expression.origin is None:
        return None
    known = column_of(expression, tables)
    if known is None or not tables[expression.origin[0]].public:
        return None
    exact = known.type not in ("decimal", "float") or known.precision is not None
    return KeyColumn(TableDomain(*expression.origin), filtered=True) if exact else None


def _chosen(
    column: KeyColumn | None,
    index: int,
    expression: Expr,
    where: Expr | None,
    tables: Mapping[str, Table],
    null_groups: bool,
) -> KeyColumn | None:
    """Return a key with only those of its values that a condition on all rows leaves."""
    column = _with_null(column, expression, where, null_groups)
    if column is None or isinstance(column.values, Lookup):
        return column
    if column.null and isinstance(column.values, TableDomain):
        return column  # of a condition that NULL passes it is not known which of the others do
    if isinstance(column.values, TableDomain):
        assert isinstance(expression, ColumnRef)  # noqa: S101  (columns have domains)
        lookup = chosen_of_table(index, expression, column.values, where, tables)
        return KeyColumn(lookup, column.filtered) if lookup is not None else column
    left = values_passing(where, expression, column.values, null=column.null)
    return replace(column, values=left)


def _key_column(expression: Expr, tables: Mapping[str, Table]) -> KeyColumn | None:
    if isinstance(expression, ColumnRef):
        domain = domain_of(expression, tables)
        match domain:
            case ListedDomain(values):
                return KeyColumn(_distinct(values, expression.facts), filtered=True)
            case TableDomain():
                return KeyColumn(domain, filtered=True)
            case None:
                pass
    named = _named_where_null(expression, tables)
    if named is not None:
        return KeyColumn(named, filtered=True)
    derived = values_among(expression, tables)
    if derived is None or any(_beyond(value, expression.facts) for value in derived):
        return None
    distinct = _distinct(derived, expression.facts)
    filtered = expression.facts.nullable and None not in distinct
    return KeyColumn(distinct, filtered)


def _named_where_null(key: Expr, tables: Mapping[str, Table]) -> tuple[LiteralValue, ...] | None:
    """Return the values of COALESCE(x, 'none'), a listed key that has a name where it is NULL."""
    match key:
        case Call("coalesce", (ColumnRef() as column, Literal(str() | int() | date() as name))):
            domain = domain_of(column, tables)
            if isinstance(domain, ListedDomain) and column.facts.type is key.facts.type:
                return _distinct((*domain.values, name), key.facts)
    return None


def _beyond(value: LiteralValue, facts: Facts) -> bool:
    """Return whether the engine cannot hold a number exactly."""
    step = facts.grid if facts.grid and facts.type is Type.REAL else Fraction(1)
    return isinstance(value, int | Fraction) and abs(Fraction(value)) > STEPS_MAX * step


def _distinct(values: Iterable[LiteralValue], facts: Facts) -> tuple[LiteralValue, ...]:
    """Return each key once.

    Values that the engine takes for one key must be one key here too: listed twice, its group would
    appear twice, and each unit in it would move two cells.
    """
    return tuple(dict.fromkeys(_as_key(value, facts) for value in values))


def _as_key(value: LiteralValue, facts: Facts) -> LiteralValue:
    """Return a value as the engine will read it."""
    if facts.type is Type.TIMESTAMP and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    if facts.type is Type.REAL and facts.grid and isinstance(value, int | Fraction):
        return math.floor(value / facts.grid + Fraction(1, 2)) * facts.grid
    return value
