"""Times as they are typed, read once, whichever door they came through."""

from __future__ import annotations

from datetime import UTC, datetime

from sanql.errors import Refused


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
