"""The records of a ledger as owners and officers see them: with what was asked and what became of it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sanql.account import Asked, Charge, Ledger, TextChoice
from sanql.audit.ledger import RecordChoice, export, list_records
from sanql.policy.model import Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TERMS = {"neighbours": "add-remove"}
START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def asked(make_policy: MakePolicy, laplace: Laplace) -> Policy:
    """A ledger of five days: answered, void, erased, open, and one for something else."""
    policy, now = make_policy(), [START]
    with Ledger.open(policy, TERMS, clock=lambda: now[0]) as ledger:
        for day, analyst in enumerate(("ana", "bob", "ana", "bob", "ana")):
            now[0] = START + timedelta(days=day)
            said = Asked(f"question {day}", [day], {"epsilon": "0.1"}, door="http")
            if day == 4:
                said = Asked("question 4", purpose="bounds of people.wage")
            name = hashlib.sha256(str(day).encode()).hexdigest()
            made = ledger.reserve(analyst, name, laplace("0.1"), said)
            if day in (0, 2):
                ledger.spend(made, b"cells")
            if day == 1:
                ledger.void(made, reason="cancelled")
            if day == 2:
                ledger.texts.erase(TextChoice((made.sequence,)), "olga")
    return policy


def questions(policy: Policy, **choice: Any) -> list[str | None]:
    listed = list_records(policy.ledger, RecordChoice(**choice))
    return [record["question"]["sql"] for record in listed]


def test_all_records_are_there_as_they_are_exported_and_questions_say_more(asked: Policy) -> None:
    listed = list_records(asked.ledger, RecordChoice())
    plain = [{k: v for k, v in record.items() if k != "question"} for record in listed]
    assert plain == [json.loads(line) for line in export(asked.ledger)]
    found = [record["question"] for record in listed if "question" in record]
    assert [record["kind"] for record in listed if "question" in record] == ["reserve"] * 5
    assert [(each["outcome"], each["reason"]) for each in found] == [
        ("answered", None),
        ("void", "cancelled"),
        ("answered", None),
        ("open", None),
        ("open", None),
    ]
    first, *_, erased, _, last = found
    assert (first["analyst"], first["door"], first["sql"]) == ("ana", "http", "question 0")
    assert (first["parameters"], first["options"]) == ([0], {"epsilon": "0.1"})
    assert first["price"]["epsilon_exact"] == "1/10" and first["time"].startswith("2030-01-01")
    assert (erased["sql"], erased["parameters"], erased["erased"]) == (None, None, True)
    assert (last["purpose"], last["erased"]) == ("bounds of people.wage", False)


def test_questions_are_chosen_by_who_asked_since_when_and_how_many(asked: Policy) -> None:
    assert questions(asked, questions=True) == [
        "question 0",
        "question 1",
        None,
        "question 3",
        "question 4",
    ]
    assert questions(asked, analyst="bob") == ["question 1", "question 3"]
    assert questions(asked, analyst="eve") == []
    assert questions(asked, since=START + timedelta(days=3)) == ["question 3", "question 4"]
    assert questions(asked, last=2) == ["question 3", "question 4"]
    assert questions(asked, analyst="ana", last=1) == ["question 4"]
    assert questions(asked, last=0) == questions(asked, questions=True, limit=0) == []
    first = list_records(asked.ledger, RecordChoice(questions=True, limit=1))
    rest = RecordChoice(questions=True, after=first[-1]["sequence"])
    assert [record["question"]["sql"] for record in first] == ["question 0"]
    assert len(list_records(asked.ledger, rest)) == 4


def test_the_end_of_a_question_on_a_page_may_lie_on_a_later_one(asked: Policy) -> None:
    (only,) = list_records(asked.ledger, RecordChoice(questions=True, limit=1))
    assert only["question"]["outcome"] == "answered"


def test_earlier_formats_have_no_texts_and_their_questions_have_an_end(tmp_path: Path) -> None:
    fixtures = Path(__file__).parent / "fixtures"
    for fixture in sorted(
        [*fixtures.glob("format_1/*.ledger"), *fixtures.glob("format_2/*.ledger")]
    ):
        place = tmp_path / fixture.name
        for file in (fixture, fixture.with_name(fixture.name + ".head")):
            shutil.copy(file, tmp_path / file.name)
        listed = list_records(place, RecordChoice(questions=True))
        assert listed, fixture
        for record in listed:
            question = record["question"]
            assert (question["sql"], question["door"], question["erased"]) == (None, None, False)
            assert question["outcome"] in ("answered", "void", "open")
            assert (question["reason"] is not None) == (question["outcome"] == "void")
