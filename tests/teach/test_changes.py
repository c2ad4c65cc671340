"""Forty refusals: what each shows instead is equal in meaning, or says what it changes."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

from sanql.errors import Refused
from sanql.parse.question import Question, parse
from sanql.plan.plan import outline, price
from sanql.policy.model import Table
from sanql.question.public_query import PublicQuery
from sanql.teach.nearest.search import teach

Tables = Mapping[str, Table]
EQUAL, NOTHING = "", None
# a question, a part of what is shown (None: nothing is), and a part of what is said of it (none: it is equal)
REVIEWED: list[tuple[str, str | None, str]] = [
    # one statistic in place of another
    ("SELECT MIN(city) FROM people", "COUNT(DISTINCT city)", "COUNT(DISTINCT city) in place of MIN(city)"),
    ("SELECT MAX(city) FROM people WHERE age > 3", "WHERE age > 3", "in place of MAX(city)"),
    ("SELECT STRING_AGG(city) FROM people", "COUNT(DISTINCT city)", "in place of STRING_AGG(city)"),
    ("SELECT ARRAY_AGG(age) FROM people", "COUNT(DISTINCT age)", "in place of ARRAY_AGG(age)"),
    ("SELECT ANY_VALUE(city) FROM people", "COUNT(DISTINCT city)", "in place of ANY_VALUE(city)"),
    ("SELECT SUM(city) FROM people", "COUNT(city)", "COUNT(city) in place of SUM(city)"),
    ("SELECT MAX(person_id) FROM people", "COUNT(DISTINCT person_id)", "in place of MAX(person_id)"),
    ("SELECT BOOL_AND(member) FROM people", "COUNT_IF(member)", "COUNT_IF(member) in place of BOOL_AND(member)"),
    ("SELECT BOOL_OR(age > 90) FROM people", "COUNT_IF(age > 90)", "in place of BOOL_OR(age > 90)"),
    # DISTINCT
    ("SELECT COUNT(DISTINCT (city, member)) FROM people", "'|'", "pairs without NULL"),
    ("SELECT COUNT(DISTINCT city, member) FROM people", "'|'", "pairs without NULL"),
    ("SELECT MEDIAN(DISTINCT age) FROM people", NOTHING, ""),
    ("SELECT CORR(DISTINCT age, income) FROM people", NOTHING, ""),
    # conditions and tables
    ("SELECT COUNT(*) FROM people a JOIN people b ON a.city = b.city", "a.person_id = b.person_id", "only rows where a.person_id = b.person_id"),
    ("SELECT COUNT(*) FROM people, rows", "FROM people", "nothing of rows"),
    ("SELECT COUNT(*) FROM people a JOIN people b", "a.person_id = b.person_id", "only rows where"),
    ("SELECT COUNT(*) FROM people a, people b WHERE a.age > 3", "a.age > 3", "only rows where"),
    ("SELECT AVG(age - (SELECT AVG(age) FROM people)) FROM people", "SELECT AVG(age) FROM people", "in place of AVG(age - "),
    ("SELECT COUNT(*) FROM people JOIN rows ON people.age = rows.age", "FROM people", "nothing of rows"),
    ("SELECT SUM(age) FROM people p JOIN rows r ON p.age = r.age WHERE r.age > 3", "FROM people", "in place of those where r.age > 3"),
    # rows
    ("SELECT * FROM people", "COUNT(*)", "statistics in place of the rows"),
    ("SELECT city, age FROM people WHERE age > 90", "COUNT(*)", "statistics in place of the rows"),
    ("SELECT person_id, COUNT(*) FROM people GROUP BY person_id", "GROUP BY n1", "a group for each n1 in place of each person_id"),
    ("SELECT person_id, SUM(age) FROM people GROUP BY person_id", "SUM(age)", "no group for each person_id"),
    ("SELECT city, SUM(age) OVER (PARTITION BY city) FROM people", "GROUP BY city", "statistics in place of the rows"),
    ("SELECT city, age, COUNT(*) FROM people GROUP BY city", "GROUP BY city, age", "a group for each age"),
    ("SELECT city, age / 2 AS h, COUNT(*), RANK() OVER () AS r FROM people GROUP BY city", "GROUP BY city, age", "nothing in place of RANK() OVER ()"),
    # frames and clauses
    ("SELECT SUM(x) FROM (SELECT SUM(age) OVER (PARTITION BY person_id ORDER BY age RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS x FROM people) AS t", "OVER (PARTITION BY person_id ORDER BY age)", "in place of the frame"),
    ("SELECT COUNT(*) FROM people USING SAMPLE 10", "FROM people", "all rows in place of a sample"),
    ("SELECT COUNT(*) FROM people SAMPLE (10)", "FROM people", "all rows in place of a sample"),
    ("SELECT AVG(age) FROM people TABLESAMPLE BERNOULLI (10)", "AVG(age)", "all rows in place of a sample"),
    ("SELECT COUNT(*) FROM people FOR SYSTEM_TIME AS OF '2020-01-01'", "FROM people", "in place of earlier ones"),
    ("SELECT DISTINCT ON (city) city, age FROM people ORDER BY city, age", "GROUP BY city, age", "in place of the first row of each"),
    ("SELECT city, COUNT(*) FROM people GROUP BY city HAVING BOOL_OR(age > 5)", "COUNT_IF(age > 5) > 0", "in place of BOOL_OR(age > 5)"),
    ("SELECT COUNT(*) FROM people WHERE age", "age <> 0", EQUAL),
    ("SELECT ARG_MAX(city, age) FROM people", "COUNT(DISTINCT city)", "in place of ARG_MAX(city, age)"),
    ("SELECT PRODUCT(age) FROM people", NOTHING, ""),
    ("SELECT city, RANDOM() FROM people GROUP BY city", NOTHING, ""),
    ("SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 9 AND 3", NOTHING, ""),
    ("SELECT GROUP_CONCAT(city) FROM people", "COUNT(DISTINCT city)", "in place of GROUP_CONCAT(city)"),
    ("SELECT FIRST_VALUE(city) OVER (PARTITION BY person_id ORDER BY age) FROM people", "GROUP BY", "statistics in place of the rows"),
    ("SELECT COUNT(*) FROM people CROSS JOIN people AS b", "person_id", "only rows where"),
    ("SELECT * EXCLUDE (city) FROM people", "COUNT(*)", "statistics in place of the rows"),
    ("SELECT COUNT(*) FROM people a WHERE NOT EXISTS (SELECT 1 FROM people b WHERE b.city = a.city AND b.age > a.age)", "b.person_id = a.person_id", "only rows where"),
    ("SELECT COUNT(*) FROM people ORDER BY RANDOM()", "FROM people", EQUAL),
    ("SELECT COUNT(*) FROM people LIMIT 1 + 1", "LIMIT 10", "your own number of rows"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT city FROM people) AS t", "COUNT(DISTINCT city)", EQUAL),
    ("SELECT SUM(age - (SELECT AVG(age) FROM people)) FROM people", "SELECT AVG(age) FROM people", "nothing in place of SUM"),
    # types, keys, bounds
    ("SELECT COUNT(*) FROM people WHERE city < 7", "city < '7'", EQUAL),
    ("SELECT COUNT(*) FROM people WHERE city = TRUE", NOTHING, ""),
    ("SELECT COUNT(*) FROM people WHERE age = 'old'", "CAST(age AS TEXT)", "age read as TEXT"),
    ("SELECT age / 10, COUNT(*) FROM people GROUP BY age / 10", "age // 10", "whole numbers"),
    ("SELECT income / 10, COUNT(*) FROM people GROUP BY income / 10", "ROUND(income / 10, 2)", "rounded to two digits"),
    ("SELECT free, COUNT(*) FROM people GROUP BY free", "ROUND(free, 2)", "rounded to two digits"),
    ("SELECT SUM(free) FROM people", "BETWEEN 0 AND 100", "your own bounds"),
    ("SELECT AVG(big) FROM people", "BETWEEN 0 AND 100", "your own bounds"),
    ("SELECT COUNT(*) FROM people WHERE born > CURRENT_DATE", "2026-01-31", "the day you mean"),
    ("SELECT QUANTILE_CONT(age, 50) FROM people", "0.5", EQUAL),
    ("SELECT APPROX_QUANTILES(age, 4) FROM people", "QUANTILE_CONT(age, 0.25)", EQUAL),
    ("SELECT MD5(city), COUNT(*) FROM people GROUP BY 1", "city", EQUAL),
    # names
    ("SELECT SUM(aeg) FROM people", "SUM(age)", EQUAL),
    ("SELECT COUNT(*) FROM peopel", "FROM people", EQUAL),
    ("SELECT CUONT(*) FROM people", "COUNT(*)", EQUAL),
    ('SELECT COUNT(*) FROM people WHERE city = "Rome"', "'Rome'", EQUAL),
]  # fmt: skip


def test_at_least_forty_are_reviewed() -> None:
    assert len({sql for sql, _, _ in REVIEWED}) >= 40


@pytest.mark.parametrize(
    ("sql", "part", "said"), REVIEWED, ids=[sql[:60] for sql, _, _ in REVIEWED]
)
def test_what_is_shown_is_equal_or_says_what_it_changes(
    tables: Tables, sql: str, part: str | None, said: str
) -> None:
    def accept(question: Question) -> None:
        if not isinstance(question.query, PublicQuery):
            whole = outline(question.query, tables, "add-remove")
            price(whole, Fraction(1), Fraction(1, 10**9))

    with pytest.raises(Refused) as caught:
        accept(parse(sql, tables))
    shown = teach(caught.value, sql, tables, accept)
    if part is NOTHING:
        assert not shown.nearest
        return
    assert part in shown.nearest
    assert said in shown.fill_in
    assert bool(said) == bool(shown.fill_in), shown.fill_in
