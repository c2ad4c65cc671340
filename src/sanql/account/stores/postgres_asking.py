"""One asker at a time, over all servers: identical questions wait for the first, and find its answer.

A question is an advisory lock that one connection of this process holds, so it is free at once when the
process or its machine is gone. As with files (`asking`), the locks only save charges: where one cannot be
had, or is held for too long, the question goes on and is charged.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sanql.account.stores.postgres_connection import LedgerConnection
from sanql.errors import LedgerError
from sanql.policy import LedgerDatabase
from sanql.postgres_driver import PostgresFault

_SECONDS_BETWEEN_LOOKS = 0.005, 0.05


class AskingLocks:
    """The questions that are being asked here and now, each held once in this process."""

    def __init__(self, place: LedgerDatabase, ledger: str) -> None:
        self._place = place
        self._ledger = ledger
        self._connection: LedgerConnection | None = None
        self._turn = threading.Condition()
        self._held: set[int] = set()
        self._talking = threading.Lock()

    @contextmanager
    def held(self, analyst: str, question: str, seconds_max: float) -> Iterator[None]:
        """Hold a question; wait for others at most so long, then go on."""
        key, deadline = self._key(analyst, question), time.monotonic() + seconds_max
        first = False
        try:
            with self._turn:
                first = self._turn.wait_for(lambda: key not in self._held, seconds_max)
                if first:
                    self._held.add(key)
            if first:
                self._wait(key, deadline)
            yield
        finally:
            if first:
                self._say("SELECT pg_advisory_unlock(%s)", key)
                with self._turn:
                    self._held.discard(key)
                    self._turn.notify_all()

    def close(self) -> None:
        """Let go of every question."""
        with self._talking:
            if self._connection is not None:
                self._connection.close()

    def _key(self, analyst: str, question: str) -> int:
        """Return a number that two different questions share about never; then one waits in vain."""
        named = hashlib.sha256(f"{self._ledger} {question} {analyst}".encode()).digest()
        return int.from_bytes(named[:8], "big", signed=True)

    def _wait(self, key: int, deadline: float) -> None:
        pause, longest = _SECONDS_BETWEEN_LOOKS
        while self._say("SELECT pg_try_advisory_lock(%s)", key) is False:
            if time.monotonic() > deadline:
                return
            time.sleep(pause)
            pause = min(2 * pause, longest)

    def _say(self, statement: str, key: int) -> bool | None:
        """Return what the database says to a lock; None where it says nothing."""
        with self._talking:
            try:
                if self._connection is None:
                    self._connection = LedgerConnection(self._place)
                ((said,),) = self._connection.run(statement, (key,))
            except (PostgresFault, LedgerError):
                if self._connection is not None:
                    self._connection.close()
                self._connection = None  # and with it every lock that it held
                return None
        return bool(said)
