"""Why questions end without an answer: a closed list of codes, each of which says who ended it.

They are for the owner: what an analyst is told never depends on them. So little is said of the engine
that a code tells nothing of the data but that it failed, which is counted and rationed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from sanql.errors import LedgerError

EndedBy = Literal["caller", "operator", "engine"]
"""Who ended a question without an answer; only what the engine ends is a failure."""

VoidReason = Literal[
    "cancelled",  # by whoever waited for it elsewhere
    "disconnected",  # whoever waited is gone
    "interrupted",  # where it was asked
    "rehearsed",  # by a scratch account, which never answers
    "stopped",  # the server was
    "storage",  # the ledger or its disk could not be written
    "fault",  # of the program, not of the engine
    "engine",  # it could not answer
    "refused",  # exact cells that are too small to be released
]

_ENDED_BY: Mapping[VoidReason, EndedBy] = {
    "cancelled": "caller",
    "disconnected": "caller",
    "interrupted": "caller",
    "rehearsed": "caller",
    "stopped": "operator",
    "storage": "operator",
    "fault": "operator",
    "engine": "engine",
    "refused": "engine",
}


def reason_of(fault: BaseException) -> VoidReason:
    """Return why a question ended that something other than the engine has broken off."""
    match fault:
        case OSError() | LedgerError():
            return "storage"
        case Exception():
            return "fault"
        case _:
            return "interrupted"


def who_ended(content: Mapping[str, object], written_in: int) -> EndedBy:
    """Return who ended a voided reservation; ValueError where its record does not say it as it should.

    Format 1 does not say, and it counts as the engine; since format 3 it is the reason that says it.
    """
    said, reason = content.get("ended_by"), content.get("reason")
    if written_in >= 3:
        refused = "refusal" in content
        if said is None and reason in _ENDED_BY and refused == (reason == "refused"):
            return _ENDED_BY[cast(VoidReason, reason)]
        raise ValueError("a void says why, by one of a few codes")
    match said:
        case None if written_in == 1:
            return "engine"
        case "caller" | "operator" | "engine" as who:
            return who
        case _:
            raise ValueError("a void says who ended it")
