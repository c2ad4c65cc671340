"""The engine of worker processes, which the operating system confines and which are killed when late."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from sanql.engines.duckdb.process import ServingProcess, WorkerProcess
from sanql.engines.failures import not_ready
from sanql.kernel import (
    JSON,
    ChannelClosed,
    ChannelLost,
    Copy,
    CopyReport,
    Inspect,
    Serve,
    WorkerRequest,
)

_DESCRIBE_SECONDS_MAX = 300.0
_REPLY_BYTES_MAX = 64 << 20
_WORKERS_FOR_A_COPY_MAX = 4


class WorkerEngine:
    """Runs the kernel in processes of its own, one for each request about a source or server."""

    def describe(self, request: Inspect) -> dict[str, object] | None:
        """Return the names and types in a source, as a worker found them; None where it found none."""
        worker = _started(request)
        try:
            deadline = time.monotonic() + _DESCRIBE_SECONDS_MAX
            kind, payload = worker.receive(_REPLY_BYTES_MAX, deadline)
            schema = json.loads(bytes(payload)) if kind == JSON else None
        except ChannelLost:
            schema = None
        finally:
            worker.discard()
        return schema if isinstance(schema, dict) else None

    def copy(self, request: Copy, begun: Callable[[str], None]) -> CopyReport | None:
        """Return what was seen of a copy that was made; None where not all was copied.

        Where others end the worker, another goes on with what is done, a few times.
        """
        told = 0

        def tell(number: int, table: str) -> None:
            nonlocal told
            if number > told:
                told = number
                begun(table)

        for _ in range(_WORKERS_FOR_A_COPY_MAX):
            worker = _started(request)
            try:
                return _copied(worker, tell)
            except ChannelClosed:
                if not worker.ended_by_others():
                    return None
            except ChannelLost:
                return None
            finally:
                worker.discard()
        return None

    def serve(self, request: Serve) -> ServingProcess:
        """Return a worker process that is opening a database."""
        return ServingProcess(request)


def _copied(worker: WorkerProcess, tell: Callable[[int, str], None]) -> CopyReport:
    """Return what a worker saw of its copy; it tells of all that begins, which is counted."""
    number = 0
    while True:
        kind, payload = worker.receive(_REPLY_BYTES_MAX, None)
        told = json.loads(bytes(payload))
        if kind == JSON:
            return CopyReport.from_dict(told)
        number += 1
        tell(number, str(told))


def _started(request: WorkerRequest) -> WorkerProcess:
    """Return a worker process; Unavailable where the machine does not let one begin."""
    try:
        return WorkerProcess(request)
    except OSError:
        raise not_ready() from None
