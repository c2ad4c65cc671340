"""Record and replay of joins, subqueries and aggregates: a unit's coming and going moves exact cells
by no more than the plan declares, however its rows are joined, nested and counted on the way.
"""

from __future__ import annotations

import pytest

from privacy.nested_replays import FEATURES, OUTSIDE, oracle, replay, share
from support.volume import few_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", few_of(range(4), 2))
def test_neighbours_stay_within_the_declared_sensitivity(seed: int) -> None:
    assert replay(seed, 25)["accepted"] == 25


@pytest.mark.parametrize("seed", few_of(range(4), 2))
def test_nested_questions_without_noise_equal_plain_duckdb(seed: int) -> None:
    assert oracle(seed, 15)["accepted"] == 15


@pytest.mark.soak
def test_neighbours_of_thousands_of_questions_with_every_construct_do() -> None:
    found = share(replay, range(20), 250)
    assert found["accepted"] == 5_000
    rare = {name: found[name] for name in (*FEATURES, *OUTSIDE, "other") if found[name] < 33}
    assert not rare, f"hardly ever accepted: {rare}"


@pytest.mark.soak
def test_hundreds_of_nested_questions_with_every_construct_do() -> None:
    found = share(oracle, range(4), 200)
    assert found["accepted"] == 800
    rare = {name: found[name] for name in FEATURES if found[name] < 4}
    assert not rare, f"hardly ever accepted: {rare}"
