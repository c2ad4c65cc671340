"""The servers of one prepared source: which of them answers, and what becomes of those that fail."""

from __future__ import annotations

import fcntl
import math
import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sanql.engines.failures import not_ready, unavailable
from sanql.engines.protocol import Engine, Made_co, ResultCollector, Server
from sanql.errors import Unavailable
from sanql.kernel import ChannelClosed, ChannelLost, Serve, Statement, database_files, stamp

if TYPE_CHECKING:
    import pyarrow

    from sanql.catalog import PreparedSource
    from sanql.kernel import Stamp
    from sanql.policy import EngineLimits

_STARTS_MAX = 3  # of servers for one answer, that do not get ready


class Pool:
    """Up to `limits.workers` servers over one prepared source; safe to share among threads.

    A server that fails in any way, or overruns the deadline, is killed and its successor started
    at once; the successor opens the source while nobody waits for it.
    """

    def __init__(self, source: PreparedSource, limits: EngineLimits, engine: Engine) -> None:
        self._engine = engine
        self._limits = limits
        self._closed = False
        vanished = False
        try:
            database = source.database.resolve()
            own = source.stamp if source.stamp is not None else stamp(database_files(database))
            self.stamp: Stamp = own
            """What the files of the source were when they were taken for the data."""
            self._serve = Serve(database, own, limits.memory_bytes)
            self._begin()
        except OSError:
            vanished = True
        if vanished:
            raise not_ready()

    def _begin(self) -> None:
        """Start with no servers; once for each process, so that a fork shares none with another."""
        self._owner = os.getpid()
        self._free = threading.Condition()
        self._idle: list[Server] = []
        self._started: set[Server] = set()
        # Shared with other users of the file, and in the way of those who would clear it away.
        held = os.open(self._serve.database, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(held, fcntl.LOCK_SH)
        self._finalizer = weakref.finalize(self, _discard_all, self._started, held, self._owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def warm(self) -> None:
        """Start every server and wait until each has opened the source."""
        taken = [self._take() for _ in range(self._limits.workers)]
        failed = False
        for server in taken:
            try:
                server.await_ready()
            except ChannelLost:
                failed = True
                self._replace(server)
            else:
                self._give_back(server)
        if failed:
            raise not_ready()

    def lease(self) -> Lease:
        """Return a server that says that it has the source open and waits, for one answer's statements.

        It says so after it was taken: one that is being killed may look alive, and cannot. Those that do
        not are replaced. Raises Unavailable where none gets ready: nothing has been read by then, and
        nothing need be charged.
        """
        for _ in range(_STARTS_MAX):
            server = self._take()  # none is given by a pool that has been closed or retired
            ready = False
            try:
                server.confirm()
                ready = True
            except ChannelLost:
                pass
            finally:
                if not ready:
                    self._give_up(server)
            if ready:
                return Lease(self, server)
        raise not_ready()

    def run(
        self,
        statement: Statement,
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
    ) -> pyarrow.Table:
        """Return the whole result of one statement, or raise the constant `Unavailable`."""
        with self.lease() as lease:
            return lease.run(statement, meanwhile, seconds_max)

    @property
    def deadline_seconds(self) -> float:
        """How long one statement may take."""
        return self._limits.deadline_seconds

    def retire(self) -> None:
        """Take no more questions; those that run are finished, and then the servers end."""
        with self._free:
            self._closed = True
            while self._idle:
                self._drop(self._idle.pop())
            self._end_if_unused()
            self._free.notify_all()

    def pids(self) -> list[int]:
        """Return the ids of the processes that servers run in, for those who watch them."""
        with self._free:
            return [server.pid for server in self._started]

    def close(self) -> None:
        """Kill every server, in the middle of a statement too, and remove what they spilled."""
        with self._free:
            self._closed = True
            while self._idle:
                self._drop(self._idle.pop())
            for server in self._started:
                server.kill()
            self._free.notify_all()
            # A busy server's pipes belong to the thread that reads them, which lets go by itself.
            self._free.wait_for(lambda: not self._started)
            self._finalizer()

    def _take(self) -> Server:
        if self._owner != os.getpid():
            self._finalizer.detach()
            self._begin()
        with self._free:
            while not self._closed:
                while self._idle:
                    server = self._idle.pop()
                    if server.alive():
                        return server
                    self._drop(server)
                if len(self._started) < self._limits.workers:
                    return self._start()
                self._free.wait()
        raise not_ready()

    def _give_back(self, server: Server) -> None:
        with self._free:
            if self._closed:
                self._drop(server)
                self._free.notify_all()
            else:
                self._idle.append(server)
                self._free.notify()  # one server serves one of those who wait

    def _give_up(self, server: Server) -> None:
        """End a server that is of no use; whoever waits for one may start another."""
        with self._free:
            self._drop(server)
            self._free.notify_all()

    def _replace(self, server: Server) -> None:
        with self._free:
            self._drop(server)
            try:
                if not self._closed:
                    self._idle.append(self._start())
            finally:
                self._free.notify_all()

    def _successor(self, server: Server) -> Server | None:
        """Return a server in place of one that is gone, for whoever held it; None where none can be."""
        with self._free:
            self._drop(server)
            successor = None
            try:
                with suppress(Unavailable):
                    if not self._closed:
                        successor = self._start()
            finally:
                if successor is None:
                    self._free.notify_all()
            return successor

    def _start(self) -> Server:
        try:
            server = self._engine.serve(self._serve)
        except OSError:
            server = None
        if server is None:
            raise not_ready()
        self._started.add(server)
        return server

    def _drop(self, server: Server) -> None:
        self._started.discard(server)
        server.discard()
        self._end_if_unused()

    def _end_if_unused(self) -> None:
        if self._closed and not self._started:
            self._finalizer()


class Lease:
    """A server that is ready, held for one answer; its statements are run one after another.

    Where somebody else ends a worker process in the middle of a statement, the same statement is run once
    more by another one that has the same data open, in the time that is left, and its result begun
    anew. That tells nothing: the text is the same, with its secret, so the exact cells are; nothing of
    the first attempt has left; the noise is fresh, and independent of what ended it. What is seen is an
    answer that took longer, within the deadline it had anyway. (A machine that is short of memory ends
    workers too: if that is about rows, the second ends like the first, and the failure counts.) What a
    worker ends by itself, or San for want of time, may depend on rows: it is not tried again.
    """

    def __init__(self, pool: Pool, server: Server) -> None:
        self._pool = pool
        self._server: Server | None = server
        self._busy: Server | None = None
        self._replaced = self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            self._pool._give_back(server)

    def run(
        self,
        statement: Statement,
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
    ) -> pyarrow.Table:
        """Return the whole result of one statement, or raise the constant `Unavailable`."""
        return self.stream(statement, _WholeResult, meanwhile, seconds_max)

    def stream(
        self,
        statement: Statement,
        begin: Callable[[], ResultCollector[Made_co]],
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
    ) -> Made_co:
        """Return what a collector makes of a result, given to it some rows at a time and at least once.

        Raises the constant `Unavailable` where anything fails, the collector too; it may have had rows by
        then. `begin` gives an empty collector, for each attempt another. `meanwhile` is done here while
        the server is busy. `seconds_max` is what is left of the policy's deadline, where one answer
        takes several statements.
        """
        if seconds_max <= 0 or self._server is None:
            raise unavailable()
        deadline = time.monotonic() + min(self._pool.deadline_seconds, seconds_max)
        collector = begin()
        done = self._attempt(statement, deadline, collector, meanwhile)
        if not done and self._server is not None:
            collector = begin()
            done = self._attempt(statement, deadline, collector, None)
        if not done:
            raise unavailable()
        return collector.finish()

    def stop(self) -> None:
        """End the statement that runs, from another thread; none is run after it."""
        self._stopped = True
        busy = self._busy
        if busy is not None:
            busy.kill()

    def _attempt(
        self,
        statement: Statement,
        deadline: float,
        collector: ResultCollector[object],
        meanwhile: Callable[[], object] | None,
    ) -> bool:
        """Return whether the collector has had all rows; if not, a server is left only to try again."""
        server, self._server = self._server, None
        if server is None:
            return False
        done = replaced = False
        self._busy = server
        try:
            if self._stopped:
                raise unavailable()
            server.run(statement, deadline, collector.take, meanwhile)
            done = True
            self._server = server
        except ChannelClosed:
            if not (self._replaced or self._stopped) and server.ended_by_others():
                self._replaced = replaced = True
                self._server = self._pool._successor(server)
        except Exception:  # noqa: S110  (whatever it was must not be told)
            pass
        finally:
            self._busy = None
            # Also when interrupted: a server in the middle of a statement must not be given another.
            if not done and not replaced:
                self._pool._replace(server)
        return done


class _WholeResult:
    """A collector that keeps all rows."""

    def __init__(self) -> None:
        self._found: list[pyarrow.Table] = []

    def take(self, rows: pyarrow.Table) -> None:
        self._found.append(rows)

    def finish(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.concat_tables(self._found).combine_chunks()


def _discard_all(servers: set[Server], held: int, owner: int) -> None:
    if owner != os.getpid():
        return  # a forked child ends: the servers are its parent's
    while servers:
        servers.pop().discard()
    os.close(held)
