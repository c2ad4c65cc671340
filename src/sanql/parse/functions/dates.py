"""Dates and timestamps: their parts and the periods they lie in."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction

from sanql.errors import Refused
from sanql.parse.functions.facts import Rule, any_nullable, need, number
from sanql.parse.tree import TEMPORAL, Expr, Facts, Type

DATE_PARTS = {
    "year": (1, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
CLOCK_PARTS = frozenset({"hour", "minute", "second"})
TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute")


def _date_part(part: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEMPORAL, f"the {part} of a date")
        if part in CLOCK_PARTS and args[0].facts.type is Type.DATE:
            raise Refused(
                "no_clock_time",
                f"a date has no {part}",
                "use a timestamp column, or ask for the year, month, week or day",
            )
        low, high = DATE_PARTS[part]
        facts = args[0].facts
        if part == "year" and isinstance(facts.low, date) and isinstance(facts.high, date):
            low, high = facts.low.year, facts.high.year
        return number(Type.INTEGER, (Fraction(low), Fraction(high)), any_nullable(args))

    return rule


def _truncation(unit: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEMPORAL, "DATE_TRUNC")
        facts = args[0].facts
        if unit in CLOCK_PARTS and facts.type is Type.DATE:
            raise Refused(
                "no_clock_time", f"a date has no {unit}", "truncate to 'day', 'week', 'month' …"
            )
        if isinstance(facts.low, date) and isinstance(facts.high, date):
            return Facts(
                facts.type, truncate(facts.low, unit), truncate(facts.high, unit), facts.nullable
            )
        return Facts(facts.type, nullable=facts.nullable)

    return rule


def truncate(moment: date, unit: str) -> date:
    """Return the start of the year, quarter, month, week (Monday), day, hour or minute.

    >>> truncate(date(2026, 5, 17), "quarter")
    datetime.date(2026, 4, 1)
    """
    start: date = moment
    if isinstance(moment, datetime):
        finer = {"hour": {}, "minute": {"minute": moment.minute}}
        if unit in finer:
            clock: dict[str, int] = finer[unit]
            return datetime(
                moment.year, moment.month, moment.day, moment.hour, clock.get("minute", 0)
            )
        start = datetime(moment.year, moment.month, moment.day)
    if unit == "year":
        return start.replace(month=1, day=1)
    if unit == "quarter":
        return start.replace(month=3 * ((start.month - 1) // 3) + 1, day=1)
    if unit == "month":
        return start.replace(day=1)
    if unit == "week":
        return start - timedelta(days=start.weekday())  # the calendar's first day is a Monday
    return start


DATES: dict[str, Rule] = {
    **{f"part_{part}": _date_part(part) for part in DATE_PARTS},
    **{f"trunc_{unit}": _truncation(unit) for unit in TRUNCATIONS},
}
