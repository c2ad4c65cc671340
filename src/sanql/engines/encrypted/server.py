"""An encrypted copy open in a process of this machine, as a server of a pool."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sanql.engines.encrypted.sealed import OtherKey, read_sealed
from sanql.kernel import ChannelLost, Serve, Statement, processors, stamp
from sanql.kernel.buckets import BucketProcess, LayoutKey, NotAsWritten, OpenBuckets

if TYPE_CHECKING:
    import pyarrow

_CONFIRM = Statement("SELECT 1 AS ready")
_CONFIRM_SECONDS_MAX = 10.0


class BucketServer:
    """A process that has the buckets of a copy open; it takes them one after another."""

    def __init__(self, serve: Serve, secret: str) -> None:
        self._serve = serve
        folder = serve.database.parent
        try:
            layout = read_sealed(folder, secret)
        except (NotAsWritten, OtherKey):
            raise OSError from None
        key = LayoutKey(secret, layout.salt)
        threads = max(1, processors() // serve.workers)
        self._process = BucketProcess(OpenBuckets(folder, layout, serve.memory_bytes, threads, key))

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether it may still be asked."""
        return self._process.alive()

    def await_ready(self, deadline: float = math.inf) -> None:
        """Return once the process is locked, if the copy is the one that was opened."""
        try:
            same = stamp([self._serve.database]) == self._serve.stamp
        except OSError:
            same = False
        if not same:
            raise ChannelLost
        self._process.await_ready(min(deadline, time.monotonic() + _CONFIRM_SECONDS_MAX * 6))

    def confirm(self) -> None:
        """Return once the process has said, from now on, that it waits."""
        self.await_ready()
        for _ in self._process.ask(_CONFIRM, time.monotonic() + _CONFIRM_SECONDS_MAX):
            pass

    def run(
        self,
        statement: Statement,
        deadline: float,
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Give the result to `take` as it comes."""
        import pyarrow

        self.await_ready(deadline)
        if meanwhile is not None:
            meanwhile()
        for frame in self._process.ask(statement, deadline):
            table = pyarrow.ipc.open_stream(pyarrow.py_buffer(frame)).read_all()
            table.validate(full=True)
            take(table.combine_chunks())
            if time.monotonic() > deadline:
                raise ChannelLost

    def ended_by_others(self) -> bool:
        """Return whether the process was ended by another's signal."""
        return self._process.ended_by_others()

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        self._process.kill()

    def discard(self) -> None:
        """Let go of the process."""
        self._process.discard()
