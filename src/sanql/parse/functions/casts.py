"""Casts: what cannot be cast is NULL, and what can lies in the range of its type."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

from sanql.parse import intervals
from sanql.parse.functions.facts import (
    Rule,
    any_nullable,
    as_date,
    as_timestamp,
    interval_of,
    need,
    number,
)
from sanql.parse.tree import NUMERIC, TEMPORAL, Expr, Facts, Type

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
        return number(Type.INTEGER, (low, high), nullable=True)

    return rule


def _cast_real(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC | {Type.TEXT}, "CAST AS DOUBLE")
    facts = args[0].facts
    nullable = facts.nullable if facts.type is Type.REAL else True
    return number(Type.REAL, interval_of(facts), nullable, facts.grid)


def _cast_text(args: tuple[Expr, ...]) -> Facts:
    kinds = frozenset({Type.INTEGER, Type.TEXT, Type.BOOLEAN, Type.DATE, Type.TIMESTAMP})
    need(args, kinds, "CAST AS VARCHAR")
    return Facts(Type.TEXT, nullable=any_nullable(args))


def _cast_boolean(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.INTEGER, Type.TEXT, Type.BOOLEAN}), "CAST AS BOOLEAN")
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


CASTS: dict[str, Rule] = {
    "cast_real": _cast_real,
    "cast_text": _cast_text,
    "cast_boolean": _cast_boolean,
    "cast_date": _cast_date,
    "cast_timestamp": _cast_timestamp,
    **{f"cast_{name}": _cast_whole(name) for name in CAST_RANGES},
}
