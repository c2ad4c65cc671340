"""Patterns and formats that pass here are taken by the engine; what the engine minds is refused."""

# ruff: noqa: E501  (lists of patterns stand on few lines)
from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanql.errors import Refused
from sanql.functions.formats import PRINTED, READ, from_letters
from sanql.functions.patterns import read_pattern
from sanql.question.constants import text_literal

TEXTS = ["", "a", "ab", "aab", "b-a", "A1", "abc abc", "é", "a\nb", "(", "]", "^a$"]
PIECES = ["a", "b", "-", " ", "1", "é", ".", "[ab]", "[^a-c]", "[a-]", "[]", "[", "]", "(", ")", "(?:", "(?i)",
          "(?i:", "(?=", "|", "*", "+", "?", "{2}", "{1,3}", "{0,}", "{", "}", "^", "$", "\\d", "\\W", "\\s", "\\b",
          "\\.", "\\", "\\1", "\\pL", "\\Z", "[\\d-]", "[a\\]b]", "[[:alpha:]]", "{999}", ","]  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def agree(engine: duckdb.DuckDBPyConnection, pattern: str) -> None:
    """Assert that an accepted pattern means in the engine what it means in Python."""
    try:
        groups = read_pattern(text_literal(pattern), "REGEXP_MATCHES")
    except Refused:
        return
    found = engine.execute(
        "SELECT regexp_matches(t, $1), regexp_extract(t, $1, $3) FROM unnest($2) AS u(t)",
        [pattern, TEXTS, groups],
    ).fetchall()
    ours = re.compile(pattern, re.ASCII) if _same_in_python(pattern) else None
    if ours is not None:
        assert [matched for matched, _ in found] == [
            ours.search(text) is not None for text in TEXTS
        ]


def _same_in_python(pattern: str) -> bool:
    # $ before a last line end, and flags in the middle, are Python's own ideas
    return "$" not in pattern and "(?i" not in pattern


@pytest.mark.slow
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pattern=st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join))
def test_an_accepted_pattern_is_no_error_in_the_engine(
    engine: duckdb.DuckDBPyConnection, pattern: str
) -> None:
    agree(engine, pattern)


@pytest.mark.slow
@settings(
    max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pattern=st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join))
def test_a_longer_pattern_that_is_accepted_is_no_error_in_the_engine(
    engine: duckdb.DuckDBPyConnection, pattern: str
) -> None:
    agree(engine, pattern)


@pytest.mark.soak
@settings(
    max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pattern=st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join))
def test_an_accepted_pattern_is_no_error_in_the_engine_at_length(
    engine: duckdb.DuckDBPyConnection, pattern: str
) -> None:
    agree(engine, pattern)


@pytest.mark.parametrize(
    "pattern",
    ["(a|b)*c?", "^[A-Z][a-z]+$", "\\d{3}-\\d{4}", "(?i)rome|paris", "[^,]*,", "a.*b", "()", "x{0,5}y", "[-a]", "[a-]"],
)  # fmt: skip
def test_an_everyday_pattern_is_taken(engine: duckdb.DuckDBPyConnection, pattern: str) -> None:
    read_pattern(text_literal(pattern), "REGEXP_MATCHES")
    engine.execute("SELECT regexp_matches('x', $1)", [pattern])


MOMENTS = [
    datetime(1000, 1, 1) + timedelta(days=days, seconds=seconds, microseconds=seconds)
    for days, seconds in product(range(0, 3_000_000, 77_777), (0, 1, 43_199, 43_200, 86_399))
]


@pytest.mark.parametrize("code", [code for code in PRINTED.split() if code != "%%"])
def test_a_code_prints_what_python_prints(engine: duckdb.DuckDBPyConnection, code: str) -> None:
    form = f"<{code}|{code}>"
    printed = engine.execute(
        "SELECT strftime(unnest($2::TIMESTAMP[]), $1)", [form, MOMENTS]
    ).fetchall()
    assert [text for (text,) in printed] == [moment.strftime(form) for moment in MOMENTS]


@pytest.mark.slow
def test_any_two_codes_of_a_format_can_be_read_together(engine: duckdb.DuckDBPyConnection) -> None:
    for first, second in product(READ.split(), repeat=2):
        for text in ("2024-02", "", "12 12", "Feb 7", "99 99", "%"):
            engine.execute("SELECT try_strptime($1, $2)", [text, f"{first} {second}"]).fetchall()


@pytest.mark.parametrize(
    ("letters", "codes"),
    [
        ("YYYY-MM-DD", "%Y-%m-%d"),
        ("yyyymmdd", "%Y%m%d"),
        ("HH24:MI:SS.US", "%H:%M:%S.%f"),
        ("DD Mon YYYY", "%d %b %Y"),
        ("FMMonth, Day", "%B, %A"),
        ('IYYY-"W"IW 100% "of it"'.replace("100", "."), "%G-W%V .%% of it"),
        ("DDD", "%j"),
    ],
)
def test_letters_become_codes(letters: str, codes: str) -> None:
    assert from_letters(letters) == codes
