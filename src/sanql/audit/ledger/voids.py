"""The auditor's own reading of how questions ended without an answer."""

from __future__ import annotations

from typing import Any

_WHO = {"caller", "operator", "engine"}
_WHY = {
    *("cancelled", "disconnected", "interrupted", "rehearsed"),
    *("stopped", "storage", "fault"),
    *("engine", "refused"),
}


def ends_as_it_should(body: dict[str, Any], format_: int) -> bool:
    """Return whether a void says what one of its format says: since 2 who ended it, since 3 why."""
    if format_ >= 3:
        refused = body["reason"] == "refused"
        return body["reason"] in _WHY and "ended_by" not in body and ("refusal" in body) == refused
    return format_ == 1 or body["ended_by"] in _WHO
