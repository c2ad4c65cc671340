"""Every one of the 64 vectors holds, exactly where it is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from theory.vector_checks import pairs
from theory.vectors import ALL

Check = Callable[[dict[str, Any], dict[str, Any]], None]

CHECKS: dict[str, Check] = {
    "pair": pairs.pair,
    "interval_vs_event": pairs.interval_vs_event,
    "hockey_stick_small_gamma": pairs.hockey_stick_small_gamma,
    "tradeoff": pairs.tradeoff,
    "tradeoff_bound": pairs.tradeoff_bound,
    "ht_identity": pairs.ht_identity,
    "geometric_pair": pairs.geometric_pair,
    "laplace_pair": pairs.laplace_pair,
}


def test_there_are_sixty_four_vectors() -> None:
    assert len(ALL) == 64


@pytest.mark.parametrize(
    "vector", [v for v in ALL if v["kind"] in CHECKS], ids=lambda vector: str(vector["id"])
)
def test_vector_holds(vector: dict[str, Any]) -> None:
    CHECKS[vector["kind"]](vector["input"], vector["expect"])
