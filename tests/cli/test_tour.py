"""The demo's tour shows what it says it shows."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from sanql.cli import tour as guide


@pytest.mark.slow
def test_the_tour_shows_answers_one_refusal_and_a_free_repeat(tmp_path: Path) -> None:
    out = io.StringIO()
    guide.tour(tmp_path / "demo", Console(file=out, width=118, highlight=False))
    answers, rest = out.getvalue().split("3. Before spending")
    assert answers.count("price: ") == len(guide.QUESTIONS)
    assert "budget [" not in out.getvalue()
    _, refusal = rest.split("4. A refusal, with its remedy")
    refusal, repeat = refusal.split("5. The same question again is free")
    assert "refused [returns_rows]" in refusal and "remedy: " in refusal
    assert "a repeat, free" in repeat


def test_a_tour_whose_refusal_is_answered_fails(tmp_path: Path) -> None:
    class Answering:
        def query(self, sql: str, **wishes: str) -> None: ...

    with pytest.raises(AssertionError, match="is answered"):
        guide._be_refused(Answering(), Console(file=io.StringIO()), "", guide.REFUSED, {})  # type: ignore[arg-type]
