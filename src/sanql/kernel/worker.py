"""The process that touches rows: started with the parent's process id and a spill directory.

It reads one request from its standard input and serves it. Whatever goes wrong, the reply is the
same single byte: what DuckDB says about an error quotes data, so it is never put into words here.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import resource
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from sanql.kernel.affinity import PROCESSORS, processors, run_on
from sanql.kernel.channel import ChannelLost, receive, send
from sanql.kernel.confine import die_with_parent, limit_files, limit_memory
from sanql.kernel.cursors import QuestionCursors
from sanql.kernel.files import is_open_as_stamped
from sanql.kernel.hidden_modules import hide_modules
from sanql.kernel.lockdown import attach, connect, limit, lock
from sanql.kernel.messages import (
    END,
    FAILED,
    JSON,
    PROGRESS,
    READY,
    TABLE,
    Confirm,
    Copy,
    CopyDatabase,
    CopyFiles,
    Inspect,
    InspectDatabase,
    InspectFiles,
    Serve,
    Statement,
    WorkerRequest,
)
from sanql.kernel.run import result
from sanql.kernel.source_requests import (
    Confine,
    Needs,
    confine_engine,
    copy_source,
    inspect_source,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb
    import pyarrow

_REQUEST_BYTES_MAX = 64 << 20
_REQUESTS = 0
_AHEAD = ("duckdb", "pyarrow")
_FOR_QUERIES = ("datetime", "decimal", "pyarrow", "uuid")
_FOR_FILES = ("pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet")
_FOR_SOURCES = (
    "sanql.kernel.clustering",
    "sanql.kernel.copy_files",
    "sanql.kernel.schema",
    "sanql.kernel.summed_tables",
)


def main() -> None:
    """Serve one request over a source, then end."""
    serve_one(_serve_request)


def serve_one(serve: Callable[[Any, int, Path, int], None]) -> None:
    """Have the request that a process was started for served, and end the process.

    `serve` is given the request, the parent's process id, the spill directory and where replies go.
    """
    parent, spill = int(sys.argv[1]), Path(sys.argv[2])
    warnings.simplefilter("ignore")  # whatever a library would say goes nowhere
    hide_modules("numpy", "pandas")  # Arrow needs neither here, and starts twice as fast without
    replies = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.umask(0o077)
    run_on(os.environ.get(PROCESSORS, ""))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        _import(_AHEAD)  # whatever it will be: a process may be started before that is known
        request = pickle.loads(receive(_REQUESTS, _REQUEST_BYTES_MAX))  # noqa: S301  (ours)
        serve(request, parent, spill, replies)
    except ChannelLost:
        pass  # the parent is gone, or has no more questions
    except BaseException:
        send(replies, FAILED)
    os._exit(0)  # no tear-down of the engine's threads: nothing is left to save


def _serve_request(request: WorkerRequest, parent: int, spill: Path, replies: int) -> None:
    match request:
        case Serve():
            _serve(request, parent, spill, replies)
        case InspectDatabase() | InspectFiles():
            _inspect(request, parent, spill, replies)
        case CopyDatabase() | CopyFiles():
            _copy(request, parent, spill, replies)
        case _:
            assert_never(request)


def _serve(request: Serve, parent: int, spill: Path, replies: int) -> None:
    cursors = QuestionCursors(_open(request, parent, spill))
    send(replies, READY)
    while True:
        asked: Confirm | Statement = pickle.loads(receive(_REQUESTS, _REQUEST_BYTES_MAX))  # noqa: S301  (ours)
        if isinstance(asked, Statement):
            for frame in _answer(cursors, asked):
                send(replies, TABLE + frame)
            send(replies, END)
        elif asked.stamp == request.stamp:
            send(replies, READY)
        else:
            raise ChannelLost


def _open(request: Serve, parent: int, spill: Path) -> duckdb.DuckDBPyConnection:
    """Return the connection all queries use, locked before the first of them arrives."""
    connection = connect()
    attach(connection, request.database, read_only=True)
    if not is_open_as_stamped(request.database, request.stamp):
        raise ChannelLost  # the source was replaced after the parent had looked at it
    threads = max(1, processors() // request.workers)
    limit_memory(request.memory_bytes, threads)
    import_last(_FOR_QUERIES)
    confined = limit_files([], [spill])
    die_with_parent(parent, _REQUESTS, spill)
    limit(connection, request.memory_bytes, spill if confined else None, threads)
    lock(connection, files_confined=confined)
    # The first conversion to Arrow loads modules; do it now, while there is time.
    for few_rows in (True, False):
        warm = Statement("SELECT ?::BIGINT AS warm", (1,), few_rows=few_rows)
        list(_answer(QuestionCursors(connection), warm))
    return connection


def _answer(cursors: QuestionCursors, statement: Statement) -> Iterator[bytes]:
    """Yield the result piece by piece, each an Arrow stream of its own; it must be one SELECT."""
    with cursors.cursor_for(statement) as cursor:
        for rows in result(cursor, statement):
            yield frame(rows)


def frame(rows: pyarrow.Table) -> bytes:
    """Return some rows as an Arrow stream."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _inspect(request: Inspect, parent: int, spill: Path, replies: int) -> None:
    found = inspect_source(request, _confining(request, parent, spill))
    send(replies, JSON + json.dumps(found).encode())


def _copy(request: Copy, parent: int, spill: Path, replies: int) -> None:
    copying = copy_source(request, _confining(request, parent, spill))
    while True:
        try:
            table = next(copying)
        except StopIteration as end:
            send(replies, JSON + json.dumps(end.value.to_dict()).encode())
            return
        send(replies, PROGRESS + json.dumps(table).encode())


def _confining(request: Inspect | Copy, parent: int, spill: Path) -> Confine:
    """Return what confines a preparing worker to the declared files, which its engine opens itself."""
    reads_files = isinstance(request, InspectFiles | CopyFiles)
    modules = (*_FOR_FILES, *_FOR_SOURCES) if reads_files else _FOR_SOURCES

    def confine(connection: duckdb.DuckDBPyConnection, needs: Needs) -> None:
        threads = processors()
        limit_memory(needs.memory_bytes, threads)
        import_last(modules)
        limit_files(needs.readable, [spill, *needs.writable])
        die_with_parent(parent, _REQUESTS, spill)
        confine_engine(connection, needs, spill, threads)

    return confine


def import_last(modules: tuple[str, ...]) -> None:
    """Import what is still to be used, and never again: libraries probe for others on the way."""
    _import(modules)
    sys.meta_path.clear()


def _import(modules: tuple[str, ...]) -> None:
    for module in modules:
        importlib.import_module(module)


if __name__ == "__main__":
    main()
