"""A whole number is not bounded because its type is: what rests on that is refused, and nothing else is."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from sanql.errors import Refused
from sanql.parse.question import parse
from sanql.policy.model import Column, Table
from sanql.question.expressions import Query
from sanql.teach.nearest.search import teach

PER_PERSON = "(SELECT person_id, {0} AS x FROM people GROUP BY person_id) AS t"
RESTING = [
    # every statistic that has noise of the size of its bounds, on a 64-bit range that is divided
    "AVG(big / 1000)", "SUM(big / 1000)", "SUM(big // 5000)", "VAR_POP(big / 10)", "STDDEV(big / 1e6)",
    "MEDIAN(big / 7)", "MIN(big / 2)", "MAX(-big / 2)", "QUANTILE_CONT(big / 10, 0.5)", "CORR(big / 3, age)",
    "COVAR_POP(age, big / 3)", "SUM(big / 1000) FILTER (WHERE big > 3)",
    "SUM(big / 1000, contribution_bounds_per_group => (0, 3))",
    # however the value is made of it
    "SUM(age * big)", "AVG(ABS(big) / 2)", "SUM(SQRT(ABS(big)))", "SUM(big * 1.0)", "AVG(big / age)",
    "SUM(ROUND(big / 1000))", "SUM(COALESCE(big, 0) / 10)", "SUM(NULLIF(big, 3) / 10)", "SUM(CAST(big AS DOUBLE))",
    "AVG(CASE WHEN age > 3 THEN big / 1000 ELSE 0 END)", "SUM(GREATEST(0, big) / 1000)",
    # and of what else has a type of 32 or 64 bits, and no bounds
    "SUM(CAST(big AS INTEGER))", "SUM(CAST(city AS INTEGER) / 10)", "AVG(CAST(city AS BIGINT) / 3)",
]  # fmt: skip
RESTING_ELSEWHERE = [
    "SELECT AVG(big / 1000) FROM rows",
    "SELECT AVG(big / 1000) FROM people WHERE big > 0",
    "SELECT AVG(x) FROM (SELECT big / 1000 AS x FROM people) AS t",
    "SELECT AVG(x / 9) FROM (SELECT big AS x FROM people UNION ALL SELECT age FROM people) AS t",
    f"SELECT AVG(x / 2) FROM {PER_PERSON.format('SUM(big)')}",
    f"SELECT AVG(x) FROM {PER_PERSON.format('AVG(big)')}",
    f"SELECT AVG(x / 2) FROM {PER_PERSON.format('MAX(big)')}",
    "SELECT AVG(r / 2) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY age) AS r FROM people) AS t",
    "SELECT AVG(x) FROM (SELECT LAG(big) OVER (PARTITION BY person_id ORDER BY age) / 2 AS x FROM people) AS t",
    "SELECT AVG(s.size / 2) FROM people JOIN sizes AS s ON s.city = people.city",
    "SELECT AVG(n / 2) FROM people JOIN (SELECT city, COUNT(*) AS n FROM sizes GROUP BY city) AS s ON s.city = people.city",
    "SELECT AVG(n / 2) FROM people JOIN (SELECT city, SUM(size) AS n FROM sizes GROUP BY city) AS s ON s.city = people.city",
]  # fmt: skip
BOUNDED = [
    # the question says between what
    "SUM(CASE WHEN big BETWEEN 0 AND 1000000 THEN big END)", "AVG(GREATEST(0, LEAST(1000000000, big)) / 7)",
    "SUM(big % 1000000)", "SUM(SIGN(big))", "AVG(LN(ABS(big) + 1))", "AVG(ATAN(big / 1000))",
    "SUM(GREATEST(0, LEAST(100000000, CAST(city AS INTEGER))))",
    # small types, and what a large one is divided down to
    "SUM(CAST(big AS TINYINT))", "SUM(CAST(big AS SMALLINT))", "AVG(big / 1e15)",
    # the policy does
    "SUM(CAST(age AS INTEGER) / 3)", "AVG(wide / 1e9)", "SUM(CAST(age AS BIGINT))",
    # nothing is added up that has no bounds
    "COUNT(big)", "COUNT(DISTINCT big)", "SUM(age) FILTER (WHERE big / 1000 > 3)",
    "COUNT(big / (big + 9007199254740992)), COUNT(*), AVG(age)",
]  # fmt: skip
BOUNDED_ELSEWHERE = [
    "SELECT AVG(big / 1000) FROM people WHERE big BETWEEN 0 AND 1000",
    "SELECT big, AVG(age) FROM people GROUP BY big",
    "SELECT SUM(age), COUNT(*) FROM (SELECT age, big FROM people) AS t",
    "SELECT AVG(x / 2) FROM (SELECT big AS x FROM people WHERE big BETWEEN 0 AND 1000000) AS t",
    f"SELECT AVG(x / 2) FROM {PER_PERSON.format('COUNT(*)')}",
    # of public tables alone nothing is noisy
    "SELECT SUM(size / 2), AVG(CAST(city AS BIGINT) / 2) FROM sizes",
]


@pytest.fixture(scope="module")
def more(tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return people with a column that is wide and declared so, and a public table."""
    people = tables["people"]
    wide = Column("wide", "integer", (0, 2**61))
    columns = {"city": Column("city", "text"), "size": Column("size", "integer")}
    return {
        **tables,
        "people": replace(people, columns={**people.columns, "wide": wide}),
        "sizes": Table("sizes", None, columns, key="city"),
    }


@pytest.mark.parametrize(
    "sql", [*(f"SELECT {part} FROM people" for part in RESTING), *RESTING_ELSEWHERE]
)
def test_a_value_that_only_its_type_bounds_is_refused(sql: str, more: Mapping[str, Table]) -> None:
    with pytest.raises(Refused) as caught:
        parse(sql, more)
    assert caught.value.code == "bounds_missing"
    assert caught.value.place == (1, 8)
    assert 'bounds = "auto"' in caught.value.remedy
    assert "BETWEEN 0 AND 100" in caught.value.remedy


@pytest.mark.parametrize(
    "sql", [*(f"SELECT {part} FROM people" for part in BOUNDED), *BOUNDED_ELSEWHERE]
)
def test_a_value_that_something_else_bounds_is_not(sql: str, more: Mapping[str, Table]) -> None:
    parse(sql, more)


@pytest.mark.parametrize("part", RESTING)
def test_declared_bounds_answer_it(part: str, more: Mapping[str, Table]) -> None:
    if "city" in part:
        return
    people = more["people"]
    declared = replace(people.columns["big"], bounds=(0, 10**6))
    tables = {**more, "people": replace(people, columns={**people.columns, "big": declared})}
    query = parse(f"SELECT {part} FROM people", tables).query
    assert isinstance(query, Query)
    for aggregate in query.aggregates:
        assert aggregate.argument is not None
        high = aggregate.argument.facts.high
        assert isinstance(high, Fraction)
        assert high <= 10**9


def test_reading_again_changes_nothing_in_what_is_answered(more: Mapping[str, Table]) -> None:
    bounded = "SUM(GREATEST(0, LEAST(100000000, CAST(city AS INTEGER))))"
    query = parse(f"SELECT {bounded}, COUNT(big) FROM people WHERE big > 3", more).query
    assert isinstance(query, Query)
    assert query.where is not None
    (column, _) = query.where.args  # type: ignore[union-attr]
    assert column.facts.high == 2**63 - 1


def test_the_nearest_question_states_bounds(more: Mapping[str, Table]) -> None:
    sql = "SELECT AVG(big / 1000) FROM people"
    with pytest.raises(Refused) as caught:
        parse(sql, more)
    shown = teach(caught.value, sql, more, lambda question: None).nearest
    assert "BETWEEN 0 AND 100" in shown
    parse(shown, more)
