"""What is not in the numbers is said under them, by what is declared and never by the rows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from sanql.certificate.certificate import certify
from sanql.plan.level import Level
from support.one_level import plan_of
from support.plans import explained

Planned = Callable[..., Level]
REMEDY = " (null_group = TRUE makes them one)"
UNKNOWN = "which share of the rows they keep is not known; what they cut is not in the intervals"


def said(planned: Planned, sql: str, delta: str = "0") -> list[str]:
    """Return the lines under an answer, and see that its certificate has those on rows left out."""
    certificate = certify(plan_of(planned(sql, "1", delta)))
    assert set(certificate.rows_left_out) <= set(certificate.assumptions)
    return certificate.caveats()


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT sex, COUNT(*) FROM rows GROUP BY sex", "sex"),
        ("SELECT age, COUNT(*) FROM rows GROUP BY age", "age"),
        ("SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM rows GROUP BY 1", "decade"),
        ("SELECT COUNT(*) FROM rows GROUP BY FLOOR(age / 10)", "key"),
        ("SELECT sex, age, COUNT(*) FROM rows GROUP BY sex, age", "sex or age"),
        ("SELECT old, COUNT(*) FROM (SELECT age // 9 AS old FROM rows) AS t GROUP BY old", "old"),
        ("SELECT s, COUNT(*) FROM (SELECT sex AS s FROM rows) AS t GROUP BY s", "s"),
        ("SELECT COUNT(*) FROM (SELECT age // 9 AS old FROM rows) AS t GROUP BY old", "key"),
        ("SELECT CASE WHEN age < 18 THEN 1 ELSE 2 END AS band, COUNT(*) FROM rows GROUP BY 1", None),
        ("SELECT CASE WHEN age < 18 THEN 'young' END AS band, COUNT(*) FROM rows GROUP BY 1", None),
        ("SELECT COALESCE(age, 0) AS years, COUNT(*) FROM rows GROUP BY 1", None),
        ("SELECT age, COUNT(*) FROM rows WHERE age < 18 GROUP BY age", None),
        ("SELECT sex, COUNT(*) FROM rows WHERE sex = 'F' GROUP BY sex", None),
        ("SELECT COUNT(*) FROM rows", None),
        ("SELECT sex, COUNT(*) FROM open GROUP BY sex", None),
    ],
)  # fmt: skip
def test_rows_whose_key_is_null_are_said_to_be_in_no_group(
    planned: Planned, sql: str, names: str | None
) -> None:
    expected = [f"rows whose {names} is NULL are in no group{REMEDY}"] if names else []
    told = [line for line in said(planned, sql) if "declared domain" not in line]
    assert told == expected


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT sex, COUNT(*) FROM rows GROUP BY sex", "sex"),
        ("SELECT sex, age, COUNT(*) FROM rows WHERE age > 3 GROUP BY sex, age", "sex"),
        ("SELECT s, COUNT(*) FROM (SELECT sex AS s FROM rows) AS t GROUP BY s", "s"),
        ("SELECT age, COUNT(*) FROM rows GROUP BY age", None),
        ("SELECT sex, COUNT(*) FROM rows WHERE sex = 'F' GROUP BY sex", None),
        ("SELECT CASE WHEN sex = 'F' THEN 1 ELSE 2 END AS f, COUNT(*) FROM rows GROUP BY 1", None),
        ("SELECT COUNT(*) FROM rows", None),
    ],
)
def test_rows_outside_a_declared_domain_are_said_to_be_in_no_group(
    planned: Planned, sql: str, names: str | None
) -> None:
    told = [line for line in said(planned, sql) if "declared domain" in line]
    whole = f"rows whose {names} is not in its declared domain are in no group"
    assert told == ([whole] if names else [])


def test_null_is_a_key_like_any_other_where_keys_are_selected(planned: Planned) -> None:
    assert not said(planned, "SELECT city, COUNT(*) FROM rows GROUP BY city", "1e-6")


def test_an_explanation_says_it_before_anything_is_spent(planned: Planned) -> None:
    plan = planned('SELECT sex, COUNT(*) AS "<b>" FROM rows GROUP BY sex')
    told = explained(plan_of(plan), Fraction(95, 100))
    assert f"rows whose sex is NULL are in no group{REMEDY}" in told.notes
    assert f"  rows whose sex is NULL are in no group{REMEDY}" in str(told).splitlines()
    shown = told._repr_html_()
    assert "&lt;b&gt;: ±" in shown and "<b>" not in shown


def test_a_join_that_repeats_more_rows_than_count_is_said_under_the_answer(
    planned: Planned,
) -> None:
    sql = "SELECT COUNT(*) FROM visits v JOIN visits w ON v.person_id = w.person_id"
    assert said(planned, sql) == [
        "the join can give one unit up to 9 rows, and 3 of them count: beyond that its counts and "
        "sums are scaled down in proportion",
        f"limits: 3 rows a person_id; {UNKNOWN}",
    ]


def test_limits_are_said_of_a_table_declared_unique_as_of_any_other(planned: Planned) -> None:
    line = f"limits: 1 row a person_id; {UNKNOWN}"
    for table in ("first", "unique"):
        assert said(planned, f"SELECT SUM(age) FROM {table}") == [line]
        assert said(planned, f"SELECT COUNT(*) FROM {table}") == [line]
        assert said(planned, f"SELECT COUNT(DISTINCT person_id) FROM {table}") == []
        by_city = f"SELECT city, SUM(age) FROM {table} GROUP BY city"
        assert said(planned, by_city, "1e-6") == [line]
        older = f"SELECT AVG(age) FROM (SELECT age FROM {table} WHERE age > 9) AS old"
        assert said(planned, older) == [line]
        inner = f"(SELECT person_id, MAX(age) AS age FROM {table} GROUP BY person_id) AS people"
        assert said(planned, f"SELECT AVG(age) FROM {inner}") == [line]
        whole = f"(SELECT person_id, sex FROM {table} GROUP BY person_id, sex) AS people"
        assert said(planned, f"SELECT COUNT(*) FROM {whole}") == [line]
    held = said(planned, f"SELECT AVG(age) FROM {inner.replace('unique', 'visits')}")
    assert held == [line.replace("1 row", "3 rows")]  # of which the subquery makes one
    joined = "SELECT COUNT(*) FROM unique u JOIN visits v ON u.person_id = v.person_id"
    assert "limits: 3 rows a person_id" in said(planned, joined)[-1]


def test_limits_are_not_said_where_a_unit_has_one_row_by_construction(planned: Planned) -> None:
    for table in ("first", "unique", "visits"):
        each = f"(SELECT person_id FROM {table} GROUP BY person_id) AS people"
        assert said(planned, f"SELECT COUNT(*) FROM {each}") == []
