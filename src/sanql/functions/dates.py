"""Dates and timestamps: their parts and the periods they lie in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction

from sanql.errors import Refused
from sanql.functions.facts import Rule, any_nullable, need, number_facts
from sanql.functions.table import Function
from sanql.question import TEMPORAL, Expr, Facts, Type

DATE_PARTS = {
    "year": (1, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "isoyear": (1, 9999),
    "yearweek": (101, 999953),
    "decade": (0, 999),
    "century": (1, 100),
    "millennium": (1, 10),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "millisecond": (0, 59_999),
    "microsecond": (0, 59_999_999),
}
CLOCK_PARTS = frozenset({"hour", "minute", "second", "millisecond", "microsecond"})
# parts that only grow with the date, so that its bounds are theirs
RISING: Mapping[str, Callable[[date], int]] = {
    "year": lambda day: day.year,
    "isoyear": lambda day: day.isocalendar().year,
    "yearweek": lambda day: day.isocalendar().year * 100 + day.isocalendar().week,
    "decade": lambda day: day.year // 10,
    "century": lambda day: (day.year + 99) // 100,
    "millennium": lambda day: (day.year + 999) // 1000,
}
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
        if part in RISING and isinstance(facts.low, date) and isinstance(facts.high, date):
            low, high = RISING[part](facts.low), RISING[part](facts.high)
        return number_facts(Type.INTEGER, (Fraction(low), Fraction(high)), any_nullable(args))

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


NAMES_OF_PARTS = {
    "week": ("WEEK", "WEEKOFYEAR"),
    "day": ("DAY", "DAYOFMONTH"),
    "dayofweek": ("DAYOFWEEK", "WEEKDAY"),
    "isodow": ("ISODOW", "DAYOFWEEKISO", "DAYOFWEEK_ISO"),
}
DATES = (
    *(
        Function(
            f"part_{part}",
            f"{part.upper()}(d), EXTRACT({part} FROM d), DATE_PART/DATEPART('{part}', d)",
            _date_part(part),
            "timestamps only" if part in CLOCK_PARTS else "takes every date and timestamp",
            f"{low:,} to {high:,}" + ("; the parts of the bounds" if part in RISING else ""),
            NAMES_OF_PARTS.get(part, (part.upper(),)),
        )
        for part, (low, high) in DATE_PARTS.items()
    ),
    *(
        Function(
            f"trunc_{unit}",
            f"DATE_TRUNC('{unit}', d)",
            _truncation(unit),
            "timestamps only" if unit in CLOCK_PARTS else "takes every date and timestamp",
            "the periods of the bounds",
        )
        for unit in TRUNCATIONS
    ),
)
