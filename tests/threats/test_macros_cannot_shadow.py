"""Rule 2: macros, views and schemas in the source cannot change what San computes."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from sanql.compile.statement import compile_plan
from sanql.san import San
from support.plans import plan_of

pytestmark = pytest.mark.slow

AGES = [number % 90 for number in range(200)]
QUESTIONS = [
    # the first 200 people have income 0 … 199, ages 0 … 89 and a half are members
    ("SELECT COUNT(*) FROM people WHERE member IS NOT NULL", 200),
    ("SELECT SUM(age) FROM people WHERE member IS NOT NULL", sum(AGES)),
    ("SELECT SUM(LEAST(GREATEST(age, 10), 20)) FROM people WHERE member", sum(min(max(a, 10), 20) for a in AGES[::2])),
    ("SELECT COUNT(*) FROM people WHERE member AND age % 7 = 1 AND age // 2 > 3 AND age + 1 - 2 > 0", sum(a % 7 == 1 and a // 2 > 3 for a in AGES[::2])),
    ("SELECT SUM(NULLIF(age, 3)) FROM people WHERE member IS NOT NULL", sum(a for a in AGES if a != 3)),
    ("SELECT COUNT(*) FROM people WHERE city LIKE 'city %' ESCAPE '!'", 200),
    ("SELECT COUNT(*) FROM people WHERE city LIKE '%1'", 50),
    ("SELECT COUNT(*) FROM people WHERE city ILIKE 'CITY 2%'", 50),
    ("SELECT COUNT(*) FROM people WHERE UPPER(TRIM(LOWER(city))) = 'CITY 3' AND LENGTH(city) = 6", 50),
    ("SELECT COUNT(*) FROM people WHERE EXTRACT(year FROM born) = 2000 AND DATE_TRUNC('month', born) = '2000-02-01'", 29),
    ("SELECT SUM(ROUND(ABS(FLOOR(income)) + SIGN(age) + CEIL(income) - TRUNC(income))) FROM people WHERE member", sum(range(0, 200, 2)) + sum(a > 0 for a in AGES[::2])),
    ("SELECT COUNT(DISTINCT city) FROM people WHERE member IS NOT NULL", 4),
    ("SELECT COUNT(*) FROM people WHERE member AND SQRT(age) * POWER(age, 2) / 3 > 1", sum(a ** 2.5 / 3 > 1 for a in AGES[::2])),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "expected"), QUESTIONS)
def test_the_answer_is_that_of_the_built_ins(
    exact: Callable[[str], object], sql: str, expected: int
) -> None:
    assert exact(sql) == expected


def test_groups_and_public_keys_are_those_of_the_built_ins(san: San) -> None:
    rows = san.query("SELECT member, COUNT(*) FROM people GROUP BY member", epsilon=1).rows
    assert rows == [(False, 100), (True, 100)]


# what DuckDB's grammar resolves by itself, so that no macro of that name is ever looked up
SYNTAX = {"CAST", "TRY_CAST", "coalesce", "unnest", "AS", "IN", "AND", "OR", "NOT", "WHEN", "THEN", "ELSE", "BETWEEN", "FROM", "SELECT", "MATERIALIZED", "VALUES", "WHERE", "ON", "JOIN", "OVER", "REPLACE", "TRY"}  # fmt: skip


@pytest.mark.parametrize("sql", [sql for sql, _ in QUESTIONS])
def test_every_function_that_is_sent_is_named_in_full(san: San, sql: str) -> None:
    (planned,) = plan_of(san, sql, epsilon=1).levels
    sent = compile_plan(planned, san.session.data.open().source, secret=1).sql
    called = re.findall(r"([\w.]+)\s*\(", sent)
    functions = {name for name in called if name not in SYNTAX and not name[0].isdigit()}
    assert functions
    assert {name for name in functions if not name.startswith("system.main.")} == set()
