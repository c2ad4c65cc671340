"""The binder: names become columns, keys and aggregates; every expression gets its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.identifiers import (
    COMPARED,
    compared_sides,
    identifier_value,
    kind_beside,
)
from sanql.parse.expressions.interval_ends import interval_end
from sanql.parse.expressions.operators import operator
from sanql.parse.expressions.refusals import typed_name, unknown_construct
from sanql.parse.expressions.type_ranges import facts_in_smaller_range, value_in_smaller_range
from sanql.parse.relations.scope import UNIT, Scope, Visible
from sanql.parse.statistics.regressions import of_pairs
from sanql.parse.text.places import located
from sanql.parse.text.proportions import OPERATORS_MAX, too_many_operators
from sanql.question import (
    NUMERIC,
    Aggregate,
    AggregateRef,
    Call,
    Expr,
    Facts,
    Identifier,
    KeyRef,
    Output,
    SameIdentity,
    Type,
)

if TYPE_CHECKING:
    from sanql.parse.relations.reader import Reader
    from sanql.question import UnitAggregate

NAMED = (exp.Column, exp.Paren)  # what may be a column and nothing more
CONDITION = Facts(Type.BOOLEAN, nullable=True)
A = TypeVar("A", "Aggregate", "UnitAggregate")


class Binder(Generic[A]):
    """Binds the expressions of one SELECT, collecting its aggregates.

    `aggregate` says what an aggregate means here: a noisy statistic over many units, or an exact
    number about one.
    """

    def __init__(
        self,
        scope: Scope,
        reader: Reader,
        kinds: tuple[type[exp.Expression], ...],
        aggregate: Callable[[exp.Expression, Binder[A]], A],
    ) -> None:
        self.scope = scope
        self._reader = reader
        self._kinds = kinds
        self._bind_aggregate: Callable[[exp.Expression, Binder[A]], A] = aggregate
        self._depth = 0
        self._identifiers_as = ""
        self.windows_allowed = False
        self.values_allowed = False
        self.intervals_allowed = True
        self.aggregates: list[A] = []
        self.typed: list[exp.Expression] = []
        self._known: dict[Aggregate | UnitAggregate, int] = {}
        self._keys: tuple[Expr, ...] = ()
        self._places: dict[Expr, int] = {}
        self.keys_with_subqueries: dict[exp.Expression, int] = {}
        self.sets: tuple[tuple[int, ...], ...] = ()
        self.grouping: Callable[[exp.Expression], Expr] | None = None
        self.rewritten: Callable[[exp.Expression], exp.Expression | None] | None = None
        self.outputs: list[Output] = []

    @property
    def keys(self) -> tuple[Expr, ...]:
        """What GROUP BY groups by."""
        return self._keys

    @keys.setter
    def keys(self, keys: tuple[Expr, ...]) -> None:
        self._keys = keys
        self._places = {}
        for place, key in enumerate(keys):
            self._places.setdefault(key, place)

    def row(self, node: exp.Expression) -> Expr:
        """Return an expression over one row: inside WHERE, GROUP BY and aggregates."""
        self._reader.note_expression()
        try:
            value = self._row(node)
            return value_in_smaller_range(value) if self._reader.held else value
        except Refused as refused:
            raise located(refused, node) from None

    def _row(self, node: exp.Expression) -> Expr:
        if isinstance(node, exp.Column):
            return self._value(node)
        if isinstance(node, exp.Window):
            if self.windows_allowed:
                return self._reader.window(node, self)
            raise unknown_construct(node)
        if isinstance(node, exp.AggFunc):
            raise Refused(
                "aggregate_inside",
                f"the aggregate {typed_name(node)} cannot stand here",
                "use aggregates in SELECT, HAVING and ORDER BY; never one inside another",
            )
        special = self._identity(node) or self._subquery(node)
        if special is not None or self._identifiers_as or not isinstance(node, COMPARED):
            return special or self._deeper(node, self.row)
        try:
            return self._deeper(node, self.row)
        except Refused as refused:
            if refused.code != "unit_column":
                raise
            return self._about_identifier(node)

    def outer(self, node: exp.Expression, aliases: bool = False) -> Expr:
        """Return an expression over keys and aggregates: SELECT, HAVING and ORDER BY."""
        self._reader.note_expression()
        try:
            return self._outer(node, aliases)
        except Refused as refused:
            raise located(refused, node) from None

    def _outer(self, node: exp.Expression, aliases: bool) -> Expr:
        if isinstance(node, self._kinds):
            other = self.rewritten(node) if self.rewritten is not None else None
            return self._aggregate(node) if other is None else self._outer(other, aliases)
        if isinstance(node, exp.Anonymous) and self.intervals_allowed:
            end = interval_end(node, self.outputs)
            if end is not None:
                return end
        if isinstance(node, exp.Grouping | exp.GroupingId) and self.grouping is not None:
            return self.grouping(node)
        if isinstance(node, exp.AggFunc):
            paired = of_pairs(node) if self.rewritten is not None else None
            if paired is not None:
                return self._outer(paired, aliases)
            return self._aggregate(node)  # which has no place here, and is refused by name
        missing = self._missing(node)
        if missing is not None:
            return missing
        key = self._key(node)
        if key is not None:
            self._check_value(key, node)
            return key
        if isinstance(node, exp.Column):
            return self._outer_column(node, aliases)
        if isinstance(node, exp.Subquery) and self.values_allowed:
            return self._reader.constant(node, self)
        return self._deeper(node, lambda inner: self.outer(inner, aliases))

    def _deeper(self, node: exp.Expression, bind: object) -> Expr:
        self._depth += 1
        if self._depth > OPERATORS_MAX:
            raise too_many_operators()
        try:
            return operator(node, bind)  # type: ignore[arg-type]
        finally:
            self._depth -= 1

    def visible(self, node: exp.Expression) -> Visible | None:
        """Return the column an expression is, if it is one and nothing more."""
        while isinstance(node, exp.Paren):
            node = node.this
        return self.scope.column(node) if isinstance(node, exp.Column) else None

    def _value(self, node: exp.Column) -> Expr:
        column = self.scope.column(node)
        if column.value is None and column.identity is not None and self._identifiers_as:
            return identifier_value(column.identity, self._identifiers_as)
        if column.value is None:
            raise _only_counted(column.name)
        return column.value

    def _about_identifier(self, node: exp.Expression) -> Expr:
        """Return a comparison of an identifier with constants, or with values of public tables.

        It is a condition on a row's own columns like any other: which rows of a unit pass hangs on
        that unit alone. So no sensitivity changes, and an answer about one unit has all the noise.
        """
        sides = compared_sides(node)
        others = [self.row(side) for side in sides if not self._names_identifier(side)]
        with self.identifiers_as({other.facts.type for other in others}):
            return self._deeper(node, self.row)

    @contextmanager
    def identifiers_as(self, kinds: Set[Type]) -> Iterator[None]:
        """Let identifiers be read as values that can be compared with those of these types."""
        before, self._identifiers_as = self._identifiers_as, kind_beside(kinds)
        try:
            yield
        finally:
            self._identifiers_as = before

    def _names_identifier(self, node: exp.Expression) -> bool:
        """Return whether an identifier that has no value of its own stands in an expression."""
        for column in node.find_all(exp.Column):
            try:
                found = self.scope.column(column)
            except Refused:
                continue  # refused where it is read
            if found.value is None and found.identity is not None:
                return True
        return False

    def _identity(self, node: exp.Expression) -> Expr | None:
        """Return what may be said about identifiers: that two are equal, or that one is missing."""
        if isinstance(node, exp.EQ) and all(isinstance(side, NAMED) for side in _sides(node)):
            sides = [self.visible(side) for side in _sides(node)]
            left, right = (side.identity if side is not None else None for side in sides)
            if left is not None and right is not None and left.entity == right.entity:
                return SameIdentity(left, right, CONDITION)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            column = self.visible(node.this)
            if column is not None and column.value is None and column.identity is not None:
                return Call("is_null", (column.identity,), Facts(Type.BOOLEAN, nullable=False))
        return None

    def _subquery(self, node: exp.Expression) -> Expr | None:
        if isinstance(node, exp.Exists):
            return self._reader.exists(node, self)
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            return self._reader.member(node, self)
        if isinstance(node, exp.Subquery):
            return self._reader.value(node, self)
        return None

    def _key(self, node: exp.Expression) -> KeyRef | None:
        """Return the key this expression is, if GROUP BY has it.

        Bound twice, a subquery would be two: what holds one is the key that is written alike.
        """
        alike = self.keys_with_subqueries.get(node) if self.keys_with_subqueries else None
        if alike is not None:
            return KeyRef(alike, self._outside(alike, self.keys[alike].facts))
        if not self.keys or any(node.find_all(exp.AggFunc)):
            return None
        try:
            bound = self.key(node)
        except Refused:
            return None
        place = self._places.get(bound)
        return KeyRef(place, self._outside(place, bound.facts)) if place is not None else None

    def _check_value(self, key: KeyRef, node: exp.Expression) -> None:
        """Refuse to compute with a key that identifies: how it is stored is no part of its facts."""
        if isinstance(self.keys[key.index], Identifier):
            column = self.visible(node)
            raise _only_counted(column.name if column is not None else "what identifies")

    def _missing(self, node: exp.Expression) -> Expr | None:
        """Return whether a group lacks an identifier: all that may be asked of one."""
        if not isinstance(node, exp.Is) or not isinstance(node.expression, exp.Null):
            return None
        key = self._key(node.this)
        if key is None or not isinstance(self.keys[key.index], Identifier):
            return None
        return Call("is_null", (key,), Facts(Type.BOOLEAN, nullable=False))

    def _outside(self, index: int, facts: Facts) -> Facts:
        """Return a key's facts in rows of the answer: NULL where a row is not grouped by it."""
        everywhere = all(index in chosen for chosen in self.sets)
        return facts if everywhere else replace(facts, nullable=True)

    def key(self, node: exp.Expression) -> Expr:
        """Return what GROUP BY groups by: an expression, or an identifier where it is allowed."""
        column = self.visible(node)
        if column is not None and column.value is None and column.identity is not None:
            return column.identity
        return self.row(node)

    def _outer_column(self, node: exp.Column, aliases: bool) -> Expr:
        if aliases and not node.args.get("table"):
            for output in self.outputs:
                if output.name.lower() == str(node.name).lower():
                    return output.expression
        value = self._value(node)
        raise Refused(
            "column_not_grouped",
            f"the column {node.name} is neither in GROUP BY nor inside an aggregate",
            f"add it to GROUP BY, or ask for a statistic of it, such as "
            f"{'AVG' if value.facts.type in NUMERIC else 'COUNT'}({node.name})",
        )

    def _aggregate(self, node: exp.Expression) -> AggregateRef:
        aggregate = self._bind_aggregate(node, self)
        if self._reader.held:
            aggregate = replace(aggregate, facts=facts_in_smaller_range(aggregate.facts))
        place = self._known.setdefault(_unwritten(aggregate), len(self.aggregates))
        if place == len(self.aggregates):
            self.aggregates.append(aggregate)
            self.typed.append(node)
        return AggregateRef(place, aggregate.facts)

    def is_bare_unit(self, node: exp.Expression) -> bool:
        """Return whether the expression is the privacy unit's column and nothing more."""
        column = self.visible(node)
        return column is not None and _is_unit(column.identity)


def _only_counted(name: str) -> Refused:
    return Refused(
        "unit_column",
        f"{name} identifies the privacy unit; it can only be counted and compared",
        f"use COUNT(DISTINCT {name}), join tables on it, or compare it with constants: {name} IN (1, 2)",
    )


def _sides(node: exp.EQ) -> tuple[exp.Expression, exp.Expression]:
    return node.this, node.expression


def _is_unit(identity: Identifier | None) -> bool:
    return identity is not None and identity.entity == UNIT


def _unwritten(aggregate: Aggregate | UnitAggregate) -> Aggregate | UnitAggregate:
    """Return an aggregate without its text: the same one is asked for once, however it is written."""
    return replace(aggregate, text="") if isinstance(aggregate, Aggregate) else aggregate
