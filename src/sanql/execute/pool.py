"""Warm worker processes that run one query each at a time, and their replacement."""

from __future__ import annotations

import fcntl
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from sanql.errors import Unavailable
from sanql.execute.channel import ChannelClosed, ChannelLost
from sanql.execute.files import DatabaseFile, stamp
from sanql.execute.messages import PublicTable, Query, Serve
from sanql.execute.process import ServingProcess

if TYPE_CHECKING:
    import pyarrow

    from sanql.execute.messages import Stamp
    from sanql.execute.sources import Source
    from sanql.policy.model import EngineLimits

Made_co = TypeVar("Made_co", covariant=True)

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
            raise not_ready()

    def _begin(self) -> None:
        """Start with no workers; once for each process, so that a fork shares none with another."""
        self._owner = os.getpid()
        self._free = threading.Condition()
        self._idle: list[ServingProcess] = []
        self._started: set[ServingProcess] = set()
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
            raise not_ready()

    def lease(self) -> Lease:
        """Return a worker that says that it has the source open and waits, for one answer's statements.

        It says so after it was taken: one that is being killed may look alive, and cannot. Those that do
        not are replaced. Raises Unavailable where none gets ready: nothing has been read by then, and
        nothing need be charged.
        """
        for _ in range(_STARTS_MAX):
            server = self._take()  # none is given by workers that have been closed or retired
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
        sql: str,
        parameters: Sequence[object],
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
        public: tuple[PublicTable, ...] = (),
    ) -> pyarrow.Table:
        """Return the whole result of one SELECT, or raise the constant `Unavailable`."""
        with self.lease() as lease:
            return lease.run(sql, parameters, meanwhile, seconds_max, public)

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

    def _take(self) -> ServingProcess:
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

    def _give_back(self, server: ServingProcess) -> None:
        with self._free:
            if self._closed:
                self._drop(server)
            else:
                self._idle.append(server)
            self._free.notify_all()

    def _give_up(self, server: ServingProcess) -> None:
        """End a worker that is of no use; whoever waits for one may start another."""
        with self._free:
            self._drop(server)
            self._free.notify_all()

    def _replace(self, server: ServingProcess) -> None:
        with self._free:
            self._drop(server)
            try:
                if not self._closed:
                    self._idle.append(self._start())
            finally:
                self._free.notify_all()

    def _successor(self, server: ServingProcess) -> ServingProcess | None:
        """Return a worker in place of one that is gone, for whoever held it; None where none can be."""
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

    def _start(self) -> ServingProcess:
        try:
            server = ServingProcess(self._serve)
        except OSError:
            server = None
        if server is None:
            raise not_ready()
        self._started.add(server)
        return server

    def _drop(self, server: ServingProcess) -> None:
        self._started.discard(server)
        server.discard()
        self._end_if_unused()

    def _end_if_unused(self) -> None:
        if self._closed and not self._started:
            self._finalizer()


class Stage(Protocol[Made_co]):
    """What takes the rows of a result as they come, and makes something of all of them."""

    def take(self, rows: pyarrow.Table, /) -> object:
        """Take some rows."""

    def finish(self) -> Made_co:
        """Return what was made, once there are no more."""


class Lease:
    """A worker that is ready, held for one answer; its statements are run one after another.

    Where somebody else ends the worker in the middle of a statement, the same statement is run once
    more by another one that has the same data open, in the time that is left, and its result begun
    anew. That tells nothing: the text is the same, with its secret, so the exact cells are; nothing of
    the first attempt has left; the noise is fresh, and independent of what ended it. What is seen is an
    answer that took longer, within the deadline it had anyway. (A machine that is short of memory ends
    workers too: if that is about rows, the second ends like the first, and the failure counts.) What a
    worker ends by itself, or San for want of time, may depend on rows: it is not tried again.
    """

    def __init__(self, workers: Workers, server: ServingProcess) -> None:
        self._workers = workers
        self._server: ServingProcess | None = server
        self._replaced = False

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
        return self.stream(sql, parameters, _Whole, meanwhile, seconds_max, public)

    def stream(
        self,
        sql: str,
        parameters: Sequence[object],
        begin: Callable[[], Stage[Made_co]],
        meanwhile: Callable[[], object] | None = None,
        seconds_max: float = math.inf,
        public: tuple[PublicTable, ...] = (),
    ) -> Made_co:
        """Return what a stage makes of one SELECT, given to it some rows at a time and at least once.

        Raises the constant `Unavailable` where anything fails, the stage too; it may have had rows by
        then. `begin` gives an empty stage, for each attempt another. `meanwhile` is done here while the
        worker is busy. `seconds_max` is what is left of the policy's deadline, where one answer
        takes several statements. `public` tables are made first.
        """
        if seconds_max <= 0 or self._server is None:
            raise unavailable()
        query = Query(sql, tuple(parameters), public)
        deadline = time.monotonic() + min(self._workers.deadline_seconds, seconds_max)
        stage = begin()
        done = self._attempt(query, deadline, stage, meanwhile)
        if not done and self._server is not None:
            stage = begin()
            done = self._attempt(query, deadline, stage, None)
        if not done:
            raise unavailable()
        return stage.finish()

    def _attempt(
        self,
        query: Query,
        deadline: float,
        stage: Stage[object],
        meanwhile: Callable[[], object] | None,
    ) -> bool:
        """Return whether the stage has had all rows; if not, a worker is left only to try again."""
        server, self._server = self._server, None
        if server is None:
            return False
        done = replaced = False
        try:
            server.answer(query, deadline, stage.take, meanwhile)
            done = True
            self._server = server
        except ChannelClosed:
            if not self._replaced and server.ended_by_others():
                self._replaced = replaced = True
                self._server = self._workers._successor(server)
        except Exception:  # noqa: S110  (whatever it was must not be told)
            pass
        finally:
            # Also when interrupted: a worker in the middle of a query must not be given another.
            if not done and not replaced:
                self._workers._replace(server)
        return done


class _Whole:
    """A stage that keeps all rows."""

    def __init__(self) -> None:
        self._found: list[pyarrow.Table] = []

    def take(self, rows: pyarrow.Table) -> None:
        self._found.append(rows)

    def finish(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.concat_tables(self._found).combine_chunks()


def _discard_all(servers: set[ServingProcess], held: int, owner: int) -> None:
    if owner != os.getpid():
        return  # a forked child ends: the workers are its parent's
    while servers:
        servers.pop().discard()
    os.close(held)
