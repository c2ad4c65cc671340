"""Rules 8 to 11: every operator is total, and odd values are neither errors nor outliers.

The database has people with NaN, infinities, −0.0, NULL, the ends of 64 bits, text that is no number and
dates beyond the calendar. Nothing may fail on them, and each may move a sum by no more than its bounds.
"""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable

import pytest

from sanql.san import San

pytestmark = pytest.mark.slow

Exact = Callable[[str], object]
ORDINARY = sum(range(200))
AGES = sum(number % 90 for number in range(200))

TOTAL = [
    # expression over a row: total for every row whatever it holds
    "1 / age", "1 / (age - age)", "age / 0", "age // 0", "age % 0", "wide // 0", "wide % (age - 30)",
    "1 / income", "income / free", "free / 0", "CAST(note AS INTEGER)",
    "CAST(note AS DOUBLE)", "CAST(note AS BIGINT)", "CAST(note AS DATE) IS NULL", "CAST(note AS BOOLEAN) IS NULL",
    "CAST(note AS TIMESTAMP) IS NULL", "CAST(wide AS TINYINT)", "CAST(free AS INTEGER)", "CAST(free AS BIGINT)",
    "wide + wide", "wide - 1", "-wide", "ABS(wide)", "wide * 3", "wide // -1", "wide * age", "SIGN(wide)",
    "free * free", "free - free", "free + 1e299 * 1e9", "SQRT(free)", "SQRT(-1 - age)", "LN(free)", "LN(age - age)",
    "LN(-1)", "EXP(free)", "EXP(wide)", "POWER(free, 300)", "POWER(age - age, -1)", "POWER(-1, 0.5)",
    "ROUND(free, 15)", "ROUND(free, -15)", "FLOOR(free)", "CEIL(free)", "TRUNC(free)", "ROUND(wide)",
    "EXTRACT(year FROM born)", "EXTRACT(week FROM born)", "LENGTH(note)", "LENGTH(UPPER(city))",
    "GREATEST(wide, age)", "LEAST(free, income)", "NULLIF(wide, age)", "NULLIF(wide, free)",
    "COALESCE(wide, age, 1)", "CASE WHEN member THEN wide ELSE age END",
]  # fmt: skip


CHUNK = 8


@pytest.mark.parametrize("start", range(0, len(TOTAL), CHUNK))
def test_no_row_can_make_an_expression_fail(san: San, start: int) -> None:
    chunk = TOTAL[start : start + CHUNK]
    sums = [
        f"SUM(CASE WHEN {part} THEN 1 ELSE 0 END)"
        if part.endswith("IS NULL")
        else f"SUM(GREATEST(-1000, LEAST(1000, {part})))"
        for part in chunk
    ]
    asked = f"SELECT COUNT(*), {', '.join(sums)} FROM people"
    (row,) = san.query(asked, epsilon=1).rows
    assert row[0] == 205
    assert all(abs(total) <= 205 * 1000 for total in row[1:])
    tested = " OR ".join(f"({part}) IS NULL" for part in chunk)
    assert san.query(f"SELECT COUNT(*) FROM people WHERE {tested} OR TRUE", epsilon=1).value == 205


VALUES = [
    # NaN, infinities and NULL count as no value; −0.0 is zero
    ("SELECT COUNT(income) FROM people", 201),
    ("SELECT SUM(income) FROM people", ORDINARY),
    ("SELECT COUNT(*) FROM people WHERE income = 0", 2),
    ("SELECT COUNT(*) FROM people WHERE free > 1e300 OR free < -1e300", 0),
    ("SELECT COUNT(*) FROM people WHERE income IS NULL", 4),
    # what lies outside the bounds is read as the nearest bound
    ("SELECT SUM(age) FROM people", AGES + 30 + 30 + 0 + 120),
    ("SELECT COUNT(*) FROM people WHERE age > 120 OR age < 0", 0),
    ("SELECT COUNT(*) FROM people WHERE born IS NULL", 2),
    ("SELECT COUNT(*) FROM people WHERE born > DATE '2026-12-31' OR born < DATE '1900-01-01'", 0),
    # text that is no number is NULL: not an error, and not zero
    ("SELECT COUNT(CAST(note AS INTEGER)) FROM people", 200),
    ("SELECT SUM(GREATEST(0, LEAST(500, CAST(note AS INTEGER)))) FROM people", ORDINARY + 5 * 500),  # LEAST passes over NULL
    ("SELECT COUNT(*) FROM people WHERE CAST(note AS BIGINT) IS NULL", 5),
    # whole numbers do not wrap
    ("SELECT COUNT(*) FROM people WHERE wide + 1 > wide", 204),
    ("SELECT COUNT(*) FROM people WHERE -wide = 9223372036854775808", 1),
    ("SELECT COUNT(*) FROM people WHERE wide = 9223372036854775807", 1),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "expected"), VALUES)
def test_odd_values_mean_what_the_documents_say(exact: Exact, sql: str, expected: int) -> None:
    assert exact(sql) == expected


@pytest.mark.parametrize("key", ["ROUND(free, 0)", "-0.0 * age", "ROUND(income, 1)"])
def test_zero_and_minus_zero_are_one_group(san: San, key: str) -> None:
    answer = san.query(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1", epsilon=50, delta="1e-4")
    keys = [row[0] for row in answer.rows]
    assert len(keys) == len(set(keys))
    assert str(answer.rows).count("-0.0") == 0


@pytest.mark.parametrize(
    "output",
    ["COUNT(*) / 0", "COUNT(*) // 0", "COUNT(*) % 0", "LN(-COUNT(*))", "SQRT(-COUNT(*))", "EXP(COUNT(*) * 1000)",
     "POWER(COUNT(*), 1000)", "CAST(COUNT(*) AS TINYINT)", "COUNT(*) * 9000000000000000000",
     "CAST(CAST(COUNT(*) AS VARCHAR) AS DATE) IS NULL", "SUM(age) / (COUNT(*) - COUNT(*))",
     "ROUND(SUM(income) / 0, 3)", "NULLIF(COUNT(*), COUNT(*))", "-SUM(age) * SUM(age)"],
)  # fmt: skip
def test_arithmetic_on_noisy_values_is_total_and_its_json_is_json(san: San, output: str) -> None:
    answer = san.query(f"SELECT {output} FROM people", epsilon=1)
    assert len(answer.rows) == 1
    assert "NaN" not in answer.to_json() and "Infinity" not in answer.to_json()
    str(answer), answer.to_csv(), answer._repr_html_()
