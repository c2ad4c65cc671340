"""Periods of which each has a tranche, by name: `2026`, `2026-Q4`, `2026-11`, `2026-W47`, `2026-11-19`.

Names of one kind are in the order of time as texts. A period is never looked up by a clock when something
is charged: it is named, once, by the record that opens a tranche.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta

_NAMED: Mapping[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    "week": lambda day: "{}-W{:02}".format(*day.isocalendar()[:2]),
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
}
_FIRST_DAY: Mapping[str, tuple[str, Callable[[list[int]], date]]] = {
    "day": (r"(\d{4})-(\d\d)-(\d\d)", lambda n: date(n[0], n[1], n[2])),
    "week": (r"(\d{4})-W(\d\d)", lambda n: date.fromisocalendar(n[0], n[1], 1)),
    "month": (r"(\d{4})-(\d\d)", lambda n: date(n[0], n[1], 1)),
    "quarter": (r"(\d{4})-Q([1-4])", lambda n: date(n[0], 3 * n[1] - 2, 1)),
    "year": (r"(\d{4})", lambda n: date(n[0], 1, 1)),
}
_LONGEST = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}


def period_of(per: str, day: date) -> str:
    """Return the name of the period that a day is in.

    >>> [period_of(per, date(2026, 11, 19)) for per in ("day", "week", "month", "quarter", "year")]
    ['2026-11-19', '2026-W47', '2026-11', '2026-Q4', '2026']
    """
    return _NAMED[per](day)


def first_day(per: str, period: object) -> date:
    """Return the first day of a period; anything that names none is a ValueError.

    >>> first_day("quarter", "2026-Q4").isoformat()
    '2026-10-01'
    """
    pattern, day_of = _FIRST_DAY[per]
    written = re.fullmatch(pattern, period, re.ASCII) if isinstance(period, str) else None
    if written is None:
        raise ValueError(f"not the name of a {per}")
    return day_of([int(part) for part in written.groups()])


def period_after(per: str, period: str) -> str:
    """Return the period that follows one.

    >>> period_after("month", "2026-12"), period_after("week", "2026-W53")
    ('2027-01', '2027-W01')
    """
    # as many days as the longest has lead into the next one, and into none after it
    return period_of(per, first_day(per, period) + timedelta(days=_LONGEST[per]))
