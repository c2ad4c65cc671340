"""Errors as HTTP says them: one shape for every route (RFC 9457), with code, remedy and place."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from sanql.errors import (
    AccessDenied,
    BudgetExceeded,
    LedgerError,
    PolicyError,
    Refused,
    SanqlError,
    ServerError,
    Unavailable,
)
from sanql.visible import json_text

PROBLEM = "application/problem+json"
_STATUS = {
    "credential_wrong": 401,
    "session_ended": 401,
    "role_needed": 403,
    "origin_foreign": 403,
    "form_foreign": 403,
    "dataset_unknown": 404,
    "question_unknown": 404,
    "erase_unknown": 404,
    "route_unknown": 404,
    "method_unknown": 405,
    "form_unknown": 406,
    "question_open": 409,
    "erase_running": 409,
    "idempotency_key_reused": 409,
    "body_too_large": 413,
    "body_form": 415,
    "host_unknown": 421,
    "questions_at_once": 429,
    "requests_too_many": 429,
    "sign_ins_failed": 429,
    "header_too_large": 431,
    "internal": 500,
    "provider_unreachable": 503,
    "public_rows_unavailable": 503,
    "server_busy": 503,
    "server_stopping": 503,
    "body_slow": 408,
    "closed": 503,
    "failure_quota": 503,
    "not_ready": 503,
}
_RETRY_SECONDS = {429: 1, 503: 5}


def status_of(error: SanqlError) -> int:
    """Return the status of an error.

    A question that was charged and not answered is no 503: clients would ask, and pay, again at once.
    """
    if error.code in _STATUS:
        return _STATUS[error.code]
    match error:
        case Refused() | AccessDenied():
            return 422
        case BudgetExceeded():
            return 402
        case LedgerError():
            return 503
        case ServerError():
            return 400
        case _:
            return 500


def kind_of(error: SanqlError) -> str:
    """Return which of San's errors one is, for clients that raise it again."""
    kinds: list[tuple[type[SanqlError], str]] = [
        (Refused, "refused"),
        (BudgetExceeded, "budget"),
        (Unavailable, "unavailable"),
        (LedgerError, "ledger"),
        (PolicyError, "policy"),
        (AccessDenied, "people"),
    ]
    return next((kind for of, kind in kinds if isinstance(error, of)), "server")


def problem(error: SanqlError) -> dict[str, Any]:
    """Return an error in the shape that every route has."""
    status = status_of(error)
    shape: dict[str, Any] = {
        "type": f"urn:sanql:error:{error.code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "code": error.code,
        "kind": kind_of(error),
        "remedy": error.remedy,
    }
    if isinstance(error, Refused):
        if error.place is not None:
            shape["place"] = {"line": error.place[0], "column": error.place[1]}
        shape |= {"nearest": error.nearest} if error.nearest else {}
        shape |= {"fill_in": error.fill_in} if error.fill_in else {}
    if isinstance(error, PolicyError):
        shape["faults"] = [asdict(fault) for fault in error.faults]
    return shape


def problem_reply(error: SanqlError) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of an error."""
    shape = problem(error)
    headers = {"content-type": PROBLEM}
    if shape["status"] in _RETRY_SECONDS:
        headers["retry-after"] = str(_RETRY_SECONDS[shape["status"]])
    if shape["status"] == 401:
        headers["www-authenticate"] = 'Bearer realm="sanql"'
    return shape["status"], headers, json_text(shape).encode("ascii")
