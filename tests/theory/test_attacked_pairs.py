"""Every implication is attacked by random and climbing search on exact instances, and never
falls: what is said about two or three output laws."""

from __future__ import annotations

import pytest

from theory.attacks import on_pairs
from theory.attacks.engine import Attack, withstands

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("attack", on_pairs.ATTACKS, ids=str)
def test_no_instance_violates_the_implication(attack: Attack) -> None:
    withstands(attack)
