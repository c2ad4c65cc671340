"""Every implication is attacked by random and climbing search on exact instances, and never
falls: what is said about coupled worlds."""

from __future__ import annotations

import pytest

from theory.attacks import on_worlds
from theory.attacks.engine import Attack, withstands

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("attack", on_worlds.ATTACKS, ids=str)
def test_no_instance_violates_the_implication(attack: Attack) -> None:
    withstands(attack)
