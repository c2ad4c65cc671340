"""Every spelling of a statistic means the same statistic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sanql.errors import Refused
from sanql.parse.question import Question
from sanql.question.expressions import Aggregate

Ask = Callable[[str], Question]
Refusal = Callable[[str], Refused]


def asked_for(ask: Ask, statistic: str) -> Aggregate:
    """Return the one aggregate of a question, without its text."""
    (aggregate,) = ask(f"SELECT {statistic} FROM people").query.aggregates
    return replace(aggregate, text="")


SPELLINGS = [
    ("COUNT_IF(age > 40)", "COUNT(CASE WHEN age > 40 THEN 1 END)"),
    ("COUNTIF(age > 40)", "COUNT(*) FILTER (WHERE age > 40)"),
    ("SUM(age > 40)", "COUNT_IF(age > 40)"),
    ("SUM(member)", "COUNT_IF(member)"),
    ("COUNT(city) FILTER (WHERE member)", "COUNT(CASE WHEN member THEN city END)"),
    ("SUM(age) FILTER (WHERE member)", "SUM(CASE WHEN member THEN age END)"),
    ("AVG(member)", "AVG(CASE WHEN member THEN 1 WHEN NOT member THEN 0 END)"),
    ("APPROX_COUNT_DISTINCT(city)", "COUNT(DISTINCT city)"),
    ("APPROX_DISTINCT(city)", "COUNT(DISTINCT city)"),
    (
        "COUNT(DISTINCT city) FILTER (WHERE member)",
        "COUNT(DISTINCT CASE WHEN member THEN city END)",
    ),
    (
        "COUNT(DISTINCT person_id) FILTER (WHERE member)",
        "COUNT(DISTINCT (CASE WHEN member THEN person_id END))",
    ),
    ("VAR_SAMP(age)", "VARIANCE(age)"),
    ("STDDEV(age)", "STDDEV_SAMP(age)"),
    ("VARIANCE_POP(age)", "VAR_POP(age)"),
    ("MEDIAN(age)", "QUANTILE_CONT(age, 0.5)"),
    ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)", "QUANTILE_CONT(age, 0.9)"),
    ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age DESC)", "QUANTILE_CONT(age, 0.1)"),
    ("PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age)", "QUANTILE_DISC(age, 0.9)"),
    ("QUANTILE(age, 0.9)", "QUANTILE_DISC(age, 0.9)"),
    ("PERCENTILE_CONT(age, 0.25)", "QUANTILE_CONT(age, 1 / 4)"),
    ("APPROX_QUANTILE(age, 0.9)", "QUANTILE_DISC(age, 0.9)"),
    ("APPROX_QUANTILES(age, 4)[OFFSET(1)]", "QUANTILE_CONT(age, 0.25)"),
    ("APPROX_QUANTILES(age, 4)[ORDINAL(1)]", "QUANTILE_CONT(age, 0)"),
    ("MIN(age)", "QUANTILE_DISC(age, 0)"),
    ("MAX(age) FILTER (WHERE member)", "QUANTILE_DISC(CASE WHEN member THEN age END, 1.0)"),
    (
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FILTER (WHERE member)",
        "MEDIAN(CASE WHEN member THEN age END)",
    ),
    ("CORR(age, income) FILTER (WHERE member)", "CORR(CASE WHEN member THEN age END, income)"),
]


@pytest.mark.parametrize(("spelling", "meaning"), SPELLINGS)
def test_a_spelling_means_what_another_means(ask: Ask, spelling: str, meaning: str) -> None:
    assert asked_for(ask, spelling) == asked_for(ask, meaning)


def test_units_under_a_condition_are_counted_as_units(ask: Ask) -> None:
    found = asked_for(ask, "COUNT(DISTINCT person_id) FILTER (WHERE member)")
    assert found.statistic == "count units"
    assert found.argument is not None


def test_equal_statistics_in_two_spellings_are_one(ask: Ask) -> None:
    query = ask("SELECT COUNT_IF(member), SUM(member), VAR_SAMP(age), VARIANCE(age) FROM people")
    assert len(query.query.aggregates) == 2


def test_columns_are_named_after_their_statistic(ask: Ask) -> None:
    sql = "SELECT STDDEV_POP(age), COUNT(*) FILTER (WHERE member), CORR(age, income) FROM people"
    names = [output.name for output in ask(sql).query.outputs]
    assert names == ["stddev_pop", "count", "corr"]


@pytest.mark.parametrize(
    "statistic",
    [
        "VAR_POP(big)",
        "STDDEV(free)",
        "COVAR_POP(age, big)",
        "CORR(big, age)",
        "MEDIAN(free)",
        "MAX(big)",
        "QUANTILE_DISC(big, 0.5)",
    ],
)
def test_a_statistic_without_bounds_is_refused_with_the_remedy(
    refusal: Refusal, statistic: str
) -> None:
    found = refusal(f"SELECT {statistic} FROM people")
    assert found.code in ("bounds_missing", "integer_overflow")
    assert "bounds" in found.remedy


@pytest.mark.parametrize(
    ("statistic", "code"),
    [
        ("VAR_POP(city)", "type_mismatch"),
        ("CORR(age, born)", "type_mismatch"),
        ("MEDIAN(DISTINCT age)", "distinct_unsupported"),
        ("COUNT_IF(city)", "type_mismatch"),
        ("COUNT(*) FILTER (WHERE COUNT(*) > 1)", "aggregate_inside"),
        ("VAR_POP(AVG(age))", "aggregate_inside"),
        ("COUNT(DISTINCT CASE WHEN member THEN person_id ELSE 0 END)", "unit_column"),
        ("MEDIAN(city)", "type_mismatch"),
        ("MODE(DISTINCT age)", "distinct_unsupported"),
        ("MAX(person_id)", "unit_column"),
        ("SUM(person_id) FILTER (WHERE member)", "unit_column"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(
    refusal: Refusal, statistic: str, code: str
) -> None:
    assert refusal(f"SELECT {statistic} FROM people").code == code
