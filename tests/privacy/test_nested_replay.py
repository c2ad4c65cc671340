"""Record and replay of joins, subqueries and aggregates: a unit's coming and going moves exact cells
by no more than the plan declares, however its rows are joined, nested and counted on the way.
"""

from __future__ import annotations

import pytest

from privacy.nested_replays import FEATURES, OUTSIDE, oracle, replay, share

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("questions", [300, pytest.param(5000, marks=pytest.mark.soak)])
def test_neighbours_stay_within_the_declared_sensitivity(questions: int) -> None:
    found = share(replay, range(20), questions // 20)
    assert found["accepted"] == questions
    least = questions // 150
    rare = {name: found[name] for name in (*FEATURES, *OUTSIDE, "other") if found[name] < least}
    assert not rare, f"hardly ever accepted: {rare}"


@pytest.mark.parametrize("questions", [200, pytest.param(800, marks=pytest.mark.soak)])
def test_nested_questions_without_noise_equal_plain_duckdb(questions: int) -> None:
    found = share(oracle, range(4), questions // 4)
    assert found["accepted"] == questions
    rare = {name: found[name] for name in FEATURES if found[name] < questions // 200}
    assert not rare, f"hardly ever accepted: {rare}"
