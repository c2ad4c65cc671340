"""Every implication is attacked by random and climbing search on exact instances, and never
falls: what is said about mechanisms."""

from __future__ import annotations

import pytest

from theory.attacks import on_channels
from theory.attacks.engine import Attack, withstands

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("attack", on_channels.ATTACKS, ids=str)
def test_no_instance_violates_the_implication(attack: Attack) -> None:
    withstands(attack)
