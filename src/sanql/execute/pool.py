"""Warm worker processes that run one query each at a time, and their replacement."""

from __future__ import annotations

import fcntl
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sanql.errors import Unavailable
from sanql.execute.channel import ChannelLost
from sanql.execute.files import DatabaseFile, stamp
from sanql.execute.messages import END, READY, TABLE, PublicTable, Query, Serve
from sanql.execute.process import START_SECONDS_MAX, WorkerProcess

if TYPE_CHECKING:
    import pyarrow

    from sanql.execute.messages import Stamp
    from sanql.execute.sources import Source
    from sanql.policy.model import EngineLimits

# A frame is about a megabyte, or one row; this only holds off a worker that has gone mad.
_FRAME_BYTES_MAX = 2 << 30
_STARTS_MAX = 3  # of workers for one answer, that do not get ready


def unavailable() -> Unavailable:
    """Return the one error of execution; it says the same whatever happened."""
    return Unavailable(
        "unavailable",
        "the engine could not answer",
        "the charge stays; ask the data owner if it happens again",
    )


def not_ready() -> Unavailable:
    """Return the error of an engine that cannot begin: no row was read, and nothing was charged."""
    return Unavailable(
        "engine_not_ready",
        "the engine could not open the data",
        "nothing was charged: try again, and tell the data owner if it happens again",
    )


class Workers:
    """Up to `limits.workers` locked-down processes over one source; safe to share among threads.

    A process that fails in any way, or overruns the deadline, is killed and its successor started
    at once; the successor opens the source while nobody waits for it.
    """

    def __init__(self, source: Source, limits: EngineLimits) -> None:
        self._limits = limits
        self._closed = False
        vanished = False
        try:
            database = source.database.resolve()
            own = source.stamp if source.stamp is not None else stamp(DatabaseFile(database))
            self._serve = Serve(database, own, limits.memory_bytes)
            self._begin()
        except OSError:
            vanished = True
        if vanished:
            raise unavailable()

    def _begin(self) -> None:
        """Start with no workers; once for each process, so that a fork shares none with another."""
        self._owner = os.getpid()
        self._free = threading.Condition()
        self._idle: list[_Server] = []
        self._started: set[_Server] = set()
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
        """Start every worker and wait until each has opened the source."""
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
            raise unavailable()

    def lease(self) -> Lease:
        """Return a worker that has opened the source and waits, for one answer's statements.

        Workers that were killed, or cannot open it at once, are replaced. Raises Unavailable where none
        gets ready: nothing has been read by then, and nothing need be charged.
        """
        for _ in range(_STARTS_MAX):
            server = self._take()  # none is given by workers that have been closed or retired
            ready = False
            try:
                server.await_ready()
                ready = True
            except ChannelLost:
                pass
            finally:
                if not ready:
                    self._give_up(server)
            if ready and server.alive():
                return Lease(self, server)
            if ready:
                self._give_up(server)
        raise not_ready()

    def run(
        self,
        sql: str,
        parameters: Sequence[object],
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
        public: tuple[PublicTable, ...] = (),
    ) -> pyarrow.Table:
        """Return the whole result of one SELECT, or raise the constant `Unavailable`."""
        with self.lease() as lease:
            return lease.run(sql, parameters, meanwhile, seconds_max, public)

    def stream(
        self,
        sql: str,
        parameters: Sequence[object],
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
        public: tuple[PublicTable, ...] = (),
    ) -> None:
        """Give the result of one SELECT to `take`, as a lease does."""
        with self.lease() as lease:
            lease.stream(sql, parameters, take, meanwhile, seconds_max, public)

    @property
    def deadline_seconds(self) -> float:
        """How long one statement may take."""
        return self._limits.deadline_seconds

    @property
    def stamp(self) -> Stamp:
        """What the files of the source were when they were taken for the data."""
        return self._serve.stamp

    def retire(self) -> None:
        """Take no more questions; those that run are finished, and then the workers end."""
        with self._free:
            self._closed = True
            while self._idle:
                self._drop(self._idle.pop())
            self._end_if_unused()
            self._free.notify_all()

    def pids(self) -> list[int]:
        """Return the ids of the worker processes there are, for those who watch them."""
        with self._free:
            return [server.pid for server in self._started]

    def close(self) -> None:
        """Kill every worker, in the middle of a query too, and remove what they spilled."""
        with self._free:
            self._closed = True
            while self._idle:
                self._drop(self._idle.pop())
            for server in self._started:
                server.kill()
            self._free.notify_all()
            # A busy worker's pipes belong to the thread that reads them, which lets go by itself.
            self._free.wait_for(lambda: not self._started)
            self._finalizer()

    def _take(self) -> _Server:
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

    def _give_back(self, server: _Server) -> None:
        with self._free:
            if self._closed:
                self._drop(server)
            else:
                self._idle.append(server)
            self._free.notify_all()

    def _give_up(self, server: _Server) -> None:
        """End a worker that is of no use; whoever waits for one may start another."""
        with self._free:
            self._drop(server)
            self._free.notify_all()

    def _replace(self, server: _Server) -> None:
        with self._free:
            self._drop(server)
            try:
                if not self._closed:
                    self._idle.append(self._start())
            finally:
                self._free.notify_all()

    def _start(self) -> _Server:
        try:
            server = _Server(self._serve)
        except OSError:
            server = None
        if server is None:
            raise not_ready()
        self._started.add(server)
        return server

    def _drop(self, server: _Server) -> None:
        self._started.discard(server)
        server.discard()
        self._end_if_unused()

    def _end_if_unused(self) -> None:
        if self._closed and not self._started:
            self._finalizer()


class Lease:
    """A worker that is ready, held for one answer; its statements are run one after another."""

    def __init__(self, workers: Workers, server: _Server) -> None:
        self._workers = workers
        self._server: _Server | None = server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            self._workers._give_back(server)

    def run(
        self,
        sql: str,
        parameters: Sequence[object],
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
        public: tuple[PublicTable, ...] = (),
    ) -> pyarrow.Table:
        """Return the whole result of one SELECT, or raise the constant `Unavailable`."""
        found: list[pyarrow.Table] = []
        self.stream(sql, parameters, found.append, meanwhile, seconds_max, public)
        import pyarrow

        return pyarrow.concat_tables(found).combine_chunks()

    def stream(
        self,
        sql: str,
        parameters: Sequence[object],
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
        public: tuple[PublicTable, ...] = (),
    ) -> None:
        """Give the result of one SELECT to `take`, some rows at a time and at least once.

        Raises the constant `Unavailable` where anything fails, `take` too; it may have had rows by
        then. `meanwhile` is done here while the worker is busy. `seconds_max` is what is left of
        the policy's deadline, where one answer takes several statements. `public` tables are made
        first.
        """
        server = self._server
        if seconds_max <= 0 or server is None:
            raise unavailable()
        done = False
        try:
            query = Query(sql, tuple(parameters), public)
            seconds = min(self._workers.deadline_seconds, seconds_max)
            server.answer(query, seconds, take, meanwhile)
            done = True
        except Exception:  # noqa: S110  (whatever it was must not be told)
            pass
        finally:
            # Also when interrupted: a worker in the middle of a query must not be given another.
            if not done:
                self._server = None
                self._workers._replace(server)
        if not done:
            raise unavailable()


class _Server(WorkerProcess):
    """A worker process that has been told to serve queries."""

    def __init__(self, serve: Serve) -> None:
        super().__init__(serve)
        self._ready = False
        self._ready_deadline = time.monotonic() + START_SECONDS_MAX

    def await_ready(self) -> None:
        """Return once the worker has opened and locked its source."""
        if not self._ready:
            kind, _ = self.receive(1, self._ready_deadline)
            if kind != READY:
                raise ChannelLost
            self._ready = True

    def answer(
        self,
        query: Query,
        seconds_max: float,
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Give the result to `take` as it comes; the clock starts when the worker is ready."""
        self.await_ready()
        deadline = time.monotonic() + seconds_max
        self.send(query, deadline)
        import pyarrow  # the first time, while the worker is busy

        if meanwhile is not None:
            meanwhile()
            if time.monotonic() > deadline:
                raise ChannelLost  # also where the reply has come by now: too late is too late
        kind, frame = self.receive(_FRAME_BYTES_MAX, deadline)
        while kind == TABLE:
            table = pyarrow.ipc.open_stream(pyarrow.py_buffer(frame)).read_all()
            table.validate(full=True)
            take(table.combine_chunks())
            kind, frame = self.receive(_FRAME_BYTES_MAX, deadline)
        if kind != END:
            raise ChannelLost


def _discard_all(servers: set[_Server], held: int, owner: int) -> None:
    if owner != os.getpid():
        return  # a forked child ends: the workers are its parent's
    while servers:
        servers.pop().discard()
    os.close(held)
