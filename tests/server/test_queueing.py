"""The queue of questions: nobody waits for one person's many, limits bind, and stopping is orderly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar

import pytest

from sanql.errors import ServerError
from sanql.server.queueing import FairQueue

SECONDS = 60.0
WHO: ContextVar[str] = ContextVar("who", default="nobody")


class Gate:
    """Something to do that begins, says so, and goes on when it may."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.open.wait(SECONDS)
        return "done"


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def queues() -> Iterator[Callable[..., FairQueue]]:
    """Make queues, whose threads end with the test."""
    made: list[FairQueue] = []

    def make(threads: int = 1, waiting: int = 1_000, each: int = 1_000) -> FairQueue:
        made.append(FairQueue(threads, waiting, each))
        return made[-1]

    yield make
    for queue in made:
        assert queue.stop(SECONDS)


def occupied(queue: FairQueue, gate: Gate, by: str = "zoe") -> Future[str]:
    """Have the one thread of a queue do something, and return it."""
    future = queue.submit(by, gate)
    assert gate.begun.wait(SECONDS)
    return future


def test_a_hundred_questions_of_one_do_not_delay_the_first_of_another(
    queues: Callable[..., FairQueue], gate: Gate
) -> None:
    queue, order = queues(), list[str]()
    occupied(queue, gate)
    asked = [queue.submit("ana", lambda: order.append("ana")) for _ in range(100)]
    asked += [queue.submit("bo", lambda: order.append("bo")) for _ in range(3)]
    asked += [queue.submit("cy", lambda: order.append("cy")) for _ in range(2)]
    gate.open.set()
    for future in asked:
        future.result(SECONDS)
    assert order[:8] == ["ana", "bo", "cy", "ana", "bo", "cy", "ana", "bo"]
    assert order[8:] == ["ana"] * 97


def test_what_one_person_asks_runs_in_an_eighth_of_the_threads(
    queues: Callable[..., FairQueue],
) -> None:
    queue, gates = queues(threads=16), [Gate() for _ in range(5)]
    asked = [queue.submit("ana", gate) for gate in gates]
    assert all(gate.begun.wait(SECONDS) for gate in gates[:2])
    others = [queue.submit(f"bo{n}", lambda: "bo") for n in range(20)]
    assert [future.result(SECONDS) for future in others] == ["bo"] * 20
    assert not any(gate.begun.is_set() for gate in gates[2:])
    for number, gate in enumerate(gates):
        gate.open.set()  # and the next of theirs begins
        assert gates[min(number + 2, 4)].begun.wait(SECONDS)
    assert [future.result(SECONDS) for future in asked] == ["done"] * 5


def test_one_line_keeps_its_order(queues: Callable[..., FairQueue], gate: Gate) -> None:
    queue, order = queues(), list[int]()
    occupied(queue, gate)
    asked = [queue.submit("ana", lambda n=n: order.append(n)) for n in range(50)]  # type: ignore
    gate.open.set()
    for future in asked:
        future.result(SECONDS)
    assert order == [*range(50)]


def test_a_person_holds_so_many_and_others_are_not_counted(
    queues: Callable[..., FairQueue], gate: Gate
) -> None:
    queue = queues(each=3)
    first = occupied(queue, gate, "ana")
    asked = [queue.submit("ana", str) for _ in range(2)]
    with pytest.raises(ServerError) as refused:
        queue.submit("ana", str)
    assert refused.value.code == "questions_at_once"
    asked.append(queue.submit("bo", str))
    gate.open.set()
    assert [future.result(SECONDS) for future in (first, *asked)] == ["done", "", "", ""]
    queue.submit("ana", str).result(SECONDS)


def test_all_together_hold_so_many(queues: Callable[..., FairQueue], gate: Gate) -> None:
    queue = queues(waiting=5)
    occupied(queue, gate)
    asked = [queue.submit(f"person {n}", str) for n in range(5)]
    with pytest.raises(ServerError) as refused:
        queue.submit("another", str)
    assert refused.value.code == "server_busy" and queue.waiting == 5
    gate.open.set()
    for future in asked:
        future.result(SECONDS)
    queue.submit("another", str).result(SECONDS)


def test_what_is_cancelled_makes_room_at_once(queues: Callable[..., FairQueue], gate: Gate) -> None:
    queue, done = queues(waiting=2, each=2), list[str]()
    occupied(queue, gate)
    first, second = (queue.submit("ana", lambda: done.append("ana")) for _ in range(2))
    assert first.cancel() and queue.waiting == 1
    third = queue.submit("ana", lambda: done.append("third"))
    assert second.cancel() and third.cancel() and queue.waiting == 0
    last = queue.submit("bo", lambda: done.append("bo"))
    gate.open.set()
    last.result(SECONDS)
    assert done == ["bo"], "what was cancelled is never done"
    with pytest.raises(CancelledError):
        first.result(SECONDS)


def test_limits_hold_whatever_is_cancelled_when(queues: Callable[..., FairQueue]) -> None:
    """Cancelling races with threads that take the same questions: nobody is counted twice or lost."""
    queue = queues(threads=4, each=20)

    def asks(name: str) -> None:
        for _ in range(50):
            asked = [queue.submit(name, str) for _ in range(20)]
            for future in asked[::2]:
                future.cancel()
            for future in asked:
                if not future.cancelled():
                    future.result(SECONDS)

    people = [threading.Thread(target=asks, args=(f"person {n}",)) for n in range(4)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert queue.waiting == 0 and queue.stop(SECONDS) and not queue._held


def test_errors_and_ends_of_all_kinds_reach_whoever_waits_and_the_thread_goes_on(
    queues: Callable[..., FairQueue],
) -> None:
    queue = queues()
    for fault in (ServerError("a", "b", "c"), ZeroDivisionError(), SystemExit(3), MemoryError()):

        def fail(fault: BaseException = fault) -> None:
            raise fault

        assert queue.submit("ana", fail).exception(SECONDS) is fault
    assert queue.submit("ana", lambda: 7).result(SECONDS) == 7


def test_the_context_of_whoever_asks_travels_and_does_not_come_back(
    queues: Callable[..., FairQueue],
) -> None:
    queue = queues()

    def seen() -> str:
        was = WHO.get()
        WHO.set("changed")
        return was

    token = WHO.set("ana")
    assert queue.submit("ana", seen).result(SECONDS) == "ana"
    WHO.reset(token)
    assert queue.submit("bo", seen).result(SECONDS) == "nobody"
    assert WHO.get() == "nobody"


def test_stopping_refuses_what_waits_and_finishes_what_runs(
    queues: Callable[..., FairQueue], gate: Gate
) -> None:
    queue = queues()
    running = occupied(queue, gate)
    waiting, cancelled = queue.submit("ana", str), queue.submit("ana", str)
    cancelled.cancel()
    assert not queue.stop(0), "one still runs"
    stopped = waiting.exception(SECONDS)
    assert isinstance(stopped, ServerError) and stopped.code == "server_stopping"
    with pytest.raises(ServerError, match="being stopped"):
        queue.submit("bo", str)
    gate.open.set()
    assert queue.stop(SECONDS) and running.result(SECONDS) == "done"
    for thread in queue._threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
