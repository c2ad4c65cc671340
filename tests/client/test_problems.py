"""An error that a server sends is raised again as what it was: class, words, place and all."""

from __future__ import annotations

import json

import pytest

from sanql.client.problems import error_of
from sanql.errors import (
    AccessDenied,
    BudgetExceeded,
    Fault,
    LedgerError,
    PolicyError,
    Refused,
    SanqlError,
    ServerError,
    Unavailable,
)
from sanql.server.http.problems import problem

WORDS = ("some_code", "something is wrong with 'x'", "do it otherwise")
ERRORS: list[SanqlError] = [
    BudgetExceeded(*WORDS),
    Unavailable(*WORDS),
    LedgerError(*WORDS),
    AccessDenied(*WORDS),
    ServerError(*WORDS),
    PolicyError([Fault("dataset.source", "is not there", "name another"), Fault("b", "c", "d")]),
    Refused(*WORDS),
    Refused(*WORDS, place=(3, 14)),
    Refused(*WORDS, nearest="SELECT 1"),
    Refused(*WORDS, (1, 1), "SELECT '\x1b[31m' FROM \"t\u202e\"", "your own dates"),
    Refused("c", "a line\nand another (line 1, column 1)", "r; ask: SELECT 1", (1, 1), "SELECT 1"),
    Refused("c", "", "", (2, 2), "SELECT 2"),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_an_error_is_raised_again_as_what_it_was(error: SanqlError) -> None:
    again = error_of(json.loads(json.dumps(problem(error))))
    assert type(again) is type(error)
    assert (str(again), again.code, again.message, again.remedy) == (
        str(error),
        error.code,
        error.message,
        error.remedy,
    )
    assert again.to_dict() == error.to_dict() and again.exit_code == error.exit_code
    if isinstance(error, Refused) and isinstance(again, Refused):
        assert str(again.at((9, 9))) == str(error.at((9, 9)))
        assert str(again.adding("or so")) == str(error.adding("or so"))


def test_a_kind_that_is_not_known_yet_is_an_error_of_the_server() -> None:
    shape = problem(ServerError(*WORDS)) | {"kind": "weather"}
    assert type(error_of(shape)) is ServerError
