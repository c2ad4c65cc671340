"""A request that is sent again under its idempotency key is charged once, and has one answer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from sanql.account import Charge, KeyTaken
from sanql.ask import Request, Session, ask, history, read_request
from sanql.errors import BudgetExceeded, Refused, Unavailable
from sanql.interrupts import Watch, watched_by
from sanql.parse import QuestionText
from sanql.results import Answer
from support.hospitals import hospital_in

pytestmark = pytest.mark.usefixtures("in_this_process")

COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > $1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    hospital_in(tmp_path / "demo")
    return tmp_path / "demo" / "policy.toml"


@pytest.fixture
def session(path: Path) -> Iterator[Session]:
    with Session(path) as opened:
        yield opened


def keyed(
    key: str | None = "k1", text: str = COUNT, analyst: str = "ana", age: int = 40, **options: Any
) -> Request:
    options = {"epsilon": "0.1"} | options
    parameters = [age] if "$1" in text else None
    return read_request(QuestionText(text, parameters), analyst, options, idempotency_key=key)


def charges(session: Session) -> int:
    return sum(record.kind == "reserve" for record in session.ledger.records())


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [False, True])
def test_the_same_request_under_one_key_has_one_charge_and_one_answer_also_after_a_restart(
    path: Path, fresh: bool
) -> None:
    with Session(path) as session:
        first = ask(session, keyed(fresh=fresh))
        again = ask(session, keyed(fresh=fresh))
        assert (again.rows, again.intervals) == (first.rows, first.intervals)
        assert charges(session) == 1
        session.data.refresh()
    with Session(path) as session:
        later = ask(session, keyed(fresh=fresh))
        assert (later.rows, later.version, charges(session)) == (first.rows, 1, 1)
        ask(session, keyed("k2", fresh=fresh))
        assert charges(session) == 2


@pytest.mark.slow
def test_a_key_of_another_request_is_refused_and_another_analysts_key_is_another(
    session: Session,
) -> None:
    ask(session, keyed())
    for other in (keyed(age=41), keyed(epsilon="0.2"), keyed(text=f"{COUNT} "), keyed(fresh=True)):
        with pytest.raises(Refused) as refused:
            ask(session, other)
        assert refused.value.code == "idempotency_key_reused"
    assert charges(session) == 1
    ask(session, keyed(analyst="bo", age=41))
    assert charges(session) == 2


@pytest.mark.slow
def test_two_processes_that_are_sent_the_same_at_once_charge_it_once(path: Path) -> None:
    """Two sessions are two handles on ledger and locks, as two processes are."""
    with Session(path) as one, Session(path) as other:
        ask(one, keyed("before"))
        ask(other, keyed("before"))
        for number in range(3):
            barrier = Barrier(4)

            def sent(session: Session, number: int = number, barrier: Barrier = barrier) -> Answer:
                barrier.wait()
                return ask(session, keyed(f"at once {number}", fresh=True))

            with ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(sent, (one, other, one, other)))
            assert len({str(answer.rows) for answer in answers}) == 1
            assert charges(one) == 2 + number


@pytest.mark.slow
def test_what_ended_without_an_answer_is_unavailable_under_its_key_and_not_charged_again(
    session: Session,
) -> None:
    class Cancelling(Watch):
        """Cancels as soon as the engine computes."""

        def __setattr__(self, name: str, value: object) -> None:
            object.__setattr__(self, name, value)
            if name == "stage" and str(value).startswith("charged"):
                object.__setattr__(self, "cancelled", True)

    with watched_by(Cancelling()), pytest.raises(Unavailable) as ended:
        ask(session, keyed())
    assert ended.value.code == "question_cancelled"
    said = set()
    for _ in range(2):
        with pytest.raises(Unavailable) as unavailable:
            ask(session, keyed())
        said.add((unavailable.value.code, unavailable.value.message))
    charge = session.ledger.questions.of("ana")[0].note
    assert charge is not None and charges(session) == 1
    request = keyed("orphan")  # its process died
    made = [record.content for record in session.ledger.records() if record.kind == "reserve"]
    session.ledger.reserve("ana", "0" * 64, Charge.from_dict(made[0]["charge"]), request.said)
    with pytest.raises(Unavailable) as unavailable:
        ask(session, request)
    said.add((unavailable.value.code, unavailable.value.message))
    assert said == {("unavailable", "the engine could not answer")}
    assert charges(session) == 2
    assert ask(session, keyed("anew")).rows


@pytest.mark.slow
def test_a_key_is_free_until_something_is_charged_under_it(session: Session) -> None:
    with pytest.raises(BudgetExceeded):
        ask(session, keyed(epsilon="1000"))
    with pytest.raises(Refused):
        ask(session, keyed(text="SELECT nonsense FROM people"))
    ask(session, keyed(None))
    assert ask(session, keyed()).cached, "a repeat is free, and binds no key"
    ask(session, keyed(age=50))
    assert charges(session) == 2
    with pytest.raises(Refused, match="another request"):
        ask(session, keyed(age=51))


@pytest.mark.slow
def test_no_second_charge_is_made_under_a_key_whoever_looked_before(session: Session) -> None:
    ask(session, keyed())
    made = next(record for record in session.ledger.records() if record.kind == "reserve")
    charge = Charge.from_dict(made.content["charge"])  # type: ignore[arg-type]
    with pytest.raises(KeyTaken):
        session.ledger.reserve("ana", "0" * 64, charge, keyed().said)
    assert charges(session) == 1
    assert len(history(session, "ana")) == 1


@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there", "ключ", "line\nend", "\x7f"])
def test_a_key_is_printable_and_not_long(key: str) -> None:
    with pytest.raises(Refused) as refused:
        keyed(key)
    assert refused.value.code == "idempotency_key_invalid"


def test_neither_key_nor_text_can_be_read_from_what_is_kept() -> None:
    kept = keyed("secret").said.idempotency
    assert kept is not None
    assert "secret" not in kept.name + kept.request
    other = keyed("another").said.idempotency
    assert other is not None and other.request != kept.request, "the key salts the request"
