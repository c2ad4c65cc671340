"""`sanql batch`: the questions of a file for one epsilon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import run
from support.hospitals import hospital_in

QUESTIONS = """\
-- people; and visits
SELECT COUNT(*) AS n FROM people;
SELECT kind, COUNT(*) AS n FROM visits WHERE kind <> ';' GROUP BY kind;
SELECT kind, COUNT(*) AS n FROM visits WHERE kind <> ';' GROUP BY kind ORDER BY n
"""
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    policy = hospital_in(tmp_path / "demo")
    file = tmp_path / "questions.sql"
    file.write_text(QUESTIONS, encoding="utf-8")
    return ["batch", "-p", str(policy), "-a", "bo", "-e", "0.3", str(file)]


def test_a_file_is_explained_then_answered_then_free(words: list[str]) -> None:
    explained = run(*words, "--explain")
    assert "measured with question 3" in explained.stdout
    assert "price: epsilon 0.3" in explained.stdout
    done = run(*words)
    assert done.exit_code == 0, done.stderr
    assert "2. SELECT kind, COUNT(*) AS n FROM visits WHERE kind <> ';'" in done.stdout
    assert "for the batch of 3 questions" in done.stdout.replace("\n", " ")
    again = json.loads(run(*words, "--format", "json").stdout)["answers"]
    assert [answer["cached"] for answer in again] == [True] * 3
    assert sorted(again[1]["rows"]) == sorted(again[2]["rows"])


def test_a_wrong_question_is_named_by_its_number(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "questions.sql").write_text(QUESTIONS + "; SELECT 1 FROM nowhere", encoding="utf-8")
    refused = run(*words)
    assert refused.exit_code == 2
    assert "question 4" in refused.stderr
