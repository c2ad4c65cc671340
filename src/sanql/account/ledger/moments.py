"""The time of a record, as it is written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def record_time(clock: Clock) -> str:
    """Return what the clock says, in whole seconds of universal time."""
    return clock().astimezone(UTC).isoformat(timespec="seconds")
