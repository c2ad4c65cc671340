"""One answer's statements on a server of a pool, and what becomes of them where the server does not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from sanql.engines.failures import unavailable
from sanql.engines.protocol import Made_co, ResultCollector, Server
from sanql.kernel import ChannelClosed, Statement

if TYPE_CHECKING:
    import pyarrow

    from sanql.engines.pool import Pool


class Lease:
    """The right to run one answer's statements, one after another, on a server of a pool.

    A server is held from the first of them until the end; the wait for it counts against no deadline.

    Where somebody else ends a worker process in the middle of a statement, the same statement is run once
    more by another one that has the same data open, in the time that is left, and its result begun
    anew. That tells nothing: the text is the same, with its secret, so the exact cells are; nothing of
    the first attempt has left; the noise is fresh, and independent of what ended it. What is seen is an
    answer that took longer, within the deadline it had anyway. (A machine that is short of memory ends
    workers too: if that is about rows, the second ends like the first, and the failure counts.) What a
    worker ends by itself, or San for want of time, may depend on rows: it is not tried again.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._server: Server | None = None
        self._busy: Server | None = None
        self._begun = self._replaced = self._stopped = self._ended = False
        self._seconds = 0.0  # that the last statement took

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        server, self._server = self._server, None
        try:
            if server is not None:
                self._pool.give_back(server, self._seconds)
        finally:
            if not self._ended:
                self._ended = True
                self._pool.leave()

    def begin(self) -> None:
        """Wait for a server, once; what is run after it failed, or after the end, fails at once."""
        if not self._begun and not self._ended:
            self._begun = True
            self._server = self._pool.take(lambda: self._stopped)

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
        self.begin()
        if seconds_max <= 0 or self._server is None:
            raise unavailable()
        started = time.monotonic()
        deadline = started + min(self._pool.deadline_seconds, seconds_max)
        collector = begin()
        done = self._attempt(statement, deadline, collector, meanwhile)
        if not done and self._server is not None:
            collector = begin()
            done = self._attempt(statement, deadline, collector, None)
        self._seconds = time.monotonic() - started
        if not done:
            raise unavailable()
        return collector.finish()

    def stop(self) -> None:
        """End the statement that runs, from another thread; none is run after it."""
        self._stopped = True
        busy = self._busy
        if busy is not None:
            busy.kill()
        self._pool.wake()

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
                self._server = self._pool.successor(server)
        except Exception:  # noqa: S110  (whatever it was must not be told)
            pass
        finally:
            self._busy = None
            # Also when interrupted: a server in the middle of a statement must not be given another.
            if not done and not replaced:
                self._pool.replace(server)
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
