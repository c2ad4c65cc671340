"""The queue of questions: one line for each person, served in turn, so that nobody has to wait for one.

Questions run in threads; each waits for the engine and the disk most of its time. One person's run in an
eighth of the threads, or in two: whoever comes next finds a thread, and few before them at the engine.
"""

from __future__ import annotations

import contextvars
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from sanql.errors import ServerError

T = TypeVar("T")
_Job = tuple["Future[object]", contextvars.Context, Callable[[], object]]


class FairQueue:
    """Threads that take the next question of the next person."""

    def __init__(self, threads: int, waiting_max: int, per_person_max: int) -> None:
        self._waiting_max = waiting_max
        self._per_person_max = per_person_max
        mutex = threading.Lock()
        self._changed = threading.Condition(mutex)
        self._finished = threading.Condition(mutex)
        self._lines: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._held: Counter[str] = Counter()  # waiting and running, by person
        self._busy_for: Counter[str] = Counter()  # threads, by person
        self._busy_for_one_max = max(2, threads // 8)
        self._waiting = self._running = 0
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._work, name=f"question-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, person: str, act: Callable[[], T]) -> Future[T]:
        """Put something into a person's line; ServerError where that, or all of it, is too long."""
        future: Future[T] = Future()
        with self._changed:
            if self._stopping:
                raise stopping()
            if self._held[person] >= self._per_person_max:
                raise ServerError(
                    "questions_at_once",
                    f"{self._per_person_max} questions of yours wait or run already",
                    "wait for one of them, or cancel one",
                )
            if self._waiting >= self._waiting_max:
                raise ServerError(
                    "server_busy",
                    f"{self._waiting_max} questions wait already; nothing has been charged",
                    "ask again in a while",
                )
            self._held[person] += 1
            self._waiting += 1
            job: _Job = (future, contextvars.copy_context(), act)  # type: ignore[assignment]
            self._lines.setdefault(person, deque()).append(job)
            self._changed.notify()
        future.add_done_callback(partial(self._leave, person))
        return future

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._waiting

    def stop(self, seconds: float) -> bool:
        """Take no more, refuse those that wait, and return whether all that ran are done in time."""
        with self._changed:
            self._stopping = True
            left = [job for line in self._lines.values() for job in line]
            self._lines.clear()
            self._waiting = 0
            self._changed.notify_all()
        for future, _, _ in left:
            if future.set_running_or_notify_cancel():
                future.set_exception(stopping())
        with self._changed:
            return self._finished.wait_for(lambda: self._running == 0, timeout=seconds)

    def _work(self) -> None:
        while (taken := self._next()) is not None:
            person, (future, context, act) = taken
            try:
                if future.set_running_or_notify_cancel():
                    try:
                        future.set_result(context.run(act))
                    except BaseException as fault:
                        future.set_exception(fault)
            finally:
                self._done(person)
            del taken, future, context, act  # nothing of an answer is held while this waits

    def _next(self) -> tuple[str, _Job] | None:
        with self._changed:
            while (person := self._whose_turn()) is None:
                if self._stopping:
                    return None
                self._changed.wait()
            line = self._lines.pop(person)
            job = line.popleft()
            if line:
                self._lines[person] = line  # at the end: everybody else comes first
            self._waiting -= 1
            self._running += 1
            self._busy_for[person] += 1
            return person, job

    def _whose_turn(self) -> str | None:
        """Return who is next among those for whom one more thread may be busy."""
        most = self._busy_for_one_max
        return next((person for person in self._lines if self._busy_for[person] < most), None)

    def _done(self, person: str) -> None:
        with self._changed:
            self._running -= 1
            _take_one(self._busy_for, person)
            _take_one(self._held, person)
            if person in self._lines:  # perhaps nobody could take their next until now
                self._changed.notify()
            self._finished.notify_all()

    def _leave(self, person: str, ended: Future[T]) -> None:
        """Take what was cancelled out of its line at once: another may stand there."""
        if not ended.cancelled():
            return
        with self._changed:
            line = self._lines.get(person, deque())
            found = next((job for job in line if job[0] is ended), None)
            if found is None:  # a thread has taken it meanwhile
                return
            line.remove(found)
            if not line:
                del self._lines[person]
            self._waiting -= 1
            _take_one(self._held, person)


def _take_one(counts: Counter[str], person: str) -> None:
    """Count one less, and forget who has none."""
    counts[person] -= 1
    if not counts[person]:
        del counts[person]


def stopping() -> ServerError:
    """Return the refusal of whatever comes too late."""
    return ServerError(
        "server_stopping",
        "the server is being stopped; nothing has been charged",
        "ask again when it is back",
    )
