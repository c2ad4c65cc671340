"""The servers of one prepared source: which of them answers, and what becomes of those that fail."""

from __future__ import annotations

import fcntl
import math
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sanql.engines.failures import not_ready
from sanql.engines.leases import Lease
from sanql.engines.protocol import Engine, Server
from sanql.errors import Unavailable
from sanql.kernel import ChannelLost, Serve, Statement, database_files, stamp

if TYPE_CHECKING:
    import pyarrow

    from sanql.catalog import PreparedSource
    from sanql.kernel import Stamp
    from sanql.policy import EngineLimits

_STARTS_MAX = 3  # of servers for one answer, that do not get ready
_LEASES_PER_SERVER = 8  # while statements are quick: as many share a commit while others are run
_SECONDS_QUICK = 0.25


class Pool:
    """Up to `limits.workers` servers over one prepared source; safe to share among threads.

    A server that fails in any way, or overruns the deadline, is killed and its successor started
    at once; the successor opens the source while nobody waits for it.
    """

    def __init__(self, source: PreparedSource, limits: EngineLimits, engine: Engine) -> None:
        self._engine = engine
        self._limits = limits
        self._closed = False  # to new leases
        self._killed = False
        vanished = False
        try:
            database = source.database.resolve()
            own = source.stamp if source.stamp is not None else stamp(database_files(database))
            self.stamp: Stamp = own
            """What the files of the source were when they were taken for the data."""
            self._serve = Serve(database, own, limits.memory_bytes, limits.workers)
            self._begin()
        except OSError:
            vanished = True
        if vanished:
            raise not_ready()

    def _begin(self) -> None:
        """Start with no servers; once for each process, so that a fork shares none with another."""
        self._owner = os.getpid()
        held_by_one = threading.RLock()
        self._free = threading.Condition(held_by_one)  # a server waits, or may be started
        self._heard = threading.Condition(held_by_one)  # a server has shown that it is well
        self._room = threading.Condition(held_by_one)  # for one more lease
        self._leases = self._waiting = self._signs_of_life = 0
        self._quick = True  # whether the last statement was
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
        self._check_process()
        taken = [self.take(lambda: False) for _ in range(self._limits.workers)]
        failed = False
        for server in taken:
            try:
                if server is None:
                    raise ChannelLost
                server.await_ready()
            except ChannelLost:
                failed = True
                if server is not None:
                    self.replace(server)
            else:
                self.give_back(server)
        if failed:
            raise not_ready()

    def lease(self) -> Lease:
        """Return the right to run one answer's statements, once a server has the source open and says so.

        It says so after it was asked for: one that is being killed may look alive, and cannot. Those that
        do not are replaced. Raises Unavailable where none gets ready: nothing has been read by then, and
        nothing need be charged. No server is held: others run while this one's charge is written, and
        then it stands in line. How many may do so, the pool decides.
        """
        self._check_process()
        self._enter()
        try:
            for _ in range(_STARTS_MAX):
                if self._is_served():
                    return Lease(self)
            raise not_ready()
        except BaseException:
            self.leave()
            raise

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
        """Take no more questions; those that have a lease are finished, and then the servers end."""
        with self._free:
            self._closed = True
            self._end_if_unused()
            self._wake_all()

    def pids(self) -> list[int]:
        """Return the ids of the processes that servers run in, for those who watch them."""
        with self._free:
            return [server.pid for server in self._started]

    def close(self) -> None:
        """Kill every server, in the middle of a statement too, and remove what they spilled."""
        with self._free:
            self._closed = self._killed = True
            while self._idle:
                self._drop(self._idle.pop())
            for server in self._started:
                server.kill()
            self._wake_all()
            # A busy server's pipes belong to the thread that reads them, which lets go by itself.
            self._free.wait_for(lambda: not self._started)
            self._finalizer()

    # ---- what leases ask for

    def take(self, stopped: Callable[[], bool]) -> Server | None:
        """Return a server to run statements on, in the order of asking; None where there will be none."""
        with self._free:
            self._waiting += 1
            try:
                while not self._killed and not stopped():
                    server = self._waiting_server()
                    if server is not None:
                        return server
                    if len(self._started) < self._limits.workers:
                        return self._start()
                    self._free.wait()
            finally:
                self._waiting -= 1
                if self._idle:
                    self._free.notify()
        return None

    def give_back(self, server: Server, seconds: float = 0.0) -> None:
        """Take back a server that is well; its last statement took so long."""
        with self._free:
            if self._killed or (self._closed and not self._leases):
                self._drop(server)
                self._wake_all()
                return
            self._idle.append(server)
            self._signs_of_life += 1
            self._quick = seconds < _SECONDS_QUICK
            self._free.notify()  # one server serves one of those who wait
            self._heard.notify_all()

    def replace(self, server: Server) -> None:
        """End a server that is of no use, and start another in its place."""
        with self._free:
            self._drop(server)
            try:
                if not self._killed:
                    self._idle.append(self._start())
            finally:
                self._wake_all()

    def successor(self, server: Server) -> Server | None:
        """Return a server in place of one that is gone, for whoever held it; None where none can be."""
        with self._free:
            self._drop(server)
            successor = None
            try:
                with suppress(Unavailable):
                    if not self._killed:
                        successor = self._start()
            finally:
                if successor is None:
                    self._wake_all()
            return successor

    def leave(self) -> None:
        """Take note that a lease has ended."""
        with self._free:
            self._leases -= 1
            self._end_if_unused()
            room = self._leases_max - self._leases
            if room > 0:  # no more than may enter: each who wakes takes time from those who work
                self._room.notify(room)

    def wake(self) -> None:
        """Have everybody who waits look again: one of them need not wait any more."""
        with self._free:
            self._wake_all()

    # ----

    def _check_process(self) -> None:
        """Have servers of its own in a process that was forked."""
        if self._owner != os.getpid():
            self._finalizer.detach()
            self._begin()

    def _enter(self) -> None:
        """Wait until there is room for one more lease: a charge waits for a server, but not long."""
        with self._free:
            while not self._closed and self._leases >= self._leases_max:
                try:
                    self._room.wait()
                except BaseException:
                    self._room.notify()  # the room that this one was told of is another's
                    raise
            if self._closed:
                raise not_ready()
            self._leases += 1

    @property
    def _leases_max(self) -> int:
        return self._limits.workers * (_LEASES_PER_SERVER if self._quick else 1)

    def _is_served(self) -> bool:
        """Return whether a server shows from now on that it is well: when asked, or by its work."""
        server = self._taken_unless_heard()
        if server is None:
            return True
        ready = False
        try:
            server.confirm()
            ready = True
        except ChannelLost:
            pass
        finally:
            if ready:
                self.give_back(server)
            else:
                self._give_up(server)
        return ready

    def _taken_unless_heard(self) -> Server | None:
        """Return a server that can be asked how it is; None once another has shown that it is well."""
        with self._free:
            before = self._signs_of_life
            while not self._closed:
                if self._signs_of_life != before:
                    return None
                server = None if self._waiting else self._waiting_server()
                if server is not None:
                    return server
                if len(self._started) < self._limits.workers:
                    return self._start()
                self._heard.wait()
        raise not_ready()

    def _waiting_server(self) -> Server | None:
        while self._idle:
            server = self._idle.pop()
            if server.alive():
                return server
            self._drop(server)
        return None

    def _give_up(self, server: Server) -> None:
        """End a server that is of no use; whoever waits for one may start another."""
        with self._free:
            self._drop(server)
            self._wake_all()

    def _wake_all(self) -> None:
        for condition in (self._free, self._heard, self._room):
            condition.notify_all()

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
        if self._closed and not self._leases:
            while self._idle:
                server = self._idle.pop()
                self._started.discard(server)
                server.discard()
            if not self._started:
                self._finalizer()


def _discard_all(servers: set[Server], held: int, owner: int) -> None:
    if owner != os.getpid():
        return  # a forked child ends: the servers are its parent's
    while servers:
        servers.pop().discard()
    os.close(held)
