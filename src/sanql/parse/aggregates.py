"""Aggregates: what a statistic asks for, and why one without bounds cannot be private."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.functions import INTEGER_LIMIT
from sanql.parse.operators import unknown_construct
from sanql.parse.tree import NUMERIC, Aggregate, Aggregation, Expr, Facts, Type

Statistic = exp.Count | exp.Sum | exp.Avg
AGGREGATES = (exp.Count, exp.Sum, exp.Avg)
NOISY_RANGE = (Fraction(-(2**62)), Fraction(2**62))


class Rows(Protocol):
    """What an aggregate needs of the binder: expressions over one row."""

    def row(self, node: exp.Expression) -> Expr:
        """Return an expression over one row."""

    def is_bare_unit(self, node: exp.Expression) -> bool:
        """Return whether the expression is the privacy unit's column and nothing more."""


def bind_aggregate(node: Statistic, rows: Rows) -> Aggregate:
    """Return the statistic a node asks for, or refuse it by name."""
    text = node.sql(dialect="duckdb", comments=False)
    inner = node.args.get("this")
    extra = {name for name, value in node.args.items() if value} - {"this", "big_int"}
    if extra:
        raise unknown_construct(node)
    if isinstance(inner, exp.Distinct):
        return _distinct(node, inner, text, rows)
    counted = Facts(Type.INTEGER, *NOISY_RANGE, nullable=False, grid=Fraction(1))
    if isinstance(node, exp.Count):
        if inner is None or isinstance(inner, exp.Star):
            if isinstance(inner, exp.Star) and any(inner.args.values()):
                raise unknown_construct(inner)
            return Aggregate(Aggregation.COUNT, None, counted, text)
        argument = None if rows.is_bare_unit(inner) else rows.row(inner)
        if argument is not None and not argument.facts.nullable:
            argument = None  # never NULL: the same as COUNT(*)
        return Aggregate(Aggregation.COUNT, argument, counted, text)
    argument = rows.row(inner) if inner is not None else None
    return _numeric(node, argument, text)


def _numeric(node: Statistic, argument: Expr | None, text: str) -> Aggregate:
    name = node.sql_name()
    if argument is None or argument.facts.type not in NUMERIC:
        raise Refused(
            "type_mismatch",
            f"{text} needs a number",
            f"use {name}(CASE WHEN … THEN 1 ELSE 0 END), COUNT, or CAST the value",
        )
    low, high = argument.facts.low, argument.facts.high
    unlimited = argument.facts.type is Type.INTEGER and max(abs(low), abs(high)) >= 2**62  # type: ignore[arg-type]
    if not argument.facts.bounded or unlimited:
        raise Refused(
            "bounds_missing",
            f"{text} has no bounds, so one row could change it without limit",
            "let the owner declare bounds for the column, or state them in the question: "
            f"{name}(GREATEST(0, LEAST(100, …)))",
        )
    if isinstance(node, exp.Avg):
        facts = Facts(Type.REAL, low, high, nullable=True)
        return Aggregate(Aggregation.AVERAGE, argument, facts, text)
    if argument.facts.type is Type.INTEGER:
        facts = Facts(Type.INTEGER, *NOISY_RANGE, nullable=False, grid=Fraction(1))
    else:
        top = Fraction(INTEGER_LIMIT)
        facts = Facts(Type.REAL, -top, top, nullable=False)
    return Aggregate(Aggregation.SUM, argument, facts, text)


def _distinct(node: Statistic, inner: exp.Distinct, text: str, rows: Rows) -> Aggregate:
    values = inner.expressions
    if not isinstance(node, exp.Count) or len(values) != 1 or inner.args.get("on"):
        raise Refused(
            "distinct_unsupported",
            f"{text} is not supported: DISTINCT goes with COUNT of one expression",
            "use COUNT(DISTINCT x), or the aggregate without DISTINCT",
        )
    facts = Facts(Type.INTEGER, *NOISY_RANGE, nullable=False, grid=Fraction(1))
    if rows.is_bare_unit(values[0]):
        return Aggregate(Aggregation.COUNT_UNITS, None, facts, text)
    argument = rows.row(values[0])
    if argument.facts.type is Type.REAL and argument.facts.grid is None:
        raise Refused(
            "distinct_real",
            f"{text} counts values with no fixed precision",
            "round them first: COUNT(DISTINCT ROUND(x, 2))",
        )
    return Aggregate(Aggregation.COUNT_DISTINCT, argument, facts, text)
