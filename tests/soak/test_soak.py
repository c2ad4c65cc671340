"""A seeded share of `make soak`: generated questions put to both oracles, and none breaks them."""

from __future__ import annotations

import pytest

from privacy.stages import STAGES
from soak.campaign import Found, campaign
from soak.shrink import shrink
from soak.summary import summary
from support.volume import few_of

pytestmark = pytest.mark.slow

BY_NAME = {stage.name: stage for stage in STAGES}


def found(name: str, seed: int, count: int, *, large: bool) -> Found:
    """Return what questions in one world came to."""
    return campaign(seed, count, (BY_NAME[name],), large=large)


@pytest.mark.parametrize("name", BY_NAME)
def test_cells_add_up_and_no_setting_changes_them(name: str) -> None:
    ended = found(name, 1, 5, large=False)
    assert ended.violations == []
    assert ended.accepted.total() == 5 <= ended.comparisons


@pytest.mark.parametrize("seed", few_of(range(2, 8), 1))
def test_of_more_questions_none_differs(seed: int) -> None:
    assert found("mixed", seed, 15, large=seed % 2 == 0).violations == []


@pytest.mark.soak
@pytest.mark.parametrize(("name", "seed"), [("plain", 2), ("chains", 3)])
def test_of_many_questions_of_the_other_stages_none_differs(name: str, seed: int) -> None:
    assert found(name, seed, 25, large=seed % 2 == 0).violations == []


def test_a_question_is_made_smaller_as_long_as_it_is_still_wrong() -> None:
    sql = "SELECT COUNT(*), SUM(v) FROM t WHERE a > 1 AND (CBRT(b) > 2 OR ok) GROUP BY sex"
    smaller = shrink(sql, lambda text: "SUM(v)" in text and "CBRT(b) > 2" in text)
    assert smaller == "SELECT SUM(v) FROM t WHERE CBRT(b) > 2"


def test_the_summary_says_what_there_was() -> None:
    ended = Found(comparisons=1234, worlds=2, violations=["seed 7: SELECT 1"])
    ended.accepted["mixed, add-remove, small"] = 200
    text = summary(ended, range(7, 9), 60.0, 2)
    assert "**200 questions examined**" in text
    assert "1,234 comparisons" in text
    assert "**1 violations**" in text and "seed 7: SELECT 1" in text
