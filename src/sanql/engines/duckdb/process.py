"""A worker process over a source, as its parent sees it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sanql.kernel import (
    END,
    FRAME_BYTES_MAX,
    TABLE,
    WORKER,
    ChannelLost,
    ConfinedProcess,
    Confirm,
    Serve,
    Statement,
    WorkerRequest,
)

if TYPE_CHECKING:
    import pyarrow

_CONFIRM_SECONDS_MAX = 10.0  # for a worker that waits to say so


class WorkerProcess(ConfinedProcess):
    """A process that looks at a source, copies it, or serves queries."""

    def __init__(self, request: WorkerRequest) -> None:
        super().__init__(WORKER, request)


class ServingProcess(WorkerProcess):
    """A worker process that has been told to serve queries."""

    def __init__(self, serve: Serve) -> None:
        super().__init__(serve)
        self._serve = serve

    def await_ready(self, deadline: float = math.inf) -> None:
        """Return once the worker has opened and locked its source."""
        import pyarrow.compute  # noqa: F401  (the first time it takes as long as the worker does)

        super().await_ready(deadline)

    def confirm(self) -> None:
        """Return once the worker has said, from now on, that it has its source open and waits."""
        self.await_ready()
        deadline = time.monotonic() + _CONFIRM_SECONDS_MAX
        self.send(Confirm(self._serve.stamp), deadline)
        self.receive_ready(deadline)

    def run(
        self,
        statement: Statement,
        deadline: float,
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Give the result to `take` as it comes."""
        self.await_ready(deadline)
        self.send(statement, deadline)
        import pyarrow

        if meanwhile is not None:
            meanwhile()
            if time.monotonic() > deadline:
                raise ChannelLost  # also where the reply has come by now: too late is too late
        kind, frame = self.receive(FRAME_BYTES_MAX, deadline)
        while kind == TABLE:
            table = pyarrow.ipc.open_stream(pyarrow.py_buffer(frame)).read_all()
            table.validate(full=True)
            take(table.combine_chunks())
            kind, frame = self.receive(FRAME_BYTES_MAX, deadline)
        if kind != END:
            raise ChannelLost
