"""A locked connection of this process as a server: what a worker process does, without the process."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sanql.kernel import (
    ChannelLost,
    Serve,
    Statement,
    attach,
    connect,
    is_open_as_stamped,
    limit,
    lock,
    processors,
    question_cursor,
    result,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow

_INTERRUPT_SECONDS = 0.02  # between two: one that comes between two steps of a statement is lost


class ServingConnection:
    """A database open on a connection of its own, locked like a worker's."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._killed = False
        self._due = threading.Event()  # to be interrupted, or done

    @property
    def pid(self) -> int:
        """The id of this process."""
        return os.getpid()

    def alive(self) -> bool:
        """Return whether nobody has ended it."""
        return not self._killed

    def await_ready(self, deadline: float = math.inf) -> None:
        """Open and lock the database, if that has not been done; ChannelLost where it is another one."""
        if self._connection is not None:
            return
        with suppress(Exception):  # what the engine says about an error quotes data
            self._connection = self._opened()
        if self._connection is None:
            raise ChannelLost

    def confirm(self) -> None:
        """Return once the database is open."""
        self.await_ready()
        if not self.alive():
            raise ChannelLost

    def run(
        self,
        statement: Statement,
        deadline: float,
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Give the result to `take` as it comes; `meanwhile` is done first, for there is one process."""
        self.await_ready(deadline)
        if meanwhile is not None:
            meanwhile()
        assert self._connection is not None  # noqa: S101  (it is ready)
        cursor = self._cursor(self._connection)
        with self._interrupted(cursor, deadline):
            for rows in result(cursor, statement):
                self._check(deadline)
                take(rows.combine_chunks())
        self._check(deadline)  # too late is too late, also where the interrupt was
        cursor.close()

    def ended_by_others(self) -> bool:
        """Return False: nobody can end it without ending this process."""
        return False

    def kill(self) -> None:
        """Interrupt what it is doing, again and again until that ends."""
        self._killed = True
        self._due.set()

    def discard(self) -> None:
        """Close the connection."""
        self._killed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(
                Exception
            ):  # one that broke in the middle of a statement may say so again
                connection.close()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the database, locked before the first statement."""
        connection = connect()
        attach(connection, self._serve.database, read_only=True)
        if not is_open_as_stamped(self._serve.database, self._serve.stamp):
            connection.close()
            raise ChannelLost  # it was replaced after it had been looked at
        self._lock(connection)
        return connection

    def _lock(self, connection: duckdb.DuckDBPyConnection) -> None:
        limit(connection, self._serve.memory_bytes, None, processors())
        lock(connection, files_confined=False)

    def _cursor(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        return question_cursor(connection)

    def _check(self, deadline: float) -> None:
        if time.monotonic() > deadline or not self.alive():
            raise ChannelLost

    @contextmanager
    def _interrupted(self, cursor: duckdb.DuckDBPyConnection, deadline: float) -> Iterator[None]:
        """Interrupt a cursor from the deadline on, or from when it is killed, until it is done."""
        done, self._due = threading.Event(), threading.Event()
        due = self._due
        if self._killed:
            due.set()

        def watch() -> None:
            due.wait(max(0.0, min(deadline - time.monotonic(), threading.TIMEOUT_MAX)))
            while not done.wait(_INTERRUPT_SECONDS):
                cursor.interrupt()

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield
        finally:
            done.set()
            due.set()
            watching.join()
