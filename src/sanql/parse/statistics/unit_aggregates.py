"""Aggregates inside a subquery: exact, because they are about one unit (or about public tables).

What bounds them is how many rows of a unit may count: a unit with more is read as one that has the
most. So COUNT lies within that limit, and SUM within that many times the bounds of one value.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.errors import Refused
from sanql.functions import call
from sanql.parse.expressions.refusals import as_typed, typed_name, unknown_construct
from sanql.question import BIGINT_RANGE, NUMERIC, Expr, Facts, Type, UnitAggregate, stating_bounds

if TYPE_CHECKING:
    from sanql.parse.expressions.binder import Binder

UNIT_AGGREGATES: tuple[type[exp.Expression], ...] = (
    exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd,
    exp.Filter,
)  # fmt: skip
NAMES: dict[type[exp.Expression], str] = {
    exp.Min: "min",
    exp.Max: "max",
    exp.LogicalOr: "bool_or",
    exp.LogicalAnd: "bool_and",
}
COUNT_MAX = 2**62


def bind_unit_aggregate(
    node: exp.Expression, binder: Binder[UnitAggregate], limit: int | None
) -> UnitAggregate:
    """Return an exact aggregate over one unit's rows, with what is proved about it."""
    if not isinstance(node, UNIT_AGGREGATES):
        raise _not_inside(node)
    text = as_typed(node)
    condition = None
    if isinstance(node, exp.Filter):
        condition = _condition(node.expression.this, binder)
        node = node.this
        if not isinstance(node, UNIT_AGGREGATES):
            raise _not_inside(node)
    if {name for name, value in node.args.items() if value} - {"this", "big_int"}:
        raise unknown_construct(node)
    inner = node.args.get("this")
    distinct = isinstance(inner, exp.Distinct)
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1 or inner.args.get("on"):
            raise unknown_construct(node)
        inner = inner.expressions[0]
    if isinstance(node, exp.CountIf):
        return _count(_only_if(_condition(inner, binder), _one()), distinct, limit)
    if isinstance(node, exp.Count):
        argument = _counted(inner, binder, distinct)
        if condition is not None:
            argument = _only_if(condition, argument if argument is not None else _one())
        return _count(argument, distinct, limit)
    if inner is None or isinstance(inner, exp.Star):
        raise unknown_construct(node)
    argument = binder.row(inner)
    if condition is not None:
        argument = _only_if(condition, argument)
    if type(node) in NAMES:
        return _one_of_them(node, argument, text)
    if not isinstance(node, exp.Sum | exp.Avg):
        raise unknown_construct(node)
    return _numeric(node, argument, distinct, limit, text)


def _not_inside(node: exp.Expression) -> Refused:
    return Refused(
        "construct_unsupported",
        f"{typed_name(node)} cannot stand in a subquery: inside, numbers are exact and about one unit, "
        "and only some are there",
        "inside a subquery use COUNT, COUNT_IF, SUM, AVG, MIN, MAX, BOOL_OR or BOOL_AND; all statistics "
        "may stand outside",
    )


def _condition(node: exp.Expression | None, binder: Binder[UnitAggregate]) -> Expr:
    if node is None:
        raise Refused("type_mismatch", "a condition is missing", "write COUNT_IF(age > 40)")
    condition = binder.row(node)
    if condition.facts.type not in (Type.BOOLEAN, Type.NULL):
        raise Refused("type_mismatch", "a condition is needed", "compare, for example age > 40")
    return condition


def _one() -> Expr:
    from sanql.question import integer_literal

    return integer_literal(1)


def _only_if(condition: Expr, value: Expr) -> Expr:
    from sanql.question import NULL

    return call("case", condition, value, NULL)


def _counted(
    node: exp.Expression | None, binder: Binder[UnitAggregate], distinct: bool
) -> Expr | None:
    if node is None or isinstance(node, exp.Star):
        return None
    column = binder.visible(node)
    if column is not None and column.value is None:
        return column.identity
    argument = binder.row(node)
    return argument if argument.facts.nullable or distinct else None


def _count(argument: Expr | None, distinct: bool, limit: int | None) -> UnitAggregate:
    most = Fraction(limit if limit is not None else COUNT_MAX)
    facts = Facts(Type.INTEGER, Fraction(0), most, nullable=False, grid=Fraction(1))
    return UnitAggregate("count", argument, distinct, facts)


def _one_of_them(node: exp.Expression, argument: Expr, text: str) -> UnitAggregate:
    if isinstance(node, exp.LogicalOr | exp.LogicalAnd) and argument.facts.type is not Type.BOOLEAN:
        raise Refused("type_mismatch", f"{text} needs a condition", "compare, for example age > 40")
    facts = replace(argument.facts, nullable=True)
    return UnitAggregate(NAMES[type(node)], argument, False, facts)


def _numeric(
    node: exp.Sum | exp.Avg, argument: Expr, distinct: bool, limit: int | None, text: str
) -> UnitAggregate:
    facts = argument.facts
    if facts.type not in NUMERIC:
        raise Refused(
            "type_mismatch", f"{text} needs a number", "count with a condition, or CAST the value"
        )
    name = "avg" if isinstance(node, exp.Avg) else "sum"
    if facts.type is Type.REAL and not facts.bounded:
        if limit is None:  # public: it needs no bounds, and the order of rows is nobody's
            return UnitAggregate(name, argument, distinct, Facts(Type.REAL))
        raise Refused(
            "bounds_missing",
            f"{text} has no bounds, so it has no exact sum",
            "let the owner declare bounds for the column, or state your own in the question: "
            + stating_bounds(name.upper()),
        )
    if name == "avg":
        return UnitAggregate(name, argument, distinct, Facts(Type.REAL, facts.low, facts.high))
    low, high = facts.low, facts.high
    assert isinstance(low, Fraction) and isinstance(high, Fraction)  # noqa: S101
    times = limit if limit is not None else COUNT_MAX
    low, high = min(low * times, Fraction(0)), max(high * times, Fraction(0))
    if facts.type is Type.INTEGER:
        low, high = max(low, BIGINT_RANGE[0]), min(high, BIGINT_RANGE[1])
    return UnitAggregate(name, argument, distinct, Facts(facts.type, low, high, grid=facts.grid))
