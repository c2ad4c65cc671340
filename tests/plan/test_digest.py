"""The name of a question: equal for equal cells, different for anything that changes them."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable

import pytest

from sanql.plan import Plan

Planned = Callable[..., Plan]

ASKED = "SELECT sex, COUNT(*), SUM(age) FROM visits WHERE age > 3 GROUP BY sex"
SAME = [
    "SELECT sex, COUNT(*), SUM(age) FROM visits WHERE age > 3 GROUP BY sex",
    "select SEX, count(*), sum( AGE ) from VISITS where (AGE) > 3 group by 1 -- again",
    f"{ASKED} HAVING COUNT(*) > 5",
    f"{ASKED} ORDER BY SUM(age) DESC LIMIT 3 OFFSET 1",
    "SELECT COUNT(*), SUM(age), 2 * SUM(age) / COUNT(*) AS x FROM visits v WHERE v.age > 3 GROUP BY v.sex",
    "SELECT DISTINCT COUNT(*) + 1, SUM(age) FROM visits WHERE age > 3 GROUP BY sex",
]
OTHER = [
    "SELECT sex, COUNT(*), SUM(age) FROM visits WHERE age > 4 GROUP BY sex",
    "SELECT sex, COUNT(*), SUM(age) FROM visits WHERE age >= 3 GROUP BY sex",
    "SELECT sex, COUNT(*), SUM(age) FROM visits WHERE age > 3.0 GROUP BY sex",
    "SELECT sex, COUNT(*), SUM(age) FROM visits GROUP BY sex",
    "SELECT COUNT(*), SUM(age) FROM visits WHERE age > 3",
    "SELECT member, COUNT(*), SUM(age) FROM visits WHERE age > 3 GROUP BY member",
    "SELECT sex, COUNT(*), SUM(score) FROM visits WHERE age > 3 GROUP BY sex",
    "SELECT sex, COUNT(*) FROM visits WHERE age > 3 GROUP BY sex",
    "SELECT sex, COUNT(*), SUM(age) FROM people WHERE age > 3 GROUP BY sex",
]


@pytest.mark.parametrize("sql", SAME)
def test_the_same_cells_have_the_same_name(planned: Planned, sql: str) -> None:
    assert planned(sql).digest("source") == planned(ASKED).digest("source")


@pytest.mark.parametrize("sql", OTHER)
def test_other_cells_have_another_name(planned: Planned, sql: str) -> None:
    assert planned(sql).digest("source") != planned(ASKED).digest("source")


def test_epsilon_delta_limits_relation_and_source_are_part_of_the_name(planned: Planned) -> None:
    names = [
        planned(ASKED).digest("source"),
        planned(ASKED).digest("changed"),
        planned(ASKED, "2").digest("source"),
        planned(ASKED, "0.1", "1e-2").digest("source"),
        planned(ASKED, neighbours="change-one").digest("source"),
        planned(ASKED, groups=1).digest("source"),
    ]
    assert len(set(names)) == len(names)


def test_a_limit_that_changes_nothing_keeps_the_name(planned: Planned) -> None:
    assert planned(ASKED, groups=3).digest("s") == planned(ASKED, groups=50).digest("s")


def test_the_name_fits_the_ledger(planned: Planned) -> None:
    name = planned(ASKED).digest("source")
    assert len(name) == 64
    assert set(name) <= set("0123456789abcdef")
