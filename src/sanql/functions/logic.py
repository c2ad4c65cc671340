"""Conditions and choices: comparisons, AND, OR, NOT, CASE, COALESCE, NULLIF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sanql.functions.facts import (
    any_nullable,
    choice,
    comparable,
    constant_number,
    interval_of,
    need,
    number_facts,
)
from sanql.functions.table import Function
from sanql.question import NUMERIC, Call, Expr, Facts, Type


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
    conditions, values = args[:-1:2], args[1:-1:2]
    need(conditions, frozenset({Type.BOOLEAN}), "CASE WHEN")
    held = [
        *(_where(test, value) for test, value in zip(conditions, values, strict=True)),
        args[-1],
    ]
    return choice(held, any_nullable(held))


def _where(condition: Expr, value: Expr) -> Expr:
    """Return a value with the bounds that its own condition gives it.

    `CASE WHEN x BETWEEN 0 AND 100 THEN x END` lies between 0 and 100 whatever x is, and where the
    comparison holds, x is not NULL.
    """
    limits = [limit for test in _all_of(condition) for limit in _limits(test, value)]
    lows = [low for low, _ in limits if low is not None]
    highs = [high for _, high in limits if high is not None]
    if not lows or not highs or value.facts.type not in NUMERIC:
        return value
    low, high = max(lows), min(highs)
    known = interval_of(value.facts)
    if known is not None:
        low, high = max(low, known[0]), min(high, known[1])
    # where no value can satisfy the condition, any bounds hold
    bounds = (low, max(low, high))
    return replace(value, facts=number_facts(value.facts.type, bounds, False, value.facts.grid))


def _all_of(condition: Expr) -> Iterator[Expr]:
    pending = [condition]
    while pending:
        test = pending.pop()
        if isinstance(test, Call) and test.op == "and":
            pending.extend(test.args)
        else:
            yield test


Limit = tuple[Fraction | None, Fraction | None]


def _limits(test: Expr, value: Expr) -> list[Limit]:
    """Return what a comparison with constants says of a value."""
    match test:
        case Call("between", (subject, low, high)) if subject == value:
            return [(_constant(low), None), (None, _constant(high))]
        case Call("greater" | "greater_equal", (subject, low)) if subject == value:
            return [(_constant(low), None)]
        case Call("less" | "less_equal", (subject, high)) if subject == value:
            return [(None, _constant(high))]
        case Call("greater" | "greater_equal", (high, subject)) if subject == value:
            return [(None, _constant(high))]
        case Call("less" | "less_equal", (low, subject)) if subject == value:
            return [(_constant(low), None)]
        case _:
            return []


def _constant(arg: Expr) -> Fraction | None:
    """Return a constant that a double holds exactly: others are rounded when they are compared."""
    value = constant_number(arg)
    if value is None or abs(value) > 2**52 or Fraction(float(value)) != value:
        return None
    return value


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
    Function(
        "not_distinct_from",
        "x IS NOT DISTINCT FROM y, EQUAL_NULL(x, y)",
        _distinct_from,
        "never NULL",
        TRUTH,
    ),
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
        "CASE [x] WHEN a THEN y … [ELSE z] END, IF(a, y[, z]), NVL2(x, y, z), "
        "DECODE(x, a, y, …[, z])",
        _case,
        "NULL where no branch holds and there is no ELSE",
        "around the bounds of all branches; WHEN x BETWEEN 0 AND 9 THEN x is from 0 to 9",
        ("IF", "IFF", "IIF"),
        (2, 3),
    ),
    Function(
        "coalesce",
        "COALESCE(x, y, …), ISNULL(x, y), ZEROIFNULL(x)",
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
