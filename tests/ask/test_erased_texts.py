"""A question whose text was erased: its answer is no longer read again, its repeat is free as before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from sanql.ask import Session, ask, history, read_again, read_request, recorded_certificate
from sanql.audit.ledger import verify_account
from sanql.errors import Refused
from sanql.parse import QuestionText
from sanql.results import Answer
from sanql.san import San
from support.policies import dataset

pytestmark = pytest.mark.usefixtures("in_this_process")

POLICY = (
    dataset("data.duckdb", name="town", epsilon=10, delta="1e-6")
    + """\
auto_bounds = { epsilon = 0.5 }
[analyst.ana]
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 100] }
wage = { type = "integer", bounds = "auto" }
name = { type = "text" }
"""
)
WORD = "miriam-the-baker"
TYPED = f"""SELECT SUM(CASE WHEN name = '{WORD}' THEN wage ELSE 1 END) AS "{WORD} earns"
FROM people WHERE name <> $other"""
OTHER = f"the other {WORD}"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with duckdb.connect(tmp_path / "data.duckdb") as data:
        data.execute(
            "CREATE TABLE people AS SELECT i AS id, i % 90 AS age, i % 50 AS wage, "
            "'n' || i AS name FROM range(900) t(i)"
        )
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    with Session(path) as opened:
        yield opened


def query(session: Session, key: str | None = None) -> Answer:
    asked = QuestionText(TYPED, {"other": OTHER})
    return ask(session, read_request(asked, "ana", {"epsilon": "1"}, idempotency_key=key))


def bytes_of(session: Session) -> bytes:
    place = session.policy.ledger
    return b"".join(path.read_bytes() for path in place.parent.glob(f"{place.name}*"))


@pytest.mark.slow
def test_nothing_of_a_question_is_left_and_its_answer_is_free_as_before(session: Session) -> None:
    first = query(session, "key-1")
    assert WORD.encode() in bytes_of(session)
    asked = [entry.sequence for entry in session.ledger.questions.of("ana")]
    before = [balance.spent_upper for balance in session.ledger.balances()]
    done = San(session, "ana").erase_texts(*asked)
    assert done.numbers == tuple(asked) and done.recorded and not done.left
    assert WORD.encode() not in bytes_of(session), "cells and records have nothing of the text"
    assert [entry.sql for entry in history(session, "ana")] == [None] * len(asked)
    assert [entry.outcome for entry in history(session, "ana")] == ["answered"] * len(asked)
    for read in (read_again, recorded_certificate):
        with pytest.raises(Refused) as refused:
            read(session, "ana", len(asked))
        assert refused.value.code == "text_erased"
    for key in (None, "key-1"):
        again = query(session, key)
        assert (again.rows, again.cached) == (first.rows, True)
    assert [balance.spent_upper for balance in session.ledger.balances()] == before
    assert WORD.encode() not in bytes_of(session), "a repeat is not recorded"
    assert verify_account(session.policy).sound


@pytest.mark.slow
def test_everything_before_a_time_is_erased_and_a_time_without_a_zone_is_universal(
    session: Session,
) -> None:
    query(session)
    san = San(session, "ana")
    assert san.erase_texts(before=datetime(2001, 1, 1)).numbers == ()
    count = len(history(session, "ana"))
    assert len(san.erase_texts(analyst="ana", before=datetime(2200, 1, 1)).numbers) == count
    assert san.erase_texts(before=datetime(2200, 1, 1, tzinfo=UTC)).numbers == ()
