"""Conditions and choices: comparisons, AND, OR, NOT, CASE, COALESCE, NULLIF."""

from __future__ import annotations

from sanql.parse.functions.facts import any_nullable, choice, comparable, need
from sanql.parse.functions.table import Function
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


NULL_LIKE_SQL = "NULL where SQL says so"
TRUTH = "true or false"
LOGIC = (
    *(
        Function(op, f"x {sign} y", _comparison, NULL_LIKE_SQL, TRUTH)
        for op, sign in {
            "equal": "=",
            "not_equal": "<>",
            "less": "<",
            "less_equal": "<=",
            "greater": ">",
            "greater_equal": ">=",
        }.items()
    ),
    Function("distinct_from", "x IS DISTINCT FROM y", _distinct_from, "never NULL", TRUTH),
    Function("not_distinct_from", "x IS NOT DISTINCT FROM y", _distinct_from, "never NULL", TRUTH),
    Function("in", "x IN (constants)", _comparison, NULL_LIKE_SQL, TRUTH),
    Function("between", "x BETWEEN y AND z", _comparison, NULL_LIKE_SQL, TRUTH),
    Function("and", "a AND b", _logic, NULL_LIKE_SQL, TRUTH),
    Function("or", "a OR b", _logic, NULL_LIKE_SQL, TRUTH),
    Function("not", "NOT a", _logic, NULL_LIKE_SQL, TRUTH),
    Function("is_null", "x IS [NOT] NULL", _never_null, "never NULL", TRUTH),
    Function("is_true", "a IS [NOT] TRUE", _is_true, "never NULL", TRUTH),
    Function("is_false", "a IS [NOT] FALSE", _is_true, "never NULL", TRUTH),
    Function(
        "case",
        "CASE [x] WHEN a THEN y … [ELSE z] END, IF(a, y[, z]), NVL2(x, y, z)",
        _case,
        "NULL where no branch holds and there is no ELSE",
        "around the bounds of all branches",
        ("IF", "IFF", "IIF"),
        (2, 3),
    ),
    Function(
        "coalesce",
        "COALESCE(x, y, …), ZEROIFNULL(x)",
        _coalesce,
        "NULL only when all are",
        "around the bounds of all operands",
        ("COALESCE", "IFNULL", "NVL"),
        (1, 1000),
    ),
    Function(
        "nullif",
        "NULLIF(x, y), NULLIFZERO(x)",
        _nullif,
        "NULL where x = y",
        "the bounds of x",
        ("NULLIF",),
        (2, 2),
    ),
)
