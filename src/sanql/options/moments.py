"""Times as they are typed, read once, whichever door they came through."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from sanql.errors import AccessDenied, Refused

_LASTING = re.compile(r"([1-9]\d{0,3})\s*(d|days?|h|hours?|w|weeks?|years?)", re.ASCII)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_YEAR = timedelta(days=365)


def read_moment(typed: str) -> datetime:
    """Return the time that was typed, a date or a date with a time; universal time unless it says so.

    >>> read_moment("2030-01-31").isoformat()
    '2030-01-31T00:00:00+00:00'
    """
    try:
        moment = datetime.fromisoformat(typed.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused(
            "time_invalid",
            f"{typed[:40]!r} is no time",
            "write 2030-01-31, or 2030-01-31T12:00:00, which is universal time (UTC)",
        ) from None


def read_lasting(typed: str) -> timedelta | None:
    """Return the length of time that a token is good for, as it was typed; None where it never ends.

    >>> read_lasting("12h"), read_lasting("never")
    (datetime.timedelta(seconds=43200), None)
    """
    if typed.strip().lower() == "never":
        return None
    found = _LASTING.fullmatch(typed.strip().lower())
    if found is None:
        raise AccessDenied(
            "expiry_invalid",
            f"{typed[:40]!r} is no length of time",
            "write 12h, 90d, 8 weeks, 2 years, or never",
        )
    return int(found[1]) * _UNITS.get(found[2][0], _YEAR)
