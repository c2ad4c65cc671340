"""Questions that are asked now and read later: how far each has come, and its answer once it is there.

They are kept in memory: an answer that was charged is in the ledger besides, and in the history of
whoever asked.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, Literal

from sanql.entropy import OsEntropy
from sanql.errors import AccessDenied, Refused, SanqlError, ServerError
from sanql.interrupts import Watch

Owner = tuple[str, str]  # dataset and person
Start = Callable[[Watch], Future[Any]]
QuestionStatus = Literal["queued", "running", "answered", "failed", "cancelled"]


@dataclass(frozen=True)
class KeptQuestion:
    """One question of one person, from when it is asked until it is forgotten."""

    id: str
    owner: Owner
    future: Future[Any]
    watch: Watch
    asked: object = None  # by which another is told to be the same

    @property
    def status(self) -> QuestionStatus:
        """How far it has come."""
        if self.future.cancelled():
            return "cancelled"
        if not self.future.done():
            return "running" if self.future.running() else "queued"
        if self.future.exception() is None:
            return "answered"
        return "cancelled" if self.watch.cancelled else "failed"

    @property
    def progress(self) -> str:
        """How far it has come, in words."""
        return self.watch.stage if self.status == "running" else self.status

    @property
    def error(self) -> SanqlError | None:
        """Why it has no answer, if it ended without one."""
        try:
            found = self.future.exception(timeout=0) if self.future.done() else None
        except CancelledError:
            return cancelled_before()
        return found if isinstance(found, SanqlError) or found is None else _fault()

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
            for each in done[: max(0, len(own) - self._per_person_max)]:
                del own[each.id]
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
