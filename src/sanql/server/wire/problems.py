"""San's errors as PostgreSQL tells errors: a SQLSTATE, what, the remedy as a hint, and the place.

Classes that PostgreSQL's own tools act on keep their meaning: 28 for who may not, 53 and 57 for a server
that cannot now, 42 for what is not understood. Budgets have a class of their own, SB.
"""

from __future__ import annotations

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
from sanql.server.telling import remedy_at

BUDGET = "SB001"
_STATES = {
    "question_cancelled": "57014",
    "server_stopping": "57P01",
    "server_busy": "53400",
    "questions_at_once": "53400",
    "connections_too_many": "53300",
    "requests_too_many": "53400",
    "sign_ins_failed": "28000",
    "credential_wrong": "28P01",
    "dataset_unknown": "3D000",
    "not_ready": "57P03",
    "closed": "57P01",
    "not_sql": "42601",
    "variable_unknown": "42704",
    "variable_unfit": "22023",
    "table_unknown": "42P01",
    "column_unknown": "42703",
    "statement_exists": "42P05",
    "statement_unknown": "26000",
    "statements_too_many": "53400",
    "several_statements": "42601",
    "portal_exists": "42P03",
    "portal_unknown": "34000",
    "portals_too_many": "53400",
    "name_too_long": "42622",
    "formats_wrong": "08P01",
    "parameters_wrong": "08P01",
    "parameter_malformed": "22P02",
    "parameter_type_unknown": "42846",
    "columns_changed": "0A000",
    "transaction_failed": "25P02",
    "command_not_offered": "0A000",
    "epsilon_needed": "SB002",
    "epsilon_below_least": "SB002",
}


def state_of(error: SanqlError) -> str:
    """Return the SQLSTATE of an error."""
    if error.code in _STATES:
        return _STATES[error.code]
    match error:
        case BudgetExceeded():
            return BUDGET
        case Refused():
            return "0A000"  # not supported: a question that San does not answer
        case AccessDenied():
            return "42501"
        case Unavailable() | LedgerError() | PolicyError():
            return "58000"
        case ServerError():
            return "08P01"
        case _:
            return "XX000"


def fields_of(error: SanqlError, text: str = "", *, severity: str = "ERROR") -> dict[str, str]:
    """Return the fields of an error; its place is counted in letters of the text, from 1."""
    fields = {
        "S": severity,
        "V": severity,
        "C": state_of(error),
        "M": plain_text(f"{error.message} [{error.code}]"),
        "H": plain_text(remedy_at("wire", error)),
    }
    place = getattr(error, "place", None)
    if place is not None and text:
        fields["P"] = str(_position(place, text))
    return {name: value for name, value in fields.items() if value}


def _position(place: tuple[int, int], text: str) -> int:
    """Return which letter of a text stands at a line and column, all counted from 1.

    >>> _position((2, 3), "ab" + chr(10) + "cde")
    6
    """
    line, column = place
    before = text.split("\n")[: line - 1]
    return max(1, min(sum(len(each) + 1 for each in before) + column, len(text) + 1))


def plain_text(text: str) -> str:
    """Return a text without what would end it on the wire."""
    return text.replace("\0", "\ufffd")
