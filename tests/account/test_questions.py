"""What was asked lies beside the chain: with every charge, each analyst's own, under a salted hash."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from account.forging import forge
from sanql.account import Asked, Charge, Ledger, packed
from sanql.audit.ledger import verify
from sanql.errors import LedgerError
from sanql.policy import Budget
from sanql.policy.model import Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TERMS = {"neighbours": "add-remove"}
ASKED = Asked(
    "SELECT COUNT(*) FROM people WHERE age > $1",
    [41],
    {"epsilon": "0.1"},
    "SELECT count(*) FROM people WHERE age > $1",
    "command",
    version=3,
)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def bodies(ledger: Ledger, kind: str) -> list[dict[str, Any]]:
    return [record.content for record in ledger.records() if record.kind == kind]


def change_note(policy: Policy, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change every text behind the ledger's back."""
    with closing(sqlite3.connect(policy.ledger)) as connection, connection:
        rows = connection.execute("SELECT key, content FROM note WHERE kind = 'asked'").fetchall()
        for key, content in rows:
            changed = json.dumps(change(json.loads(content))).encode()
            connection.execute("UPDATE note SET content = ? WHERE key = ?", (changed, key))


def test_a_charge_has_the_salted_hash_of_what_was_typed_and_nothing_of_it_in_the_chain(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        for _ in range(2):
            ledger.reserve("ana", digest("1"), laplace("0.1"), ASKED)
        first, second = bodies(ledger, "reserve")
        assert "people" not in "".join(record.body for record in ledger.records())
        kept = [question.note for question in ledger.questions.of("ana")]
    assert first["asked"] != second["asked"], "the salt is fresh for each"
    for body, note in zip((first, second), kept, strict=True):
        assert note is not None and note.asked == ASKED
        typed = json.dumps([note.salt, ASKED.text, [41], {"epsilon": "0.1"}], separators=(",", ":"))
        assert hashlib.sha256(typed.encode()).hexdigest() == body["asked"]
        assert (note.door, note.version) == ("command", 3)
        assert note.price == Budget(laplace("0.1").epsilon, laplace("0.1").delta)


def test_each_analyst_has_numbers_of_their_own_that_tell_nothing_of_the_others(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        for number, analyst in enumerate(("ana", "bob", "bob", "ana")):
            ledger.reserve(
                analyst, digest(str(number)), laplace("0.1"), Asked(f"question {number}")
            )

        def texts(analyst: str, *listed: int) -> list[tuple[int, str]]:
            return [
                (question.number, question.note.asked.text)
                for question in ledger.questions.of(analyst, *listed)
                if question.note is not None and question.note.asked is not None
            ]

        assert texts("ana") == [(1, "question 0"), (2, "question 3")]
        assert texts("bob", 1) == [(2, "question 2")]
        assert texts("bob", 0, 1) == [(1, "question 1")]
        assert texts("eve") == texts("ana", 2) == texts("ana", 0, 0) == []
        assert ledger.questions.numbered("ana", 3) is None
        assert ledger.questions.numbered("ana", 2) == ledger.questions.of("ana", 1)[0]


def test_what_became_of_a_question_is_told_and_never_why_it_has_no_answer(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    now = [datetime(2030, 1, 1, tzinfo=UTC)]
    with Ledger.open(make_policy(), TERMS, clock=lambda: now[0]) as ledger:
        made = [ledger.reserve("ana", digest(str(n)), laplace("0.1")) for n in range(4)]
        ledger.spend(made[0], b"cells", packed({"epsilon": 0.1}))
        ledger.void(made[1], reason="engine")
        ledger.void(made[2], reason="cancelled")

        def outcomes() -> list[str]:
            return [question.outcome for question in ledger.questions.of("ana")]

        assert outcomes() == ["answered", "unanswered", "unanswered", "running"]
        now[0] += timedelta(hours=1)  # its process must have died
        assert outcomes() == ["answered", "unanswered", "unanswered", "unanswered"]
        first, second = ledger.questions.of("ana", 0, 2)
        assert ledger.questions.answer(first) == b"cells"
        assert ledger.questions.certificate("ana", first) == {"epsilon": 0.1}
        assert ledger.questions.answer(second) is None
        assert ledger.questions.certificate("ana", second) is None


def test_an_answer_that_was_asked_for_afresh_leaves_the_earlier_one_where_it_is(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        for answer in (b"first", b"second"):
            ledger.spend(ledger.reserve("ana", digest("1"), laplace("0.1")), answer)
        answers = [ledger.questions.answer(question) for question in ledger.questions.of("ana")]
    assert answers == [b"first", b"second"]


def test_a_charge_that_does_not_fit_leaves_no_text(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger, pytest.raises(Exception, match="costs epsilon"):
        ledger.reserve("ana", digest("1"), laplace("100"), ASKED)
    with closing(sqlite3.connect(policy.ledger)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE name = 'note'")
        assert tables.fetchall() == []


def test_the_auditor_counts_texts_that_are_there_erased_and_lost(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        for number in range(3):
            ledger.reserve("ana", digest(str(number)), laplace("0.1"), ASKED)
    found = verify(policy.ledger)
    assert (found.texts.kept, found.texts.erased, found.texts.missing) == (3, 0, 0)
    with closing(sqlite3.connect(policy.ledger)) as connection, connection:
        connection.execute("DELETE FROM note WHERE key LIKE '%4'")
    found = verify(policy.ledger)
    assert found.sound and (found.texts.kept, found.texts.missing) == (2, 1)
    Ledger.open(policy, TERMS).close()  # no promise rests on a text


@pytest.mark.parametrize(
    "change",
    [{"text": "SELECT 1"}, {"parameters": [42]}, {"options": {}}, {"salt": "00"}, {"salt": None}],
    ids=str,
)
def test_the_auditor_names_the_record_whose_text_was_changed(
    change: dict[str, Any], make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        made = ledger.reserve("ana", digest("1"), laplace("0.1"), ASKED)
    change_note(policy, lambda note: note | change)
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.code == "ledger_text_changed"
    assert (fault.sequence, "not the one that was asked" in fault.message) == (made.sequence, True)


def test_a_text_that_nobody_asked_is_found(make_policy: MakePolicy, laplace: Laplace) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("ana", digest("1"), laplace("0.1"), ASKED)
    with closing(sqlite3.connect(policy.ledger)) as connection, connection:
        (key,) = connection.execute("SELECT key FROM note").fetchone()
        whose = key.partition("/")[0]
        for moved in (f"{whose}/000000000002", f"{'0' * 32}/000000000003", "nonsense"):
            connection.execute("UPDATE note SET key = ?", (moved,))
            connection.commit()
            fault = verify(policy.ledger).fault
            assert fault is not None and "nobody asked" in fault.message, moved


@pytest.mark.parametrize("said", [None, "", "0" * 63, "G" * 64, 5])
def test_a_charge_without_the_hash_of_what_was_asked_is_refused_and_found(
    said: object, make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    Ledger.open(policy, TERMS).close()
    body = {"analyst": "ana", "question": digest("1"), "time": "2030-01-01T00:00:00+00:00"}
    extra = {} if said is None else {"asked": said}
    sequence = forge(policy, "reserve", body | {"charge": laplace("0.1").to_dict()} | extra)
    with pytest.raises(LedgerError, match=f"record {sequence} of the ledger makes no sense"):
        Ledger.open(policy, TERMS)
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence


def test_a_note_that_cannot_be_read_is_named_and_breaks_no_promise(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        ledger.spend(ledger.reserve("ana", digest("1"), laplace("0.1"), ASKED), b"cells")
    change_note(policy, lambda note: {"door": "window"})
    with Ledger.open(policy, TERMS) as ledger:
        with pytest.raises(LedgerError) as error:
            ledger.questions.of("ana")
        assert error.value.code == "note_damaged"
        assert ledger.find("ana", digest("1")) == b"cells"
