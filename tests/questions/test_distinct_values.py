"""Distinct values of the hospital, of which there are twice as many as people: none is lost silently."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from questions.asking import Shape

DAYS = "SELECT COUNT(DISTINCT arrived::DATE) FROM visits"
VISITS = "SELECT COUNT(DISTINCT visit_id) FROM visits"


@pytest.mark.parametrize("sql", [DAYS, VISITS])
def test_more_values_than_people_are_found_at_an_ordinary_price(
    sql: str, shape: Callable[[str], Shape], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One value of a person would find 79 of 160 days; without noise, more than nine in ten are found."""
    monkeypatch.setattr("questions.asking.EPSILON", Fraction(2))
    hospital = shape("hospital")
    ((found,),), ((there,),) = hospital.answer(hospital.plan(sql)), hospital.raw(sql)
    assert 0.9 * there < found <= there
