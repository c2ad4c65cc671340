"""Plans, statements and cells are those of the version before: no question changed its meaning."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from questions.asking import Shape
from questions.golden import GOLDEN, fingerprints

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["hospital", "retail", "census"])
def test_every_question_has_the_plan_the_statement_and_the_cells_it_had(
    name: str, shape: Callable[[str], Shape]
) -> None:
    before = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    now = fingerprints(name, shape(name))
    assert len(before) > 80
    assert {sql for sql in before if now.get(sql) != before[sql]} == set()
