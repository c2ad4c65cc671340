"""Questions that are refused: each by its code, and what a remedy proposes is answered.

A remedy that shows a question shows one that works; the fixture has its text, for a reviewer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from questions.asking import Shape
from questions.cases import Case, cases
from sanql.errors import Refused

CASES = list(cases(refused=True))


def refusal(case: Case, asked: Shape) -> Refused:
    """Return the refusal of a question, which must not get as far as a statement."""
    with pytest.raises(Refused) as caught:
        asked.write(asked.plan(case.sql))
    return caught.value


def shown(remedy: str) -> str:
    """Return the question that a remedy shows, or nothing."""
    found = re.search(r"\b(WITH|SELECT) .*\bFROM .*", remedy, re.DOTALL)
    return found[0] if found is not None else ""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_question_is_refused_by_name_and_its_remedy_is_answered(
    case: Case, shape: Callable[[str], Shape]
) -> None:
    asked = shape(case.shape)
    refused = refusal(case, asked)
    assert refused.code == case.code
    assert refused.remedy
    assert shown(refused.remedy) == case.remedy
    if case.remedy:
        asked.answer(asked.plan(case.remedy))


def test_there_are_refusals_of_every_shape() -> None:
    assert len({(case.shape, case.sql) for case in CASES}) >= 60
    assert {case.shape for case in CASES} == {"hospital", "retail", "census"}
