"""What an answer's columns will be is known before it is asked for, of every question there is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from questions.asking import CONFIDENCE, Shape
from questions.cases import cases
from sanql.answer.levels import add_noise_to_levels, show_levels
from sanql.ask import answer_columns, interval_columns, read_request
from sanql.parse import QuestionText
from sanql.question.public_query import PublicQuery
from support.samplers import SilentSampler
from support.volume import few_rows_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("every", "name"), few_rows_of(product((3, 1), ["hospital", "retail", "census"]), 3)
)
def test_columns_and_which_of_them_have_intervals_are_told_beforehand(
    every: int, name: str, shape: Callable[[str], Shape]
) -> None:
    """Of each third question; `make soak` asks all of them."""
    asked, looked_at = shape(name), 0
    for case in [case for case in cases(refused=False) if case.shape == name][::every]:
        planned = asked.plan(case.sql)
        price = {"epsilon": "1", "delta": "1e-9"}
        text = QuestionText(case.sql)
        priced = isinstance(planned, PublicQuery) or "epsilon" in text.options
        request = read_request(text, "anybody", {} if priced else price)
        exact = asked.cells(planned)
        if isinstance(planned, PublicQuery):
            shown, ends = exact[0].rename_columns([each.name for each in planned.shown]), set[str]()
        else:
            cells = add_noise_to_levels(planned, exact, SilentSampler())
            answer = show_levels(planned, cells, CONFIDENCE)
            shown, ends = answer.table, {*answer.intervals}
        assert answer_columns(asked.san.session, request).equals(shown.schema), case
        assert interval_columns(asked.san.session, request) == ends, case
        looked_at += 1
    assert looked_at * every > 80
