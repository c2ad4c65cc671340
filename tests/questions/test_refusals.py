"""Questions that are refused: each by its code, and what a remedy proposes is answered.

A remedy that shows a question shows one that works; the fixture has its text, for a reviewer.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from questions.asking import Shape
from questions.cases import Case, cases

pytestmark = pytest.mark.slow

CASES = list(cases(refused=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_question_is_refused_by_name_and_its_remedy_is_answered(
    case: Case, shape: Callable[[str], Shape]
) -> None:
    asked = shape(case.shape)
    refused = asked.refusal(case.sql)
    assert refused is not None
    assert refused.code == case.code
    assert refused.remedy
    assert refused.nearest == case.remedy
    if case.remedy:
        assert refused.remedy.endswith(f"ask: {case.remedy}")
        asked.answer(asked.plan(case.remedy))


def test_most_refusals_show_a_question_that_is_answered() -> None:
    assert sum(bool(case.remedy) for case in CASES) >= 0.8 * len(CASES)


def test_there_are_refusals_of_every_shape() -> None:
    assert len({(case.shape, case.sql) for case in CASES}) >= 60
    assert {case.shape for case in CASES} == {"hospital", "retail", "census"}
