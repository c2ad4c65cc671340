"""The clause WITH DIFFERENTIAL_PRIVACY OPTIONS(…)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sanql.errors import Refused
from sanql.options import read_options
from sanql.parse.question import Question
from sanql.parse.text.parameters import QuestionText

Ask = Callable[[str], Question]

ACCEPTED = [
    ("", {}),
    ("WITH DIFFERENTIAL_PRIVACY", {}),
    ("with differential_privacy options()", {}),
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5)", {"epsilon": "0.5"}),
    (
        "WITH DIFFERENTIAL_PRIVACY OPTIONS (EPSILON => 1, delta = 1e-9)",
        {"epsilon": "1", "delta": "1e-9"},
    ),
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(kappa=3)", {"max_groups_contributed": "3"}),
    (
        "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=3, privacy_unit_column=person_id)",
        {"max_groups_contributed": "3", "privacy_unit_column": "person_id"},
    ),
    ("/* why */ WITH DIFFERENTIAL_PRIVACY /* not */ OPTIONS(epsilon=1)", {"epsilon": "1"}),
    # numbers are judged later, once; here they are only carried, unchanged
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=-1)", {"epsilon": "-1"}),
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1 2)", {"epsilon": "1 2"}),
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1/**/2)", {"epsilon": "1/**/2"}),
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=nan)", {"epsilon": "nan"}),
    (
        "WITH DIFFERENTIAL_PRIVACY OPTIONS(other = '(other), x', nonnegative = TRUE, rounded = 10)",
        {"other": "(other), x", "nonnegative": "TRUE", "rounded": "10"},
    ),
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(other = ')', epsilon=1)", {"epsilon": "1", "other": ")"}),
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, other = ',')", {"epsilon": "1", "other": ","}),
]


@pytest.mark.parametrize(("clause", "options"), ACCEPTED)
def test_the_clause_is_read_and_taken_out(ask: Ask, clause: str, options: dict[str, str]) -> None:
    asked = QuestionText(f"SELECT {clause} COUNT(*) AS n FROM people")
    assert asked.split[1] == options
    assert ask(asked.sql).query == ask("SELECT COUNT(*) AS n FROM people").query


@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("OPTIONS(epsilon=1, epsilon=2)", "option_twice"),
        ("OPTIONS(max_groups_contributed=1, kappa=2)", "option_twice"),
        ("OPTIONS(epsilom=1)", "option_unknown"),
        ("OPTIONS(noise=0)", "option_unknown"),
        ("OPTIONS(epsilon 1)", "options_malformed"),
        ("OPTIONS(epsilon=)", "options_malformed"),
        ("OPTIONS(epsilon=, delta=1)", "options_malformed"),
        ("OPTIONS(epsilon", "options_malformed"),
        ("OPTIONS(other = 5)", "other_invalid"),
        ("OPTIONS(other = rest)", "other_invalid"),
    ],
)
def test_a_clause_that_is_not_understood_is_refused(
    refusal: Callable[[str], Refused], clause: str, code: str
) -> None:
    found = refusal(f"SELECT WITH DIFFERENTIAL_PRIVACY {clause} COUNT(*) FROM people")
    assert found.code == code
    assert found.remedy


@pytest.mark.parametrize("off", [False, "false", "FALSE"])
def test_what_is_said_to_be_off_is_off_in_words_too(off: object) -> None:
    read = read_options({"exact": off, "fresh": off, "even_if_empty": off, "epsilon": 1})
    assert not (read.exact or read.fresh or read.even_if_empty)
