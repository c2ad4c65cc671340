"""Record and replay of joins, subqueries and aggregates: a unit's coming and going moves exact cells
by no more than the plan declares, however its rows are joined, nested and counted on the way.
"""

from __future__ import annotations

import pytest

from privacy.nested_replays import FEATURES, OUTSIDE, oracle, replay, share

pytestmark = pytest.mark.slow


def test_neighbours_stay_within_the_declared_sensitivity_over_5000_nested_questions() -> None:
    found = share(replay, range(20), 250)
    assert found["accepted"] == 5000
    rare = {name: found[name] for name in (*FEATURES, *OUTSIDE, "other") if found[name] < 50}
    assert not rare, f"hardly ever accepted: {rare}"


def test_nested_questions_without_noise_equal_plain_duckdb() -> None:
    found = share(oracle, range(4), 200)
    assert found["accepted"] == 800
    rare = {name: found[name] for name in FEATURES if found[name] < 5}
    assert not rare, f"hardly ever accepted: {rare}"
