"""A text can be erased without breaking the chain: no byte of it is left, and all else stays."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from account.forging import forge
from sanql.account import Asked, Charge, Ledger, Reservation, TextChoice, packed
from sanql.account.ledger.idempotency import IdempotencyKey
from sanql.audit.ledger import verify
from sanql.errors import LedgerError, Refused
from sanql.policy import Budget
from sanql.policy.model import Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TERMS = {"neighbours": "add-remove"}
WORD = "miriam-the-baker"
START = datetime(2030, 1, 1, tzinfo=UTC)


def asked(word: str = WORD, size: int = 0) -> Asked:
    text = f"SELECT COUNT(*) FROM people WHERE name = '{word}'{' ' * size}"
    return Asked(text, [word], {"other": word}, text, within=Budget(Fraction(1, 10), Fraction(0)))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def answered(
    ledger: Ledger, charge: Charge, said: Asked, analyst: str = "ana", name: str = ""
) -> Reservation:
    made = ledger.reserve(analyst, digest(name or said.text), charge, said)
    ledger.spend(made, b"cells", packed({"aggregates": [said.text]}))
    return made


def bytes_beside(ledger: Path) -> bytes:
    """Return all that is on disk of a ledger, its log and its memory included."""
    return b"".join(path.read_bytes() for path in sorted(ledger.parent.glob(f"{ledger.name}*")))


@pytest.fixture
def rich(make_policy: MakePolicy) -> Policy:
    return make_policy(
        budget=Budget(Fraction(10**6), Fraction(1, 10**6)), analysts={}, coalitions={}
    )


def test_what_was_typed_is_gone_and_the_chain_says_by_whom_and_when(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS, clock=lambda: START) as ledger:
        made = answered(ledger, laplace("0.1"), asked())
        kept = answered(ledger, laplace("0.1"), asked("tom"))
        before = [*ledger.records()]
        assert WORD.encode() in bytes_beside(policy.ledger)
        done = ledger.texts.erase(TextChoice((made.sequence,)), "olga")
        assert (done.numbers, done.recorded, done.left) == ((made.sequence,), True, "")
        assert WORD.encode() not in bytes_beside(policy.ledger)
        *chain, last = ledger.records()
        assert (chain, last.kind) == (before, "erase")
        time = "2030-01-01T00:00:00+00:00"
        assert last.content == {"by": "olga", "reservations": [made.sequence], "time": time}
        one, two = ledger.questions.of("ana")
        assert one.note is not None and one.note.asked is None and one.note.salt == ""
        assert one.note.price.epsilon == Fraction(1, 10) and one.note.within is not None
        assert one.outcome == "answered" and ledger.questions.answer(one) == b"cells"
        assert ledger.find("ana", made.question) == b"cells", "a repeat is free"
        assert ledger.questions.certificate("ana", one) is None, "it quoted the text"
        assert two.note is not None and two.note.asked == asked("tom")
        assert ledger.questions.certificate("ana", two) is not None
    found = verify(policy.ledger)
    assert found.sound and (found.texts.kept, found.texts.erased) == (1, 1)
    with Ledger.open(policy, TERMS) as again:
        assert again.find("ana", kept.question) == b"cells"


@pytest.mark.slow
def test_no_page_of_the_file_keeps_a_text_that_was_moved_before_it_was_erased(
    rich: Policy, laplace: Laplace
) -> None:
    """Rows of many sizes under keys in no order: pages are split and rows moved, in gaps they stay."""
    chance = random.Random(14)
    with Ledger.open(rich, TERMS) as ledger:
        words = {}
        for number in range(400):
            word = f"{WORD}-{number:03}"
            said = asked(word, chance.choice((0, 50, 300, 700)))
            analyst = f"analyst {chance.randrange(200)}"
            words[answered(ledger, laplace("0.001"), said, analyst).sequence] = word.encode()
        chosen = sorted(chance.sample([*words], 130))
        done = ledger.texts.erase(TextChoice(tuple(chosen)), "olga")
        assert done.numbers == tuple(chosen) and done.left == ""
        there = bytes_beside(rich.ledger)
        assert [words[number] for number in chosen if words[number] in there] == []
        assert [word for number, word in words.items() if word not in there] == [
            words[number] for number in chosen
        ]
    found = verify(rich.ledger)
    assert found.sound and (found.texts.kept, found.texts.erased) == (270, 130)


def test_somebodys_texts_or_those_before_a_time_are_erased_and_no_others(
    rich: Policy, laplace: Laplace
) -> None:
    now = [START]
    with Ledger.open(rich, TERMS, clock=lambda: now[0]) as ledger:
        made = []
        for day, analyst in enumerate(("ana", "bob", "ana", "bob")):
            now[0] = START + timedelta(days=day)
            made.append(answered(ledger, laplace("0.1"), asked(str(day)), analyst).sequence)

        def erased(**choice: Any) -> tuple[int, ...]:
            return ledger.texts.erase(TextChoice(**choice), "olga").numbers

        assert erased(analyst="eve") == ()
        assert erased(analyst="bob", before=START + timedelta(days=3)) == (made[1],)
        assert erased(before=START + timedelta(days=2)) == (made[0],), "what is erased stays so"
        assert erased(analyst="bob") == (made[3],)
        length = ledger.length
        assert erased(analyst="bob") == erased(numbers=(made[0],)) == ()
        assert ledger.length == length, "nothing was there to be recorded"
        texts = [question.note and question.note.asked for question in ledger.questions.of("ana")]
        assert [*map(bool, texts)] == [False, True]
    assert verify(rich.ledger).sound


def test_what_is_no_question_is_refused_and_then_nothing_is_erased(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    now = [START]
    with Ledger.open(make_policy(), TERMS, clock=lambda: now[0]) as ledger:
        made = answered(ledger, laplace("0.1"), asked())
        running = ledger.reserve("ana", digest("2"), laplace("0.1"), asked("tom"))
        length = ledger.length
        for numbers, code in (
            ((made.sequence, 1), "erase_unknown"),
            ((made.sequence, 10**30), "erase_unknown"),
            ((made.sequence, running.sequence), "erase_running"),
        ):
            with pytest.raises(Refused) as caught:
                ledger.texts.erase(TextChoice(numbers), "olga")
            assert caught.value.code == code
        for choice in ({}, {"numbers": (3,), "analyst": "ana"}):
            with pytest.raises(Refused) as caught:
                TextChoice(**choice)
            assert caught.value.code == "erase_unclear"
        assert ledger.length == length
        assert ledger.texts.erase(TextChoice(analyst="ana"), "olga").numbers == (made.sequence,)
        now[0] += timedelta(hours=1)  # its process must have died
        assert ledger.texts.erase(TextChoice(analyst="ana"), "olga").numbers == (running.sequence,)


def test_texts_of_an_account_that_is_closed_are_erased_without_a_record(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        made = answered(ledger, laplace("0.1"), asked())
        ledger.owner.retire("closed", "the study is over")
        done = ledger.texts.erase(TextChoice((made.sequence,)), "olga")
        assert (done.numbers, done.recorded) == ((made.sequence,), False)
    assert WORD.encode() not in bytes_beside(policy.ledger)
    assert verify(policy.ledger).sound


def test_while_somebody_reads_the_log_it_is_said_that_it_has_the_text(
    make_policy: MakePolicy, laplace: Laplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanql.account.stores.sqlite._LOG_SECONDS", 0)
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        made = answered(ledger, laplace("0.1"), asked())
        with closing(sqlite3.connect(policy.ledger, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT COUNT(*) FROM record").fetchone()
            done = ledger.texts.erase(TextChoice((made.sequence,)), "olga")
            assert done.numbers and "say the same once more" in done.left
        length = ledger.length
        done = ledger.texts.erase(TextChoice((made.sequence,)), "olga")
        assert (done.numbers, done.left, ledger.length) == ((), "", length)
        assert WORD.encode() not in bytes_beside(policy.ledger)


def test_a_note_that_cannot_be_read_is_erased_whole(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        made = answered(ledger, laplace("0.1"), asked())
        with closing(sqlite3.connect(policy.ledger)) as connection, connection:
            connection.execute("UPDATE note SET content = CAST('{\"text\": 1' AS BLOB)")
        ledger.texts.erase(TextChoice((made.sequence,)), "olga")
    found = verify(policy.ledger)
    assert found.sound and found.texts.missing == 1


def test_a_key_still_names_its_charge_when_the_text_is_erased(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    key = IdempotencyKey.of("ana", "k1", {"sql": WORD})
    with Ledger.open(make_policy(), TERMS) as ledger:
        said = asked()
        bound = Asked(said.text, said.parameters, said.options, said.normalised, idempotency=key)
        made = answered(ledger, laplace("0.1"), bound)
        ledger.texts.erase(TextChoice((made.sequence,)), "olga")
        charged = ledger.questions.under(key, "ana")
    assert charged is not None and charged.asked.sequence == made.sequence
    assert charged.request == key.request


@pytest.mark.parametrize(
    "body",
    [
        {"reservations": []},
        {"reservations": [1]},
        {"reservations": [99]},
        {"reservations": [3, 3]},
        {"reservations": [4, 3]},
        {"reservations": [True]},
        {"reservations": "3"},
        {"reservations": [3], "by": ""},
        {"reservations": [3], "time": "yesterday"},
        {"reservations": [3], "why": "because"},
        {},
    ],
    ids=str,
)
def test_a_record_that_erases_what_it_cannot_is_refused_and_found(
    body: dict[str, Any], make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        for word in ("one", "two"):
            ledger.reserve("ana", digest(word), laplace("0.1"), asked(word))
    whole = {"by": "olga", "time": "2030-01-01T00:00:00+00:00"}
    sequence = forge(policy, "erase", whole | body)
    with pytest.raises(LedgerError, match=f"record {sequence} of the ledger makes no sense"):
        Ledger.open(policy, TERMS)
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence


def test_a_text_that_was_put_back_or_changed_after_it_was_erased_is_found(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        made = answered(ledger, laplace("0.1"), asked())
        with closing(sqlite3.connect(policy.ledger)) as connection:
            find = "SELECT content FROM note WHERE kind = 'asked'"
            (text,) = connection.execute(find).fetchone()
        ledger.texts.erase(TextChoice((made.sequence,)), "olga")
        changed = json.dumps(json.loads(text) | {"text": "SELECT 1"}).encode()
        for note in (text, changed):
            with closing(sqlite3.connect(policy.ledger)) as connection, connection:
                connection.execute("UPDATE note SET content = ? WHERE kind = 'asked'", (note,))
            fault = verify(policy.ledger).fault
            assert fault is not None and fault.code == "ledger_text_changed"
            assert (fault.sequence, fault.message) == (
                made.sequence,
                "the text kept beside it had been erased",
            )
        assert ledger.texts.erase(TextChoice((made.sequence,)), "olga").numbers
    assert verify(policy.ledger).sound, "it is erased once more"
