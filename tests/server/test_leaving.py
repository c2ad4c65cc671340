"""Questions that nobody waits for any more: the charge stays, the answer is on record, threads are free.

A question is held in the middle by halting the engine's worker, as a busy machine would.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from sanql.server import RequestLimits, ServerSettings
from support.hospitals import hospital_in
from support.policies import dataset
from support.raw_http import raw_connection, raw_question
from support.serving import COUNT, Served, served

pytestmark = pytest.mark.slow

SECONDS = 60.0
LIMITS = RequestLimits(questions_running=2, questions_per_person=4, kept_questions_per_person=5)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with one worker, so that a question that runs keeps others from it."""
    policy = hospital_in(tmp_path_factory.mktemp("leaving"))
    with served([policy], ServerSettings(port=0, limits=LIMITS)) as town, town.client() as ana:
        ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.001})
        yield town


@pytest.fixture(autouse=True)
def _nothing_is_left(town: Served) -> Iterator[None]:
    """After each: no reservation is open, no failure is counted, the account is sound."""
    yield
    with town.client("olga", "officer") as olga:
        wait_until(lambda: not town.server.service.queue._running)
        assert olga.get("/v1/verify").json()["sound"]
        assert all(each["reserved"] == 0 for each in olga.get("/v1/budget").json()["accounts"])
    assert town.datasets[0].session.ledger.failures.count() == 0
    assert not [event for event in town.events() if event["event"] == "fault"]


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


@contextmanager
def halted(town: Served) -> Iterator[None]:
    """Halt the worker as soon as a question is charged, and let it go on at the end."""
    ledger, opened = town.datasets[0].session.ledger, town.datasets[0].session.data.opened
    assert opened is not None
    charge, pids, mutex, over = ledger.reserve, set[int](), threading.Lock(), threading.Event()

    def send(number: signal.Signals) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def reserve(*arguments: Any) -> Any:
        reservation = charge(*arguments)
        with mutex:
            pids.update(() if over.is_set() else opened.workers.pids())
            send(signal.SIGCONT if over.is_set() else signal.SIGSTOP)
        return reservation

    with pytest.MonkeyPatch.context() as watched:
        watched.setattr(ledger, "reserve", reserve)
        try:
            yield
        finally:
            with mutex:
                over.set()
                send(signal.SIGCONT)


def kinds(town: Served, after: int) -> list[str]:
    """Return what was written into the account since."""
    return [record.kind for record in town.datasets[0].session.ledger.records()][after:]


def length(town: Served) -> int:
    return town.datasets[0].session.ledger.length


def question(number: int) -> dict[str, object]:
    """Return a question that nobody else asks."""
    return {"sql": f"{COUNT} WHERE age > {number}", "epsilon": 0.01}


def state(client: httpx.Client, where: str) -> dict[str, object]:
    return dict(client.get(where).json())


def begin(town: Served, client: httpx.Client, number: int) -> str:
    where = client.post("/v1/questions", json=question(number)).headers["location"]
    return str(where)


def test_whoever_goes_in_the_middle_of_a_question_has_its_answer_on_record(town: Served) -> None:
    before = length(town)
    with halted(town), raw_connection(town.url) as raw:
        raw.send(raw_question(town.token("ana"), question(1)))
        wait_until(lambda: kinds(town, before) == ["reserve"])
    wait_until(lambda: kinds(town, before) == ["reserve", "spend"])
    with town.client() as ana:
        again = ana.post("/v1/query", json=question(1)).json()
    assert again["cached"] and again["charge"]["epsilon"] == 0
    assert kinds(town, before) == ["reserve", "spend"]


def test_whoever_goes_before_the_answer_is_read_has_it_on_record(town: Served) -> None:
    before = length(town)
    with raw_connection(town.url) as raw:
        raw.send(raw_question(town.token("ana"), question(2)))
        wait_until(lambda: kinds(town, before) == ["reserve", "spend"])
        raw.socket.setsockopt(1, 13, b"\x01\x00\x00\x00\x00\x00\x00\x00")  # with a reset, at once
    with town.client() as ana:
        assert ana.post("/v1/query", json=question(2)).json()["cached"]


def test_many_who_go_cost_nobody_else_a_thread(town: Served) -> None:
    before, held = length(town), town.server.service.queue._held
    with halted(town):
        for count in range(1, 5):
            with raw_connection(town.url) as raw:
                raw.send(raw_question(town.token("ana"), question(10 + count)))
                wait_until(lambda: held.get("hospital/ana") == count)  # noqa: B023
    with town.client("bo") as bo:
        assert bo.post("/v1/query", json=question(20)).status_code == 200
    wait_until(lambda: kinds(town, before).count("spend") == 5)


def test_one_that_is_cancelled_while_it_waits_is_not_charged(town: Served) -> None:
    before = length(town)
    with town.client() as ana:
        with halted(town):
            running = [begin(town, ana, number) for number in (30, 31)]
            wait_until(lambda: all(state(ana, each)["status"] == "running" for each in running))
            waiting = begin(town, ana, 32)
            assert state(ana, waiting)["status"] == "queued"
            assert ana.delete(waiting).json()["status"] == "cancelled"
            assert state(ana, waiting)["error"]["code"] == "question_cancelled"  # type: ignore[index]
            assert ana.delete(waiting).json()["status"] == "cancelled", "also twice"
        for each in running:
            wait_until(lambda each=each: state(ana, each)["status"] == "answered")
    assert sorted(kinds(town, before)) == ["reserve"] * 2 + ["spend"] * 2


def test_one_that_is_cancelled_while_it_runs_is_charged_and_says_so(town: Served) -> None:
    before = length(town)
    with town.client() as ana:
        with halted(town):
            running = begin(town, ana, 40)
            wait_until(lambda: kinds(town, before) == ["reserve"])
            wait_until(lambda: str(state(ana, running)["progress"]).startswith("charged"))
            for _ in range(3):
                assert ana.delete(running).status_code == 200
            wait_until(lambda: state(ana, running)["status"] == "cancelled")
        error = state(ana, running)["error"]
        assert error["code"] == "question_cancelled" and "charge stays" in error["detail"]  # type: ignore
        void = [*town.datasets[0].session.ledger.records()][-1]
        assert kinds(town, before) == ["reserve", "void"] and void.content["reason"] == "cancelled"
        assert ana.delete(running).json()["status"] == "cancelled"
        again = ana.post("/v1/query", json=question(40)).json()
        assert not again["cached"], "another worker answers it, and it is charged anew"


def test_what_has_ended_is_not_changed_by_cancelling_it(town: Served) -> None:
    with town.client() as ana:
        answered = begin(town, ana, 50)
        failed = ana.post("/v1/questions", json={"sql": "SELECT 1", "epsilon": 1}).headers[
            "location"
        ]
        for where, status in ((answered, "answered"), (failed, "failed")):
            wait_until(lambda where=where: state(ana, where)["status"] not in ("queued", "running"))
            before = state(ana, where)
            assert before["status"] == status
            assert ana.delete(where).json()["status"] == status
            assert state(ana, where) == before


def test_a_state_is_of_one_moment(town: Served) -> None:
    """Whoever looks again and again never sees an answer of a question that is said to run."""
    seen, stop = list[dict[str, object]](), threading.Event()
    with town.client() as ana:
        where = begin(town, ana, 60)

        def look() -> None:
            with town.client() as also:
                while not stop.is_set():
                    seen.append(state(also, where))

        looking = [threading.Thread(target=look) for _ in range(3)]
        for each in looking:
            each.start()
        wait_until(lambda: state(ana, where)["status"] == "answered")
        stop.set()
        for each in looking:
            each.join()
    order = {"queued": 0, "running": 1, "answered": 2}
    assert all(("answer" in each) == (each["status"] == "answered") for each in seen)
    assert {str(each["status"]) for each in seen} <= set(order)


def test_only_the_newest_that_are_done_are_kept(town: Served) -> None:
    with town.client("bo") as bo:
        asked = []
        for number in range(70, 78):
            asked.append(begin(town, bo, number))
            wait_until(lambda: state(bo, asked[-1])["status"] == "answered")
        found = [bo.get(each).status_code for each in asked]
    assert found == [404] * 3 + [200] * 5


def test_long_rows_of_public_tables_are_not_kept_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is charged for them, so that nothing else would bound what one person has kept."""
    (tmp_path / "data").mkdir()
    codes = "".join(f"{number},name {number}\n" for number in range(500))
    (tmp_path / "data" / "codes.csv").write_text("id,name\n" + codes, encoding="utf-8")
    (tmp_path / "data" / "people.csv").write_text("id\n1\n", encoding="utf-8")
    tables = '[table.codes]\npublic = true\n[table.people]\nprivacy_unit = "id"\nunique = true\n'
    policy = tmp_path / "policy.toml"
    policy.write_text(dataset("data/") + tables, encoding="utf-8")
    monkeypatch.setattr("sanql.server.http.forms._KEPT_MAX", 10_000)
    with served([policy]) as other, other.client() as ana:
        for condition, status in (("id < 10", "answered"), ("id >= 0", "failed")):
            body = {"sql": f"SELECT * FROM codes WHERE {condition} ORDER BY id"}
            where = ana.post("/v1/questions", json=body).headers["location"]
            wait_until(lambda: state(ana, where)["status"] == status)  # noqa: B023
            now = ana.post("/v1/query", json=body).json()
            if status == "answered":
                assert state(ana, where)["answer"] == now and len(now["rows"]) == 10
        assert state(ana, where)["error"]["code"] == "answer_too_large"  # type: ignore[index]
        assert len(now["rows"]) == 500, "and are sent at once as ever"
