"""Whatever is typed ends as a question or as a refusal, after a bounded number of steps."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanql.errors import Refused
from sanql.parse.question import Question, parse
from sanql.policy.model import Table
from sanql.teach.nearest.search import teach
from support.counting import CALLS_MAX, at_most

SEEDS = [
    "SELECT city, COUNT(*) AS n, AVG(age) FROM people WHERE age BETWEEN 18 AND 65 GROUP BY 1 HAVING n > 5 ORDER BY n DESC LIMIT 3",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-9) SUM(CASE WHEN member THEN income ELSE 0 END) FROM people",
    "SELECT DATE_TRUNC('month', born), COUNT(DISTINCT person_id) FROM people WHERE city LIKE 'a!%' ESCAPE '!' GROUP BY 1",
    "SELECT SUM(CAST(income AS DECIMAL(9, 2)) * 2 - -1 % 3) / NULLIF(COUNT(*), 0) FROM people WHERE born >= DATE '2020-01-31'",
    "SELECT COUNT(*) FROM people WHERE city IN ('a', 'b') OR NOT (member IS TRUE AND age IS NOT NULL)",
]
SPLICES = st.sampled_from(
    [
        "(",
        ")",
        "'",
        '"',
        ",",
        ";",
        "--",
        "/*",
        "*/",
        "*",
        "[",
        "]",
        "{",
        "}",
        "$$",
        "::",
        ":=",
        "->",
        ".",
        "\\",
        "e'\\x00'",
        "x'00'",
        "NULL",
        "SELECT",
        "FROM",
        "NOT ",
        "CASE ",
        "END",
        "OVER ()",
        "FILTER (WHERE ",
        "COLUMNS(",
        "INTERVAL 1 DAY",
        "1e999",
        "0x1F",
        "1_000",
        "\ud800",
        "ß",
        "\x00",
        "\u2028",
        "UNION ",
        "WITH ",
        "@x",
        "?",
        "$1",
        "ROWS",
        "people.",
        "DISTINCT ",
        "USING ",
        "DECIMAL(",
        "AS ",
        " OR ",
        "#1",
        "%",
        "<=>",
        "~~~",
        "IS ",
        "ALL",
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Return a question with pieces cut, doubled, moved and put in."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 12)))
        match draw(st.integers(0, 3)):
            case 0:
                text = text[:start] + text[stop:]
            case 1:
                text = text[:stop] + text[start:stop] * draw(st.integers(1, 40)) + text[stop:]
            case 2:
                text = text[:start] + draw(SPLICES) + text[start:]
            case _:
                text = text[:start] + draw(st.text(max_size=4)) + text[stop:]
    return text


def assert_ends(text: str, tables: Mapping[str, Table]) -> None:
    """Assert that a text becomes a question or a refusal, without much ado."""
    with at_most():
        try:
            assert isinstance(parse(text, tables), Question)
        except Refused as refused:
            assert refused.code and refused.message and refused.remedy
            known = refused
        else:
            return
    with at_most(8 * CALLS_MAX):
        taught = teach(known, text, tables, lambda question: None)
    assert taught.code == known.code


FIXTURES = HealthCheck.function_scoped_fixture


@pytest.mark.slow
@settings(max_examples=120, deadline=None, suppress_health_check=[FIXTURES])
@given(text=st.one_of(mutated(), mutated(), st.text(max_size=200)))
def test_a_mutated_question_is_understood_or_refused(
    tables: Mapping[str, Table], text: str
) -> None:
    assert_ends(text, tables)


@pytest.mark.soak
@settings(max_examples=1_200, deadline=None, suppress_health_check=[FIXTURES])
@given(text=st.one_of(mutated(), mutated(), st.text(max_size=200)))
def test_a_mutated_question_is_understood_or_refused_at_length(
    tables: Mapping[str, Table], text: str
) -> None:
    assert_ends(text, tables)
