"""Every implication is attacked by random and climbing search on exact instances, and none falls."""

from __future__ import annotations

import pytest

from sanql.theory.implications.search import EDGES
from theory.attacks import on_channels, on_pairs, on_worlds
from theory.attacks.engine import Attack, withstands

ATTACKS = [*on_pairs.ATTACKS, *on_channels.ATTACKS, *on_worlds.ATTACKS]


def test_every_edge_is_attacked() -> None:
    attacked = {name for attack in ATTACKS for name in attack.edges}
    assert {edge.name for edge in EDGES} <= attacked


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_no_instance_violates_the_implication(attack: Attack) -> None:
    withstands(attack, attack.instances)


@pytest.mark.soak
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_no_instance_of_ten_thousand_violates_the_implication(attack: Attack) -> None:
    withstands(attack, 10_000)
