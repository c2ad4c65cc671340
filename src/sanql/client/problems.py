"""Errors that a server has sent (RFC 9457), raised again as what they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sanql.errors import (
    AccessDenied,
    BudgetExceeded,
    Fault,
    LedgerError,
    Place,
    PolicyError,
    Refused,
    SanqlError,
    ServerError,
    Unavailable,
)
from sanql.visible import visible

_KINDS: dict[str, type[SanqlError]] = {
    "budget": BudgetExceeded,
    "unavailable": Unavailable,
    "ledger": LedgerError,
    "people": AccessDenied,
    "server": ServerError,
}


def error_of(problem: Mapping[str, Any]) -> SanqlError:
    """Return the error that a problem was on the server."""
    code, message, remedy = (str(problem[name]) for name in ("code", "detail", "remedy"))
    match problem["kind"]:
        case "refused":
            return _refused(problem, code, message, remedy)
        case "policy" if problem.get("faults"):
            return PolicyError([Fault(**fault) for fault in problem["faults"]])
        case kind:
            return _KINDS.get(kind, ServerError)(code, message, remedy)


def _refused(problem: Mapping[str, Any], code: str, message: str, remedy: str) -> Refused:
    """Return a refusal, whose words have its place and the nearest question at their ends."""
    place: Place | None = None
    if "place" in problem:
        place = int(problem["place"]["line"]), int(problem["place"]["column"])
    nearest, fill_in = str(problem.get("nearest", "")), str(problem.get("fill_in", ""))
    whole = Refused(code, "", "", place, nearest, fill_in)
    return Refused(
        code,
        message.removesuffix(whole.message),
        remedy.removesuffix(whole.remedy),
        place,
        nearest,
        fill_in,
    )


def denied_there(place: str) -> AccessDenied:
    """Return what is said of a token that a server does not take; it does not tell why."""
    return AccessDenied(
        "credential_wrong",
        f"the server {visible(place)} does not take the token that was sent",
        "see that server and token (token=…, SANQL_TOKEN or --token-file) belong together; it may be"
        " wrong, expired, rotated or revoked: ask the data owner for another",
    )


def foreign(place: str, status: int) -> ServerError:
    """Return what is said of an answer that is not San's: a proxy's page, or another program's."""
    return ServerError(
        "server_foreign",
        f"{visible(place)} answered with status {status}, and not as San does",
        "see that the address is San's, and what stands between",
    )


def unreadable() -> ServerError:
    """Return what is said of an answer whose form is not known here."""
    return ServerError(
        "answer_unreadable",
        "the server's answer has a form that is not known here",
        "install the version of sanql that the server runs; what was charged is in its history",
    )
