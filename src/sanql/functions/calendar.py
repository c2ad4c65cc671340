"""The calendar: moving dates, the time between two of them, dates from numbers and back.

The engine's calendar reaches hundreds of thousands of years beyond ours in both directions, so no
step computed here can leave it; what leaves the years 1 to 9999 is NULL.
"""

from __future__ import annotations

import calendar
import math
from datetime import date, datetime, timedelta
from fractions import Fraction

from sanql.errors import Refused
from sanql.functions.bounds import Interval
from sanql.functions.facts import (
    Rule,
    any_nullable,
    as_date,
    as_timestamp,
    interval_or_point,
    need,
    number_facts,
)
from sanql.functions.table import Function
from sanql.question import NUMERIC, TEMPORAL, Expr, Facts, Type

Span = tuple[date, date]
DAYS: Span = (date.min, date.max)
MOMENTS: Span = (datetime.min, datetime(9999, 12, 31, 23, 59, 59))
EPOCH = datetime(1970, 1, 1)
YEARS_MAX = 10_000
STEPS_MAX = {
    "months": 12 * YEARS_MAX,
    "days": 366 * YEARS_MAX,
    "seconds": 366 * 86_400 * YEARS_MAX,
}
DIFFERENCES = (
    "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"
)  # fmt: skip
CLOCK_MICROSECONDS = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
}


def span(facts: Facts) -> Span:
    """Return the bounds of a date or timestamp; all of ours where none are known."""
    if isinstance(facts.low, date) and isinstance(facts.high, date):
        return facts.low, facts.high
    return MOMENTS if facts.type is Type.TIMESTAMP else DAYS


def _moved(unit: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        moment, steps = args
        need([moment], TEMPORAL, "adding an interval")
        need([steps], frozenset({Type.INTEGER}), "an interval")
        reach = interval_or_point(steps)
        if reach is None or max(abs(reach[0]), abs(reach[1])) > STEPS_MAX[unit]:
            raise Refused(
                "interval_unbounded",
                f"the number of {unit} added to a date may exceed {STEPS_MAX[unit]:,}",
                "limit it: CASE WHEN x BETWEEN 0 AND 100 THEN x END",
            )
        kind = moment.facts.type
        if kind is Type.DATE and unit == "seconds":
            raise Refused(
                "no_clock_time",
                "hours, minutes and seconds cannot be added to a date",
                "cast it first: CAST(d AS TIMESTAMP) + INTERVAL 1 HOUR",
            )
        if kind is Type.NULL:
            return Facts(Type.NULL)
        low, high = span(moment.facts)
        ends = MOMENTS if kind is Type.TIMESTAMP else DAYS
        first, last = (
            later_moment(low, unit, int(reach[0])),
            later_moment(high, unit, int(reach[1])),
        )
        stays = first is not None and last is not None and last <= ends[1]
        return Facts(
            kind,
            min(first, ends[1]) if first is not None else ends[0],
            min(last, ends[1]) if last is not None else ends[1],
            nullable=any_nullable(args) or not stays,
        )

    return rule


def later_moment(moment: date, unit: str, steps: int) -> date | None:
    """Return the moment some months, days or seconds later; None outside the years 1 to 9999.

    >>> later_moment(date(2024, 1, 31), "months", 1)
    datetime.date(2024, 2, 29)
    """
    try:
        if unit == "months":
            total = moment.year * 12 + moment.month - 1 + steps
            year, month = total // 12, total % 12 + 1
            day = min(moment.day, calendar.monthrange(year, month)[1])
            return moment.replace(year=year, month=month, day=day)
        return moment + (timedelta(days=steps) if unit == "days" else timedelta(seconds=steps))
    except (OverflowError, ValueError, calendar.IllegalMonthError):
        return None


def _difference(unit: str, slack: int) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEMPORAL, "DATE_DIFF")
        if any(arg.facts.type is Type.NULL for arg in args):
            return number_facts(Type.INTEGER, (Fraction(0), Fraction(0)), nullable=True)
        first, second = (span(arg.facts) for arg in args)
        low = _count(unit, second[0]) - _count(unit, first[1])
        high = _count(unit, second[1]) - _count(unit, first[0])
        bounds = Fraction(low - slack), Fraction(high + slack)
        return number_facts(Type.INTEGER, bounds, any_nullable(args))

    return rule


def _count(unit: str, moment: date) -> int:
    """Return how many whole units lie between a fixed moment and this one."""
    match unit:
        case "year":
            return moment.year
        case "quarter":
            return moment.year * 4 + (moment.month - 1) // 3
        case "month":
            return moment.year * 12 + moment.month
        case "week":
            return moment.toordinal() // 7
        case _:
            return _microseconds(moment) // CLOCK_MICROSECONDS[unit]


def _made_date(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.INTEGER}), "MAKE_DATE")
    years = interval_or_point(args[0]) or (Fraction(1), Fraction(9999))
    low, high = (int(min(max(end, Fraction(1)), Fraction(9999))) for end in years)
    return Facts(Type.DATE, date(low, 1, 1), date(high, 12, 31), nullable=True)


def _last_day(args: tuple[Expr, ...]) -> Facts:
    need(args, TEMPORAL, "LAST_DAY")
    low, high = (_end_of_month(as_date(end)) for end in span(args[0].facts))
    return Facts(Type.DATE, low, high, nullable=args[0].facts.nullable)


def _end_of_month(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _name(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEMPORAL, name)
        return Facts(Type.TEXT, nullable=any_nullable(args))

    return rule


def _microseconds(moment: date) -> int:
    """Return the microseconds since 1970."""
    passed = as_timestamp(moment, Type.TIMESTAMP)
    assert isinstance(passed, datetime)  # noqa: S101  (that is what a timestamp is)
    return (passed - EPOCH) // timedelta(microseconds=1)


def _epoch(args: tuple[Expr, ...]) -> Facts:
    need(args, TEMPORAL, "EPOCH")
    low, high = (Fraction(_microseconds(end), 1_000_000) for end in span(args[0].facts))
    grid = Fraction(86_400) if args[0].facts.type is Type.DATE else None
    return number_facts(Type.REAL, (low, high), any_nullable(args), grid)


def _epoch_ms(args: tuple[Expr, ...]) -> Facts:
    need(args, TEMPORAL, "EPOCH_MS")
    low, high = (Fraction(_microseconds(end), 1_000) for end in span(args[0].facts))
    bounds = Fraction(math.floor(low)), Fraction(math.ceil(high))
    return number_facts(Type.INTEGER, bounds, any_nullable(args))


def _from_epoch(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "TO_TIMESTAMP")
    low, high = interval_or_point(args[0]) or _ALL_SECONDS
    ends = [min(max(end, _ALL_SECONDS[0]), _ALL_SECONDS[1]) for end in (low, high)]
    first, last = timedelta(seconds=math.floor(ends[0])), timedelta(seconds=math.ceil(ends[1]))
    return Facts(Type.TIMESTAMP, EPOCH + first, EPOCH + last, nullable=True)


_FIRST, _LAST = (Fraction(_microseconds(end), 1_000_000) for end in MOMENTS)
_ALL_SECONDS: Interval = (_FIRST, _LAST)
BEYOND = "NULL beyond the years 1 to 9999"
BOUNDARIES = "takes every date and timestamp; counts the boundaries between them"
CALENDAR = (
    *(
        Function(
            f"add_{unit}",
            written,
            _moved(unit),
            f"{BEYOND}; at most {STEPS_MAX[unit]:,} {unit}",
            "the bounds, moved",
        )
        for unit, written in {
            "months": "d ± INTERVAL n YEAR/QUARTER/MONTH, DATE_ADD/DATE_SUB(d, INTERVAL …), "
            "DATEADD(month, n, d), ADD_MONTHS(d, n)",
            "days": "d ± n, d ± INTERVAL n WEEK/DAY, DATE_ADD/DATE_SUB(d, INTERVAL …), "
            "DATEADD(day, n, d)",
            "seconds": "t ± INTERVAL n HOUR/MINUTE/SECOND, TIMESTAMP_ADD/TIMESTAMP_SUB(t, INTERVAL …), "
            "TIMESTAMPADD(hour, n, t)",
        }.items()
    ),
    *(
        Function(
            f"diff_{unit}",
            f"DATE_DIFF('{unit}', d, e), DATEDIFF({unit}, d, e), DATE_DIFF(e, d, {unit.upper()})"
            + (", e - d" if unit == "day" else ""),
            _difference(unit, 1 if unit == "week" else 0),
            BOUNDARIES if unit != "week" else "takes every date and timestamp; counts seven days",
            "the differences of the bounds",
        )
        for unit in DIFFERENCES
    ),
    *(
        Function(
            f"full_{unit}",
            f"DATE_SUB/DATESUB('{unit}', d, e), TIMESTAMPDIFF({unit}, d, e), "
            f"TIMESTAMP_DIFF(e, d, {unit.upper()})"
            + (", YEAR(AGE(e, d))" if unit == "year" else ""),
            _difference(unit, 1),
            f"takes every date and timestamp; counts {unit}s that are complete",
            "the differences of the bounds",
        )
        for unit in DIFFERENCES
    ),
    Function(
        "make_date",
        "MAKE_DATE(year, month, day)",
        _made_date,
        "NULL where there is no such day from year 1 to 9999",
        "the first and last day of the years' bounds",
        ("MAKE_DATE", "DATE_FROM_PARTS", "DATEFROMPARTS"),
        (3, 3),
    ),
    Function(
        "last_day",
        "LAST_DAY(d)",
        _last_day,
        "takes every date and timestamp",
        "the months of the bounds",
        ("LAST_DAY",),
    ),
    Function(
        "dayname",
        "DAYNAME(d)",
        _name("DAYNAME"),
        "English, Monday to Sunday",
        "a word",
        ("DAYNAME",),
    ),
    Function(
        "monthname",
        "MONTHNAME(d)",
        _name("MONTHNAME"),
        "English, January to December",
        "a word",
        ("MONTHNAME",),
    ),
    Function(
        "epoch",
        "EPOCH(d), EXTRACT(epoch FROM d)",
        _epoch,
        "seconds since 1970, in UTC",
        "the seconds of the bounds",
        ("EPOCH", "UNIX_SECONDS"),
    ),
    Function(
        "epoch_ms",
        "EPOCH_MS(d)",
        _epoch_ms,
        "milliseconds since 1970, in UTC",
        "the milliseconds of the bounds",
        ("EPOCH_MS", "UNIX_MILLIS"),
    ),
    Function(
        "to_timestamp",
        "TO_TIMESTAMP(seconds)",
        _from_epoch,
        BEYOND + " and for what is not finite; in UTC, without a zone",
        "the moments of the bounds",
        ("TO_TIMESTAMP", "TIMESTAMP_SECONDS", "FROM_UNIXTIME"),
    ),
)
