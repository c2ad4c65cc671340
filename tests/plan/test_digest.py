"""The name of a question: equal for equal cells, different for anything that changes them."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sanql.plan.level import Level
from support.one_level import plan_of

Digest = Callable[..., str]

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


@pytest.fixture
def digest(planned: Callable[..., Level]) -> Digest:
    """Return a function from a question to its name."""

    def make(*asked: Any, data: str = "source", **options: Any) -> str:
        return plan_of(planned(*asked, **options)).digest(data)

    return make


@pytest.mark.parametrize("sql", SAME)
def test_the_same_cells_have_the_same_name(digest: Digest, sql: str) -> None:
    assert digest(sql) == digest(ASKED)


@pytest.mark.parametrize("sql", OTHER)
def test_other_cells_have_another_name(digest: Digest, sql: str) -> None:
    assert digest(sql) != digest(ASKED)


def test_epsilon_delta_limits_relation_and_source_are_part_of_the_name(digest: Digest) -> None:
    names = [
        digest(ASKED),
        digest(ASKED, data="changed"),
        digest(ASKED, "2"),
        digest(ASKED, "0.1", "1e-2"),
        digest(ASKED, neighbours="change-one"),
        digest(ASKED, groups=1),
    ]
    assert len(set(names)) == len(names)


def test_a_limit_that_changes_nothing_keeps_the_name(digest: Digest) -> None:
    assert digest(ASKED, groups=3, data="s") == digest(ASKED, groups=50, data="s")


def test_the_name_fits_the_ledger(digest: Digest) -> None:
    name = digest(ASKED)
    assert len(name) == 64
    assert set(name) <= set("0123456789abcdef")
