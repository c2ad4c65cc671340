"""The binder: names become columns, keys and aggregates; every expression gets its facts."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.aggregates import AGGREGATES, bind_aggregate
from sanql.parse.functions import BIGINT_RANGE
from sanql.parse.guard import DEPTH_MAX, too_deep
from sanql.parse.operators import operator, unknown_construct
from sanql.parse.tree import (
    NUMERIC,
    Aggregate,
    AggregateRef,
    ColumnRef,
    Expr,
    Facts,
    KeyRef,
    Output,
    Type,
)
from sanql.policy import Column, ColumnUnit, Table

TYPES = {
    "integer": Type.INTEGER,
    "decimal": Type.REAL,
    "float": Type.REAL,
    "text": Type.TEXT,
    "boolean": Type.BOOLEAN,
    "date": Type.DATE,
    "timestamp": Type.TIMESTAMP,
}
TEMPORAL_DEFAULTS = {
    Type.DATE: (date(1, 1, 1), date(9999, 12, 31)),
    Type.TIMESTAMP: (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)),
}


def column_facts(column: Column) -> Facts:
    """Return what is proved about a column once its bounds are enforced on reading."""
    kind = TYPES[column.type]
    grid = Fraction(1) if kind is Type.INTEGER else column.precision
    if column.bounds is not None:
        low, high = (
            Fraction(end) if isinstance(end, int | Fraction) else end for end in column.bounds
        )
        assert not isinstance(low, str) and not isinstance(high, str)  # noqa: S101
        if kind is Type.TIMESTAMP:
            low, high = _moment(low), _moment(high)
        return Facts(kind, low, high, grid=grid)
    if kind is Type.INTEGER:
        return Facts(kind, *BIGINT_RANGE, grid=grid)
    if kind in TEMPORAL_DEFAULTS:
        return Facts(kind, *TEMPORAL_DEFAULTS[kind])
    return Facts(kind, grid=grid)


def _moment(bound: object) -> datetime:
    assert isinstance(bound, date)  # noqa: S101  (the policy loader checked the type)
    return bound if isinstance(bound, datetime) else datetime(bound.year, bound.month, bound.day)


class Binder:
    """Binds the expressions of one question over one table, collecting its aggregates."""

    def __init__(self, table: Table, alias: str | None) -> None:
        self._table = table
        self._names = {(alias or table.name).lower()}
        self._columns = {name.lower(): column for name, column in table.columns.items()}
        self._depth = 0
        self.aggregates: list[Aggregate] = []
        self.keys: tuple[Expr, ...] = ()
        self.outputs: list[Output] = []

    def row(self, node: exp.Expression) -> Expr:
        """Return an expression over one row: inside WHERE, GROUP BY and aggregates."""
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.AggFunc):
            raise Refused(
                "aggregate_inside",
                f"the aggregate {node.sql_name()} cannot stand here",
                "use aggregates in SELECT, HAVING and ORDER BY; never one inside another",
            )
        return self._deeper(node, self.row)

    def outer(self, node: exp.Expression, aliases: bool = False) -> Expr:
        """Return an expression over keys and noisy aggregates: SELECT, HAVING and ORDER BY."""
        if isinstance(node, AGGREGATES):
            return self._aggregate(node)
        key = self._key(node)
        if key is not None:
            return key
        if isinstance(node, exp.Column):
            return self._outer_column(node, aliases)
        return self._deeper(node, lambda inner: self.outer(inner, aliases))

    def _deeper(self, node: exp.Expression, bind: object) -> Expr:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise too_deep()
        try:
            return operator(node, bind)  # type: ignore[arg-type]
        finally:
            self._depth -= 1

    def _column(self, node: exp.Column) -> ColumnRef:
        name = self._unqualified(node)
        column = self._columns.get(name.lower())
        if column is None:
            raise self._unknown_column(name)
        return ColumnRef(column.name, column_facts(column))

    def _unqualified(self, node: exp.Column) -> str:
        if node.args.get("db") or node.args.get("catalog"):
            raise unknown_construct(node)
        qualifier = node.args.get("table")
        if qualifier is not None and str(qualifier.name).lower() not in self._names:
            raise Refused(
                "table_unknown",
                f"{qualifier.name}.{node.name} names a table the question does not read",
                f"the question reads {self._table.name}",
            )
        if not isinstance(node.this, exp.Identifier):
            raise unknown_construct(node.this)
        return str(node.name)

    def _unknown_column(self, name: str) -> Refused:
        near = get_close_matches(name.lower(), list(self._columns), n=1)
        hint = f"did you mean {self._columns[near[0]].name}? " if near else ""
        listed = ", ".join(column.name for column in self._columns.values()) or "none"
        if self._is_unit(name):
            return Refused(
                "unit_column",
                f"{name} identifies the privacy unit; it can only be counted",
                f"use COUNT(DISTINCT {name})",
            )
        return Refused(
            "column_unknown",
            f"the table {self._table.name} has no column {name} that may be used",
            f"{hint}the columns are {listed}",
        )

    def _is_unit(self, name: str) -> bool:
        unit = self._table.unit
        return isinstance(unit, ColumnUnit) and unit.column.lower() == name.lower()

    def _key(self, node: exp.Expression) -> KeyRef | None:
        """Return the key this expression is, if GROUP BY has it."""
        if not self.keys or any(node.find_all(exp.AggFunc)):
            return None
        try:
            bound = self.row(node)
        except Refused:
            return None
        for index, key in enumerate(self.keys):
            if key == bound:
                return KeyRef(index, key.facts)
        return None

    def _outer_column(self, node: exp.Column, aliases: bool) -> Expr:
        if aliases and not node.args.get("table"):
            for output in self.outputs:
                if output.name.lower() == str(node.name).lower():
                    return output.expression
        column = self._column(node)
        raise Refused(
            "column_not_grouped",
            f"the column {column.name} is neither in GROUP BY nor inside an aggregate",
            f"add it to GROUP BY, or ask for a statistic of it, such as "
            f"{'AVG' if column.facts.type in NUMERIC else 'COUNT'}({column.name})",
        )

    def _aggregate(self, node: exp.Expression) -> AggregateRef:
        aggregate = bind_aggregate(node, self)
        for index, known in enumerate(self.aggregates):
            if replace(known, text=aggregate.text) == aggregate:
                return AggregateRef(index, known.facts)
        self.aggregates.append(aggregate)
        return AggregateRef(len(self.aggregates) - 1, aggregate.facts)

    def is_bare_unit(self, node: exp.Expression) -> bool:
        """Return whether the expression is the privacy unit's column and nothing more."""
        while isinstance(node, exp.Paren):
            node = node.this
        return isinstance(node, exp.Column) and self._is_unit(self._unqualified(node))
