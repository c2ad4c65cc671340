"""What every rule builds on: checks of types, the facts of numbers, of choices and of constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction

from sanql.errors import Refused
from sanql.functions import bounds as intervals
from sanql.functions.bounds import Interval
from sanql.question import NUMERIC, TEMPORAL, Expr, Facts, Literal, Type

INTEGER_LIMIT = 2**126  # beyond it a 128-bit integer could overflow
REAL_LIMIT = Fraction(2) ** 500  # beyond it a product could leave the range of a double

Rule = Callable[[tuple[Expr, ...]], Facts]


def interval_of(facts: Facts) -> Interval | None:
    """Return the numeric bounds of an expression, if both are known."""
    if isinstance(facts.low, Fraction) and isinstance(facts.high, Fraction):
        return facts.low, facts.high
    return None


def number_facts(
    kind: Type, interval: Interval | None, nullable: bool, grid: Fraction | None = None
) -> Facts:
    """Return the facts of a number; an integer that could overflow is refused."""
    if kind is Type.INTEGER:
        if interval is None or max(abs(interval[0]), abs(interval[1])) > INTEGER_LIMIT:
            raise Refused(
                "integer_overflow",
                "the whole numbers in this expression have no bounds that rule out an overflow",
                "declare bounds for the columns in the policy, or limit them in the query: "
                "CASE WHEN x BETWEEN 0 AND 100 THEN x END",
            )
        grid = grid or Fraction(1)
    elif interval is not None and max(abs(interval[0]), abs(interval[1])) > REAL_LIMIT:
        interval = None
    low, high = interval if interval is not None else (None, None)
    return Facts(kind, low, high, nullable, grid)


def any_nullable(args: Sequence[Expr]) -> bool:
    """Return whether any operand can be NULL."""
    return any(arg.facts.nullable for arg in args)


def need(args: Sequence[Expr], allowed: frozenset[Type], what: str) -> None:
    """Refuse operands that are of none of the allowed types; NULL is of every type."""
    for arg in args:
        if arg.facts.type not in allowed | {Type.NULL}:
            names = " or ".join(sorted(kind.value for kind in allowed))
            given = arg.facts.type.value
            raise Refused(
                "type_mismatch",
                f"{what} takes {names} values, and was given {_one(given)} {given} value",
                f"cast the operand, for example CAST(x AS {_target(allowed)})",
            )


def _one(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _target(allowed: frozenset[Type]) -> str:
    targets = {
        Type.INTEGER: "INTEGER", Type.TEXT: "VARCHAR", Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP", Type.BOOLEAN: "BOOLEAN",
    }  # fmt: skip
    return next((name for kind, name in targets.items() if kind in allowed), "DOUBLE")


def numeric_kind(args: Sequence[Expr]) -> Type:
    """Return INTEGER where all operands are whole numbers, and REAL otherwise."""
    return (
        Type.INTEGER
        if all(arg.facts.type in (Type.INTEGER, Type.NULL) for arg in args)
        else Type.REAL
    )


def interval_or_point(arg: Expr) -> Interval | None:
    """Return the numeric bounds of an operand, if both are known; of NULL the point zero."""
    # NULL has no value at all, so any interval holds; zero keeps the arithmetic going
    return (Fraction(0), Fraction(0)) if arg.facts.type is Type.NULL else interval_of(arg.facts)


def common_grid(a: Fraction, b: Fraction) -> Fraction:
    """Return the largest grid step of which both are multiples."""
    return Fraction(
        math.gcd(a.numerator * b.denominator, b.numerator * a.denominator),
        a.denominator * b.denominator,
    )


def comparable(args: Sequence[Expr]) -> Type:
    """Return the type in which the operands can be compared, or refuse."""
    kinds = {arg.facts.type for arg in args} - {Type.NULL}
    if not kinds:
        return Type.NULL
    if kinds <= NUMERIC:
        return Type.INTEGER if kinds == {Type.INTEGER} else Type.REAL
    if kinds <= TEMPORAL:
        return Type.DATE if kinds == {Type.DATE} else Type.TIMESTAMP
    if len(kinds) == 1:
        return next(iter(kinds))
    names = " with ".join(sorted(kind.value for kind in kinds))
    raise Refused(
        "type_mismatch",
        f"values of different types cannot be compared or combined: {names}",
        "cast one side, for example CAST(x AS VARCHAR) = '7'; write dates as DATE '2026-01-31'",
    )


def choice(values: Sequence[Expr], nullable: bool) -> Facts:
    """Return the facts of 'one of these values': the hull of their bounds."""
    kind = comparable(values)
    known = [value.facts for value in values if value.facts.type is not Type.NULL]
    grid = known[0].grid if known else None
    for facts in known[1:]:
        grid = common_grid(grid, facts.grid) if grid and facts.grid else None
    if kind in NUMERIC:
        ranges = [interval_of(facts) for facts in known]
        bounds = intervals.hull(*[p for p in ranges if p]) if all(ranges) and ranges else None
        return number_facts(kind, bounds, nullable, grid)
    if kind in TEMPORAL and all(facts.bounded for facts in known):
        lows = [as_timestamp(facts.low, kind) for facts in known]
        highs = [as_timestamp(facts.high, kind) for facts in known]
        return Facts(kind, min(lows), max(highs), nullable)
    return Facts(kind, nullable=nullable)


def as_timestamp(bound: object, kind: Type) -> date:
    """Return a bound as a timestamp where the type is one."""
    if kind is Type.TIMESTAMP and isinstance(bound, date) and not isinstance(bound, datetime):
        return datetime(bound.year, bound.month, bound.day)
    assert isinstance(bound, date)  # noqa: S101  (TEMPORAL facts only carry dates)
    return bound


def as_date(moment: date) -> date:
    """Return the day of a date or timestamp."""
    return date(moment.year, moment.month, moment.day)


def constant_integer(arg: Expr, what: str, low: int, high: int) -> int:
    """Return a constant whole number within a range, or refuse anything else."""
    if isinstance(arg, Literal) and isinstance(arg.value, int) and low <= arg.value <= high:
        return arg.value
    raise Refused(
        "constant_needed",
        f"{what} must be a constant whole number from {low} to {high}",
        "write the number itself, for example ROUND(x, 2)",
    )


def constant_number(arg: Expr) -> Fraction | None:
    """Return the number a constant is, or None for anything else."""
    if not isinstance(arg, Literal) or isinstance(arg.value, bool):
        return None
    return Fraction(arg.value) if isinstance(arg.value, int | Fraction) else None


def constant_text(arg: Expr, what: str, most: int) -> str:
    """Return a constant string of limited length, or refuse anything else."""
    if not isinstance(arg, Literal) or not isinstance(arg.value, str):
        raise Refused(
            "constant_needed",
            f"{what} must be a constant string",
            "write it in single quotes: what a row holds must not decide how much work there is",
        )
    if len(arg.value) > most:
        raise Refused("pattern_too_long", f"{what} has more than {most} characters", "shorten it")
    return arg.value
