"""Casts: what cannot be cast is NULL, and what can lies in the range of its type."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

from sanql.functions import bounds as intervals
from sanql.functions.facts import (
    Rule,
    any_nullable,
    as_date,
    as_timestamp,
    interval_of,
    need,
    number_facts,
)
from sanql.functions.table import Function
from sanql.question import NUMERIC, TEMPORAL, Expr, Facts, Type

CAST_RANGES = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "integer": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}


def _cast_whole(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        kinds = NUMERIC | {Type.TEXT, Type.BOOLEAN}
        need(args, kinds, f"CAST AS {name.upper()}")
        low, high = (Fraction(end) for end in CAST_RANGES[name])
        source = interval_of(args[0].facts)
        if args[0].facts.type is Type.BOOLEAN:
            source = (Fraction(0), Fraction(1))
        if source is not None:
            rounded = intervals.round_outward(source, 0)
            low, high = max(low, rounded[0]), min(high, rounded[1])
            if low > high:  # nothing fits: always NULL
                low = high = Fraction(0)
        return number_facts(Type.INTEGER, (low, high), nullable=True)

    return rule


def _cast_real(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC | {Type.TEXT, Type.BOOLEAN}, "CAST AS DOUBLE")
    facts = args[0].facts
    if facts.type is Type.BOOLEAN:
        return number_facts(Type.REAL, (Fraction(0), Fraction(1)), facts.nullable, Fraction(1))
    nullable = facts.nullable if facts.type is Type.REAL else True
    return number_facts(Type.REAL, interval_of(facts), nullable, facts.grid)


def _cast_text(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset(Type), "CAST AS VARCHAR")
    return Facts(Type.TEXT, nullable=any_nullable(args))


def _cast_boolean(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC | {Type.TEXT, Type.BOOLEAN}, "CAST AS BOOLEAN")
    return Facts(Type.BOOLEAN, nullable=True)


def _cast_date(args: tuple[Expr, ...]) -> Facts:
    need(args, TEMPORAL | {Type.TEXT}, "CAST AS DATE")
    low, high = args[0].facts.low, args[0].facts.high
    if args[0].facts.type in TEMPORAL and isinstance(low, date) and isinstance(high, date):
        return Facts(Type.DATE, as_date(low), as_date(high), nullable=True)
    return Facts(Type.DATE, date.min, date.max, nullable=True)


def _cast_timestamp(args: tuple[Expr, ...]) -> Facts:
    need(args, TEMPORAL | {Type.TEXT}, "CAST AS TIMESTAMP")
    low, high = args[0].facts.low, args[0].facts.high
    if args[0].facts.type in TEMPORAL and isinstance(low, date) and isinstance(high, date):
        kind = Type.TIMESTAMP
        return Facts(kind, as_timestamp(low, kind), as_timestamp(high, kind), nullable=True)
    return Facts(Type.TIMESTAMP, datetime.min, datetime(9999, 12, 31, 23, 59, 59), nullable=True)


WRITTEN = "CAST(x AS {0}), TRY_CAST(x AS {0}), SAFE_CAST(x AS {0}), x::{0}"
UNCASTABLE = "NULL where x is no {}"
# the engine rounds DECIMAL away from zero and DOUBLE to even; every real number here is a DOUBLE
HALVES = "; a half goes to the even neighbour, also of a decimal, and in ROUND(x) away from zero"
CASTS = (
    *(
        Function(
            f"cast_{name}",
            WRITTEN.format(name.upper()),
            _cast_whole(name),
            UNCASTABLE.format("whole number of that size") + HALVES,
            f"{low:,} to {high:,}, within the bounds of x",
        )
        for name, (low, high) in CAST_RANGES.items()
    ),
    Function(
        "cast_real",
        WRITTEN.format("DOUBLE") + "; DECIMAL(p, s) is DOUBLE rounded to s digits",
        _cast_real,
        UNCASTABLE.format("number"),
        "the bounds of x; none of a text",
    ),
    Function(
        "cast_text", WRITTEN.format("VARCHAR"), _cast_text, "takes everything", "as x is printed"
    ),
    Function(
        "cast_boolean",
        WRITTEN.format("BOOLEAN"),
        _cast_boolean,
        UNCASTABLE.format("truth value"),
        "true or false",
    ),
    Function(
        "cast_date",
        WRITTEN.format("DATE") + ", DATE(x)",
        _cast_date,
        UNCASTABLE.format("date") + "; held within the years 1 to 9999",
        "the bounds of x; all dates for a text",
        ("DATE",),
    ),
    Function(
        "cast_timestamp",
        WRITTEN.format("TIMESTAMP") + ", TIMESTAMP(x)",
        _cast_timestamp,
        UNCASTABLE.format("timestamp") + "; held within the years 1 to 9999",
        "the bounds of x; all timestamps for a text",
        ("TIMESTAMP", "DATETIME"),
    ),
)
