"""Every fifth question of the fixtures adds up; `make soak` has all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from questions.adding_up import violations
from questions.asking import Shape

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["hospital", "retail", "census"])
def test_the_cells_of_all_are_those_of_each_together(
    name: str, shape: Callable[[str], Shape], tmp_path: Path
) -> None:
    examined, wrong = violations(name, shape(name), tmp_path, every=5)
    assert not wrong, "\n".join(wrong)
    assert examined >= 14
