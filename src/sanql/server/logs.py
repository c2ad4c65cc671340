"""What a server writes down of itself: one JSON object a line, of names that San gives and never of data.

A line says which route was asked by whom, and how it ended: no text of a question, no value of a
parameter, no literal, no row, and no duration, which could depend on one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO

Log = Callable[..., None]


def json_log(out: TextIO | None = None) -> Log:
    """Return what writes events to a stream, the standard error stream if none is given."""

    def log(event: str, **content: str | int | None) -> None:
        line = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "event": event} | {
            name: value for name, value in content.items() if value is not None
        }
        stream = out or sys.stderr
        stream.write(json.dumps(line, ensure_ascii=True) + "\n")
        stream.flush()

    return log
