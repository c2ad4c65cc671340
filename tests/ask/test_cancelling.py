"""A question that somebody waits for elsewhere can be cancelled: its charge stays, it is no failure."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.ask import Session
from sanql.errors import Unavailable
from sanql.interrupts import Watch, watched_by
from sanql.results import Answer
from sanql.san import San
from support.hospitals import hospital_in

pytestmark = pytest.mark.slow

COUNT = "SELECT COUNT(*) FROM people"


class Halting(Watch):
    """A watch that halts the session's workers as soon as a question has been charged."""

    def __init__(self, session: Session) -> None:
        self.halted = threading.Event()
        self._session = session
        super().__init__()

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "stage" and str(value).startswith("charged"):
            opened = self._session.data.opened
            assert opened is not None
            for pid in opened.workers.pids():
                os.kill(pid, signal.SIGSTOP)
            self.halted.set()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(hospital_in(tmp_path / "demo")) as opened:
        yield opened


def ask(session: Session, watch: Watch, sql: str = COUNT) -> Answer:
    with watched_by(watch):
        answer = San(session, "ana").query(sql, epsilon=0.1)
    assert isinstance(answer, Answer)
    return answer


def ended(session: Session) -> list[object]:
    return [
        record.content.get("reason") for record in session.ledger.records() if record.kind == "void"
    ]


def spent(session: Session) -> object:
    return session.balances("ana")[0].spent_upper.epsilon


def test_one_that_is_cancelled_before_it_is_charged_costs_nothing(session: Session) -> None:
    watch = Watch()
    watch.cancel()
    with pytest.raises(Unavailable, match="nothing was charged"):
        ask(session, watch)
    assert spent(session) == 0 and ended(session) == []


def test_one_that_is_cancelled_while_it_runs_is_charged_and_no_failure(session: Session) -> None:
    San(session, "ana").query(COUNT + " WHERE age > 1", epsilon=0.1)  # the worker is there
    watch = Halting(session)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(ask, session, watch)
        assert watch.halted.wait(60)
        watch.cancel()
        with pytest.raises(Unavailable, match="the charge stays") as cancelled:
            asked.result(60)
    assert cancelled.value.code == "question_cancelled"
    assert ended(session) == ["cancelled"] and session.ledger.failures.count() == 0
    assert spent(session) == Fraction(1, 5)
    again = ask(session, Watch())
    assert not again.cached, "there is another worker, and the question is charged anew"


def test_one_that_is_ended_by_stopping_the_session_is_the_operators(session: Session) -> None:
    San(session, "ana").query(COUNT + " WHERE age > 1", epsilon=0.1)
    watch = Halting(session)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(ask, session, watch)
        assert watch.halted.wait(60)
        session.stop()
        with pytest.raises(Unavailable):
            asked.result(60)
    assert ended(session) == ["stopped"] and session.ledger.failures.count() == 0


def test_a_watch_that_nobody_cancels_changes_nothing(session: Session) -> None:
    watch = Watch()
    answer = ask(session, watch)
    assert not answer.cached and watch.stage.startswith("charged")
    assert ended(session) == []
