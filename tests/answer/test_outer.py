"""Arithmetic over noisy values never fails: the answer is paid for, so it must arrive."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanql.errors import Refused
from sanql.results.answer import Answer

Answered = Callable[..., Answer]
LEAVES = st.sampled_from(
    [
        "COUNT(*)",
        "SUM(age)",
        "AVG(income)",
        "SUM(income)",
        "score",
        "0",
        "-3",
        "0.5",
        "1e200",
        "NULL",
    ]
)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return larger expressions over aggregates and keys."""
    one = st.sampled_from(
        ["(-{})", "ABS({})", "SIGN({})", "ROUND({})", "ROUND({}, 2)", "ROUND({}, -3)", "FLOOR({})", "CEIL({})",
         "TRUNC({})", "SQRT({})", "LN({})", "EXP({})", "POWER({}, 2)", "POWER({}, -1)", "POWER({}, 0.5)",
         "CAST({} AS INTEGER)", "CAST({} AS TINYINT)", "CAST({} AS BIGINT)", "CAST({} AS DOUBLE)",
         "CAST(CAST({} AS INTEGER) AS VARCHAR) = '1'", "CAST(CAST({} AS BIGINT) AS BOOLEAN)", "({} IS NULL)",
         "CAST(CAST(CAST({} AS BIGINT) AS VARCHAR) AS DATE)", "({} > 3)", "({} IN (1, 2.5))"]
    )  # fmt: skip
    two = st.sampled_from(
        ["({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} // {})", "({} % {})", "LEAST({}, {})",
         "GREATEST({}, {})", "COALESCE({}, {})", "NULLIF({}, {})", "CASE WHEN {} > 1 THEN {} END",
         "({} BETWEEN {} AND 7)"]
    )  # fmt: skip
    return st.one_of(
        st.tuples(one, inner).map(lambda part: part[0].format(part[1])),
        st.tuples(two, inner, inner).map(lambda part: part[0].format(*part[1:])),
    )


EXPRESSIONS = st.recursive(LEAVES, combined, max_leaves=5)
CELLS = [2**62, -(2**62), 0, 1, -1, 7]


def assert_arrives(answered: Answered, text: str) -> None:
    """Assert that an expression gives a whole answer for extreme cells, in every form."""
    sql = f"SELECT score, {text} AS x FROM rows WHERE score < 40 GROUP BY score ORDER BY 2, {text} DESC"
    measured = ([*CELLS, *range(35)], [*reversed(CELLS), *range(35)])
    cells = {"k0": list(range(-10, 31))}
    cells |= {f"m{index}": measured[index % 2] for index in range(6)}
    try:
        answer = answered(sql, cells)
    except Refused:
        return
    assert len(answer.rows) == 41
    json.loads(answer.to_json())
    assert str(answer) and answer.to_csv() and answer._repr_html_()


FIXTURES = HealthCheck.function_scoped_fixture


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[FIXTURES])
@given(text=EXPRESSIONS)
def test_every_expression_over_noisy_values_arrives(answered: Answered, text: str) -> None:
    assert_arrives(answered, text)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[FIXTURES])
@given(text=EXPRESSIONS)
def test_every_other_expression_over_noisy_values_arrives(answered: Answered, text: str) -> None:
    assert_arrives(answered, text)


@pytest.mark.soak
@settings(max_examples=1_000, deadline=None, suppress_health_check=[FIXTURES])
@given(text=EXPRESSIONS)
def test_every_expression_over_noisy_values_arrives_at_length(
    answered: Answered, text: str
) -> None:
    assert_arrives(answered, text)
