"""Questions that are asked now and read later: how far each has come, and its answer once it is there.

They are kept in memory, so many of each person and so large: an answer that was charged is in the ledger
besides, and in the history of whoever asked.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal

from sanql.entropy import OsEntropy
from sanql.errors import AccessDenied, Refused, SanqlError, ServerError
from sanql.interrupts import Watch

Owner = tuple[str, str]  # dataset and person
Start = Callable[[Watch], Future[Any]]
_KEPT_BYTES_MAX = 32 * 1024 * 1024


@dataclass(frozen=True)
class QuestionState:
    """How far a question has come, and its answer, or why there is none, once it has ended."""

    status: Literal["queued", "running", "answered", "failed", "cancelled"]
    progress: str = ""
    answer: bytes | None = None
    error: SanqlError | None = None


@dataclass(frozen=True)
class KeptQuestion:
    """One question of one person, from when it is asked until it is forgotten."""

    id: str
    owner: Owner
    future: Future[Any]
    watch: Watch
    asked: object = None  # by which another is told to be the same

    @property
    def state(self) -> QuestionState:
        """How far it has come, as it was at one moment."""
        running = self.future.running()  # looked at first: what is done does not run any more
        if not self.future.done():
            return (
                QuestionState("running", self.watch.stage) if running else QuestionState("queued")
            )
        if self.future.cancelled():
            return QuestionState("cancelled", error=cancelled_before())
        fault = self.future.exception()
        if fault is None:
            kept = self.future.result() if self.asked is None else None  # another waits for it
            return QuestionState("answered", answer=kept)
        error = fault if isinstance(fault, SanqlError) else _fault()
        cancelled = error.code == "question_cancelled"
        return QuestionState("cancelled" if cancelled else "failed", error=error)

    def cancel(self) -> None:
        """End it: before it runs nothing is charged; a charge that was made stays."""
        if not self.future.cancel():
            self.watch.cancel()


class KeptQuestions:
    """Everybody's questions; of each person the oldest that are done are forgotten first."""

    def __init__(self, per_person_max: int) -> None:
        self._per_person_max = per_person_max
        self._mutex = threading.Lock()
        self._kept: dict[Owner, OrderedDict[str, KeptQuestion]] = {}
        self._running: dict[tuple[Owner, str], KeptQuestion] = {}  # by the keys they run under

    def keep(self, owner: Owner, future: Future[bytes], watch: Watch) -> KeptQuestion:
        """Return a question under a number that nobody can guess."""
        kept = KeptQuestion(OsEntropy().bytes(16).hex(), owner, future, watch)
        with self._mutex:
            own = self._kept.setdefault(owner, OrderedDict())
            own[kept.id] = kept
            done = [each for each in own.values() if each.future.done()]
            size = sum(map(_size, done))
            for each in done:
                if len(own) <= self._per_person_max and size <= _KEPT_BYTES_MAX:
                    break
                size -= _size(own.pop(each.id))
        return kept

    def under_key(self, owner: Owner, key: str, asked: object, start: Start) -> KeptQuestion:
        """Return the question that runs under a key of its owner's; one is started where none does."""
        with self._mutex:
            running = self._running.get((owner, key))
            if running is None:
                watch = Watch()
                running = KeptQuestion(key, owner, start(watch), watch, asked)
                self._running[owner, key] = running
            elif running.asked != asked:
                raise _key_reused(key)
        running.future.add_done_callback(lambda _: self._running.pop((owner, key), None))
        return running

    def find(self, owner: Owner, number: str) -> KeptQuestion:
        """Return a question of a person, by its number or, while it runs, by its key.

        Another's is as if it were not there.
        """
        with self._mutex:
            found = self._kept.get(owner, OrderedDict()).get(number)
            found = found or self._running.get((owner, number))
        if found is None:
            raise unknown_question(number)
        return found


def _size(kept: KeptQuestion) -> int:
    return len(kept.state.answer or b"")


def unknown_question(number: str) -> AccessDenied:
    """Return the refusal of a question that is not there, or not the caller's."""
    return AccessDenied(
        "question_unknown",
        f"you have no question {number[:40]!r}",
        "GET /v1/history lists the questions that were charged",
    )


def _key_reused(key: str) -> Refused:
    return Refused(
        "idempotency_key_reused",
        f"another request of yours runs under the idempotency key {key!r}",
        "take a key of its own for each request, such as a random number",
    )


def cancelled_before() -> ServerError:
    """Return what is said of a question that was cancelled while it waited."""
    return ServerError(
        "question_cancelled",
        "the question was cancelled before it ran; nothing was charged",
        "ask it again",
    )


def _fault() -> ServerError:
    return ServerError("internal", "the server has met a fault of its own", "ask its operator")
