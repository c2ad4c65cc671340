"""Words of other systems mean what the question in plain words means, or are refused by name."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sanql.errors import Refused
from sanql.parse import QuestionText
from sanql.parse.question import Question
from sanql.question import Query

Ask = Callable[[str], Question]
Refusal = Callable[[str], Refused]


def meaning(question: Question) -> Query:
    """Return a question without the names and texts that it shows."""
    query = question.private
    return replace(
        query,
        outputs=tuple(replace(output, name="") for output in query.outputs),
        aggregates=tuple(replace(aggregate, text="") for aggregate in query.aggregates),
    )


SAME = [
    # schemas
    ("SELECT COUNT(*) FROM people.people", "SELECT COUNT(*) FROM people"),
    ("SELECT COUNT(*) FROM main.people AS p", "SELECT COUNT(*) FROM people AS p"),
    ("SELECT AVG(x.people.age) FROM x.people", "SELECT AVG(people.age) FROM people"),
    ("SELECT COUNT(*) FROM lake.x.people", "SELECT COUNT(*) FROM people"),
    ("SELECT COUNT(*) FROM `lake.x.people`", "SELECT COUNT(*) FROM people"),
    (
        "SELECT COUNT(*) FROM x.people p JOIN x.cities c ON p.city = c.city",
        "SELECT COUNT(*) FROM people p JOIN cities c ON p.city = c.city",
    ),
    # quotes
    ("SELECT `age`, COUNT(*) FROM `people` GROUP BY `age`", "SELECT age, COUNT(*) FROM people GROUP BY age"),
    ("SELECT [age], COUNT(*) FROM [people] GROUP BY [age]", "SELECT age, COUNT(*) FROM people GROUP BY age"),
    ("SELECT SUM([p].[age]) AS [a b] FROM people AS [p]", "SELECT SUM(p.age) FROM people AS p"),
    ("SELECT APPROX_QUANTILES(age, 4)[OFFSET(1)] FROM people", "SELECT QUANTILE_CONT(age, 0.25) FROM people"),
    # TOP
    ("SELECT TOP 5 age, COUNT(*) FROM people GROUP BY age", "SELECT age, COUNT(*) FROM people GROUP BY age LIMIT 5"),
    (
        "SELECT TOP (5) age, COUNT(*) FROM people GROUP BY age ORDER BY 2 DESC",
        "SELECT age, COUNT(*) FROM people GROUP BY age ORDER BY 2 DESC LIMIT 5",
    ),
    ("SELECT DISTINCT TOP 2 age, COUNT(*) FROM people GROUP BY 1", "SELECT DISTINCT age, COUNT(*) FROM people GROUP BY 1 LIMIT 2"),
    # brackets around one table
    ("SELECT AVG(q.age) FROM (people) AS q", "SELECT AVG(q.age) FROM people AS q"),
    # statistics
    ("SELECT VAR(age), STD(age) FROM people", "SELECT VAR_SAMP(age), STDDEV_SAMP(age) FROM people"),
    ("SELECT STDEVP(age), VARP(age) FROM people", "SELECT STDDEV_POP(age), VAR_POP(age) FROM people"),
    (
        "SELECT ANON_VAR_POP(free CLAMPED BETWEEN 0 AND 5) FROM people",
        "SELECT VAR_POP(free, contribution_bounds_per_row => (0, 5)) FROM people",
    ),
    (
        "SELECT ANON_PERCENTILE_CONT(free, 0.5 CLAMPED BETWEEN 0 AND 5) FROM people",
        "SELECT PERCENTILE_CONT(free, 0.5, contribution_bounds_per_row => (0, 5)) FROM people",
    ),
    (
        "SELECT APPROX_QUANTILES(free, 4, contribution_bounds_per_row => (0, 5))[OFFSET(3)] FROM people",
        "SELECT PERCENTILE_CONT(free, 0.75, contribution_bounds_per_row => (0, 5)) FROM people",
    ),
    ("SELECT APPROX_PERCENTILE(age, 0.9) FROM people", "SELECT APPROX_QUANTILE(age, 0.9) FROM people"),
    ("SELECT PERCENTILE_APPROX(age, 0.9) FROM people", "SELECT APPROX_QUANTILE(age, 0.9) FROM people"),
    # several patterns, steps of a range
    (
        "SELECT COUNT(*) FROM people WHERE city LIKE ANY ('R%', 'O%')",
        "SELECT COUNT(*) FROM people WHERE (city LIKE 'R%' OR city LIKE 'O%')",
    ),
    (
        "SELECT COUNT(*) FROM people WHERE city ILIKE ALL ('r%', '%e') AND age > 3",
        "SELECT COUNT(*) FROM people WHERE (city ILIKE 'r%' AND city ILIKE '%e') AND age > 3",
    ),
    ("SELECT COUNT(*) FROM people WHERE city LIKE ANY ('R%')", "SELECT COUNT(*) FROM people WHERE city LIKE 'R%'"),
    (
        "SELECT RANGE_BUCKET(age, [-1, 20, 40.5]), COUNT(*) FROM people GROUP BY 1",
        "SELECT CASE WHEN age IS NULL THEN NULL WHEN age < -1 THEN 0 WHEN age < 20 THEN 1 WHEN age < 40.5 THEN 2 "
        "ELSE 3 END, COUNT(*) FROM people GROUP BY 1",
    ),
    # names that SELECT gave before
    (
        "SELECT SUM(age) AS s, COUNT(*) AS n, s / n AS each, each * 2 AS twice FROM people",
        "SELECT SUM(age), COUNT(*), SUM(age) / COUNT(*), SUM(age) / COUNT(*) * 2 FROM people",
    ),
    (
        "SELECT city AS place, place || '!' AS loud, COUNT(*) FROM people GROUP BY ALL",
        "SELECT city, city || '!', COUNT(*) FROM people GROUP BY city, city || '!'",
    ),
    (
        "SELECT AVG(x) FROM (SELECT age * 2 AS twice, twice + 1 AS x FROM people) AS t",
        "SELECT AVG(x) FROM (SELECT age * 2 AS twice, age * 2 + 1 AS x FROM people) AS t",
    ),
    ("SELECT COUNT(*) AS n, n FROM people", "SELECT COUNT(*), COUNT(*) FROM people"),
    # a column stays a column, whatever else has its name
    (
        "SELECT city AS age, SUM(age) AS s FROM people GROUP BY city",
        "SELECT city, SUM(people.age) FROM people GROUP BY city",
    ),
    # constants of another type
    ("SELECT COUNT(*) FROM people WHERE member = 1", "SELECT COUNT(*) FROM people WHERE member = TRUE"),
    ("SELECT COUNT(*) FROM people WHERE 0 <> member", "SELECT COUNT(*) FROM people WHERE FALSE <> member"),
    ("SELECT COUNT(*) FROM people WHERE member = 'true'", "SELECT COUNT(*) FROM people WHERE member = TRUE"),
    ("SELECT COUNT(*) FROM people WHERE city IN (2, -3)", "SELECT COUNT(*) FROM people WHERE city IN ('2', '-3')"),
    ("SELECT COUNT(*) FROM people WHERE age = TRUE", "SELECT COUNT(*) FROM people WHERE age = 1"),
    ("SELECT COUNT(*) FROM people WHERE age > '30'", "SELECT COUNT(*) FROM people WHERE age > 30"),
    ("SELECT COUNT(*) FROM people WHERE income < '-2.5'", "SELECT COUNT(*) FROM people WHERE income < -2.5"),
    (
        "SELECT COUNT(*) FROM people WHERE age BETWEEN '20' AND 30",
        "SELECT COUNT(*) FROM people WHERE age BETWEEN 20 AND 30",
    ),
    (
        "SELECT CASE member WHEN 1 THEN 'y' ELSE 'n' END, COUNT(*) FROM people GROUP BY 1",
        "SELECT CASE member WHEN TRUE THEN 'y' ELSE 'n' END, COUNT(*) FROM people GROUP BY 1",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), SAME)
def test_their_words_mean_what_ours_do(ask: Ask, theirs: str, ours: str) -> None:
    assert meaning(ask(theirs)) == meaning(ask(ours))


REFUSED = [
    ("SELECT COUNT(*) FROM a.people p JOIN b.cities c ON p.city = c.city", "table_unknown", "two schemas"),
    ("WITH people AS (SELECT age FROM rows) SELECT COUNT(*) FROM x.people", "table_unknown", "WITH"),
    ("SELECT COUNT(*) FROM pg_catalog.people", "clause_unsupported", "db"),
    ("SELECT AVG(y.people.age) FROM x.people", "column_unknown", "y.people.age"),
    ("SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 9 AND 3", "construct_unsupported", "BETWEEN SYMMETRIC"),
    ("SELECT TOP 5 PERCENT age, COUNT(*) FROM people GROUP BY age", "limit_invalid", "PERCENT"),
    ("SELECT TOP 5 WITH TIES age, COUNT(*) FROM people GROUP BY age", "limit_invalid", "WITH TIES"),
    ("SELECT TOP 5 age FROM people UNION ALL SELECT age FROM people", "limit_invalid", "UNION"),
    ("SELECT AVG(age) FROM (people p JOIN rows r ON TRUE) AS q", "clause_unsupported", "q"),
    ("SELECT COUNT(*) FROM people WHERE city NOT LIKE ANY ('R%', 'O%')", "construct_unsupported", "ANY"),
    ("SELECT RANGE_BUCKET(age, [20, 10]), COUNT(*) FROM people GROUP BY 1", "construct_unsupported", "RANGE_BUCKET"),
    ("SELECT RANGE_BUCKET(age, [income]), COUNT(*) FROM people GROUP BY 1", "construct_unsupported", "RANGE_BUCKET"),
    ("SELECT COUNT(*) AS age, age / 2 AS half FROM people", "column_not_grouped", "age"),
    ("SELECT later AS a, COUNT(*) AS later FROM people", "column_unknown", "later"),
    ("SELECT city AS a, COUNT(*) FROM people WHERE a = 'x' GROUP BY city", "column_unknown", "a"),
    (
        "SELECT COUNT(*) AS a, " + ", ".join(f"{p} + {p} AS {q}" for p, q in zip("abcdefghij", "bcdefghijk", strict=True))
        + " FROM people",
        "query_too_complex",
        "SELECT",
    ),
    ("SELECT HISTOGRAM(city) FROM people", "construct_unsupported", "GROUP BY x"),
    # one constant, two readings
    ("SELECT COUNT(*) FROM people WHERE city < 2", "type_mismatch", "text"),
    ("SELECT COUNT(*) FROM people WHERE city = TRUE", "type_mismatch", "text"),
    ("SELECT COUNT(*) FROM people WHERE city = 2.0", "type_mismatch", "text"),
    ("SELECT COUNT(*) FROM people WHERE member = 2", "type_mismatch", "boolean"),
    ("SELECT COUNT(*) FROM people WHERE member < 1", "type_mismatch", "boolean"),
    ("SELECT COUNT(*) FROM people WHERE age = 'old'", "type_mismatch", "text"),
    ("SELECT COUNT(*) FROM people WHERE age = '1e3'", "type_mismatch", "text"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "code", "named"), REFUSED)
def test_what_could_mean_two_things_is_refused_by_name(
    refusal: Refusal, sql: str, code: str, named: str
) -> None:
    refused = refusal(sql)
    assert (refused.code, bool(refused.remedy)) == (code, True)
    assert named in str(refused)


def test_a_clause_may_stand_in_every_select_and_prices_are_added_up() -> None:
    inner = "SELECT WITH {} OPTIONS(epsilon=0.5, delta=1e-7, kappa=2) COUNT(*) AS n FROM people"
    both = " UNION ALL ".join(map(inner.format, ("ANONYMIZATION", "DIFFERENTIAL_PRIVACY")))
    assert QuestionText(both).options == {
        "epsilon": "1",
        "delta": "0.0000002",
        "max_groups_contributed": "2",
    }
    nested = QuestionText(f"SELECT n FROM ({inner.format('ANONYMIZATION')}) AS t")
    assert nested.options["epsilon"] == "0.5"
    assert [token.text for token in nested.split[0]][:6] == [
        "SELECT",
        "n",
        "FROM",
        "(",
        "SELECT",
        "COUNT",
    ]


def test_clauses_that_disagree_are_refused() -> None:
    part = "SELECT WITH ANONYMIZATION OPTIONS(kappa={}) COUNT(*) FROM people"
    with pytest.raises(Refused) as caught:
        _ = QuestionText(f"{part.format(1)} UNION ALL {part.format(2)}").options
    assert caught.value.code == "option_twice"


def test_null_is_no_limit_of_the_questions_own() -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=NULL, epsilon=1) COUNT(*) FROM t"
    assert QuestionText(text).options == {"epsilon": "1"}
