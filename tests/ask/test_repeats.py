"""A repeat of a repeat is looked up; whatever could make it another answer is looked at each time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sanql.ask import Request, Session, ask, read_request, repeated_at_hand, repeats
from sanql.errors import LedgerError, Refused
from sanql.parse import QuestionText
from sanql.policy import load
from sanql.results import Answer
from sanql.san import San
from support.hospitals import hospital_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

COUNT = "SELECT sex, COUNT(*) AS n FROM people WHERE age > 40 GROUP BY sex"


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    hospital_in(tmp_path / "demo")
    return tmp_path / "demo" / "policy.toml"


@pytest.fixture
def session(demo: Path) -> Iterator[Session]:
    with Session(load(demo)) as opened:
        yield opened


def asked(session: Session, sql: str = COUNT, analyst: str = "ana", **options: Any) -> Answer:
    parameters = options.pop("parameters", None)
    passed = {"epsilon": "0.1"} | options
    return ask(session, read_request(QuestionText(sql, parameters), analyst, passed))


def kept(session: Session) -> int:
    return len(session.repeats._kept)


def without_balance(answer: Answer) -> dict[str, object]:
    shown = answer.to_dict()
    for name in ("remaining", "balances", "footer"):
        del shown[name]
    return shown


def test_a_third_time_is_what_the_second_was_and_what_another_session_says(
    session: Session, demo: Path
) -> None:
    first, second, third = (asked(session) for _ in range(3))
    assert (first.cached, second.cached, third.cached) == (False, True, True)
    assert kept(session) == 1
    with Session(load(demo)) as other:
        anew = asked(other)
    assert third.to_dict() == second.to_dict() == anew.to_dict()
    assert third.table.equals(second.table)
    assert first.rows == third.rows


def test_what_is_left_is_told_as_it_is_now(session: Session) -> None:
    for _ in range(3):
        before = asked(session)
    asked(session, COUNT.replace("40", "41"))
    after = asked(session)
    assert without_balance(after) == without_balance(before)
    assert after.remaining == session.balances("ana") != before.remaining


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": "0.2"},
        {"confidence": "0.9"},
        {"rounded": 10},
        {"nonnegative": True},
        {"analyst": "bo"},
        {"sql": COUNT + " "},
        {"sql": COUNT.replace("40", "42")},
    ],
    ids=str,
)
def test_anything_else_that_is_asked_goes_the_long_way(
    session: Session, demo: Path, other: dict[str, Any]
) -> None:
    for _ in range(3):
        asked(session)
    found = asked(session, **other)
    with Session(load(demo)) as anew:
        assert without_balance(asked(anew, **other)) == without_balance(replace(found, cached=True))


def test_parameters_are_told_apart_by_value_and_type(session: Session) -> None:
    sql = "SELECT COUNT(*) FROM people WHERE age > ?"
    answers = {}
    for value in (1, 1.0, 40, "1", True):
        for _ in range(3):
            try:
                answers[repr(value)] = asked(session, sql, parameters=[value]).rows
            except Refused:
                answers[repr(value)] = []
    assert kept(session) == len([rows for rows in answers.values() if rows])
    assert answers["1"] and answers["40"] and answers["1"] != answers["40"]


def test_what_is_asked_afresh_is_the_answer_from_then_on(session: Session) -> None:
    for _ in range(3):
        before = asked(session)
    fresh = asked(session, fresh=True)
    assert not fresh.cached and fresh.rows != before.rows
    for _ in range(3):
        again = asked(session)
        assert again.cached and again.rows == fresh.rows


def test_a_new_version_of_the_data_is_asked_anew(session: Session) -> None:
    for _ in range(3):
        before = asked(session)
    session.data.refresh()
    after = asked(session)
    assert not after.cached and (before.version, after.version) == (1, 2)


def test_a_session_that_is_closed_repeats_nothing(demo: Path) -> None:
    with Session(load(demo)) as session:
        for _ in range(3):
            asked(session)
    with pytest.raises(Refused) as refused:
        asked(session)
    assert refused.value.code == "closed"


def test_a_repeat_is_at_hand_until_the_next_record_and_waits_for_nobody(session: Session) -> None:
    request = read_request(QuestionText(COUNT), "ana", {"epsilon": "0.1"})
    written: list[str] = []

    def at_hand(request: Request = request, form: str = "json") -> bytes | None:
        def write(answer: Answer) -> bytes:
            written.append(form)
            return json.dumps(answer.to_dict()).encode()

        return repeated_at_hand(session, request, form, write)

    def as_asked() -> bytes:
        return json.dumps(asked(session).to_dict()).encode()

    assert at_hand() is None
    for _ in range(2):
        as_asked()
        assert at_hand() is None
    before = as_asked()
    with session.ledger._journal.mutex, ThreadPoolExecutor(1) as another:  # somebody writes
        assert another.submit(at_hand).result(60) == before
    assert at_hand() == at_hand(form="csv") == at_hand() == before
    assert written == ["json", "csv"]
    assert at_hand(replace(request, analyst="bo")) is None
    assert at_hand(replace(request, idempotency_key="k")) is None
    asked(session, COUNT.replace("40", "44"))
    assert at_hand() is None  # a record may change what is left, and did
    after = as_asked()
    assert at_hand() == after != before
    assert written == ["json", "csv", "json"]
    session.data.refresh()
    assert at_hand() is None
    session.close()
    with pytest.raises(Refused):
        at_hand()


def test_an_answer_that_is_damaged_on_record_is_not_repeated(session: Session) -> None:
    for _ in range(3):
        before = asked(session)
    with closing(sqlite3.connect(session.policy.ledger)) as connection:
        connection.execute("DROP TRIGGER answer_UPDATE")
        connection.execute("UPDATE answer SET content = x'00'")
        connection.commit()
    assert asked(session).rows == before.rows  # as it was read, while no record has come since
    asked(session, COUNT.replace("40", "42"))
    with pytest.raises(LedgerError) as error:
        asked(session)
    assert error.value.code == "ledger_damaged"


def test_a_closed_account_goes_on_repeating_for_nothing(session: Session) -> None:
    for _ in range(3):
        before = asked(session)
    session.ledger.owner.retire("closed", "over")
    assert asked(session).rows == before.rows
    with pytest.raises(LedgerError):
        asked(session, COUNT.replace("40", "43"))


def test_nobody_changes_what_others_are_given(session: Session) -> None:
    asked(session)
    for _ in range(3):
        answer = asked(session)
        low, _ = answer.ends["n"]
        with suppress(ValueError):  # what cannot be written to
            low[:] = 0
        answer.noise.clear()
    again = asked(session)
    assert again.noise["n"] > 0 and all(low != 0 for low in again.ends["n"][0])


def test_what_rests_on_bounds_that_were_found_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = "\n".join(f"{n},{n % 80}" for n in range(500))
    (tmp_path / "data" / "people.csv").write_text(f"id,age\n{rows}\n")
    (tmp_path / "policy.toml").write_text(
        '[dataset]\nname = "town"\nsource = "data"\nneighbours = "add-remove"\n'
        'accounting = "pure"\nbudget = { epsilon = 100, delta = 0 }\n'
        "auto_bounds = { epsilon = 1 }\n"
        '[table.people]\nprivacy_unit = "id"\nunique = true\n'
        '[table.people.column]\nage = { type = "integer", bounds = "auto" }\n'
    )
    with Session(tmp_path / "policy.toml") as session:
        for _ in range(4):
            asked(session, "SELECT SUM(age) AS s FROM people", epsilon="20")
        assert kept(session) == 0


def test_only_so_many_are_kept(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "_ANSWERS_MAX", 2)
    san = San(session, "ana")
    for number in range(4):
        for _ in range(2):
            san.query(COUNT.replace("40", str(number)), epsilon="0.01")
    assert kept(session) == 2
    last = [name for name, *_ in session.repeats._kept]
    assert last == ["ana", "ana"]
    assert Fraction("0.04") == session.balances("ana")[0].spent_upper.epsilon
