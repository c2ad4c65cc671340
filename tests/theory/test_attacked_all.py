"""No implication is left out of the attacks."""

from __future__ import annotations

from sanql.theory.implications.search import EDGES
from theory.attacks import on_channels, on_pairs, on_worlds

ATTACKS = [*on_pairs.ATTACKS, *on_channels.ATTACKS, *on_worlds.ATTACKS]


def test_every_edge_is_attacked() -> None:
    attacked = {name for attack in ATTACKS for name in attack.edges}
    assert {edge.name for edge in EDGES} <= attacked
