"""Conditions and choices: comparisons, AND, OR, NOT, CASE, COALESCE, NULLIF."""

from __future__ import annotations

from sanql.parse.functions.facts import Rule, any_nullable, choice, comparable, need
from sanql.parse.tree import Expr, Facts, Type


def _comparison(args: tuple[Expr, ...]) -> Facts:
    comparable(args)
    return Facts(Type.BOOLEAN, nullable=any_nullable(args))


def _distinct_from(args: tuple[Expr, ...]) -> Facts:
    comparable(args)
    return Facts(Type.BOOLEAN, nullable=False)


def _logic(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.BOOLEAN}), "AND, OR and NOT")
    return Facts(Type.BOOLEAN, nullable=any_nullable(args))


def _never_null(args: tuple[Expr, ...]) -> Facts:
    return Facts(Type.BOOLEAN, nullable=False)


def _is_true(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.BOOLEAN}), "IS TRUE and IS FALSE")
    return Facts(Type.BOOLEAN, nullable=False)


def _case(args: tuple[Expr, ...]) -> Facts:
    """Facts of CASE: args are condition, value, condition, value, …, default."""
    conditions, values = args[:-1:2], [*args[1:-1:2], args[-1]]
    need(conditions, frozenset({Type.BOOLEAN}), "CASE WHEN")
    return choice(values, any_nullable(values))


def _coalesce(args: tuple[Expr, ...]) -> Facts:
    return choice(args, all(arg.facts.nullable for arg in args))


def _nullif(args: tuple[Expr, ...]) -> Facts:
    comparable(args)
    first = args[0].facts
    return Facts(first.type, first.low, first.high, nullable=True, grid=first.grid)


LOGIC: dict[str, Rule] = {
    "equal": _comparison,
    "not_equal": _comparison,
    "less": _comparison,
    "less_equal": _comparison,
    "greater": _comparison,
    "greater_equal": _comparison,
    "distinct_from": _distinct_from,
    "not_distinct_from": _distinct_from,
    "in": _comparison,
    "between": _comparison,
    "and": _logic,
    "or": _logic,
    "not": _logic,
    "is_null": _never_null,
    "is_true": _is_true,
    "is_false": _is_true,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
}
