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
from typing import TYPE_CHECKING, assert_never

from sanql.execute.arrow_values import divided
from sanql.execute.channel import ChannelLost, receive, send
from sanql.execute.confine import die_with_parent, limit_files, limit_memory
from sanql.execute.files import DatabaseFile, stamp
from sanql.execute.lean import leave_out
from sanql.execute.lockdown import allow_only, attach, connect, limit, lock, question_cursor
from sanql.execute.messages import (
    END,
    FAILED,
    JSON,
    PROGRESS,
    READY,
    TABLE,
    Confirm,
    CopyDatabase,
    Ingest,
    InspectDatabase,
    InspectParts,
    Query,
    Request,
    Serve,
)
from sanql.execute.run import ready

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import pyarrow

REQUEST_BYTES_MAX = 64 << 20
FRAME_BYTES = 1 << 20  # of a result that are sent together; one row is never divided
_BATCH_ROWS = 1 << 10
_REQUESTS = 0
_FOR_QUERIES = ("datetime", "decimal", "pyarrow", "uuid")
_FOR_FILES = (
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "sanql.execute.ingest",
    "sanql.execute.schema",
)


def main() -> None:
    """Serve one request, then end."""
    parent, spill = int(sys.argv[1]), Path(sys.argv[2])
    warnings.simplefilter("ignore")  # whatever a library would say goes nowhere
    leave_out("numpy", "pandas")  # Arrow needs neither here, and starts twice as fast without
    replies = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        request: Request = pickle.loads(receive(_REQUESTS, REQUEST_BYTES_MAX))  # noqa: S301  (ours)
        match request:
            case Serve():
                _serve(request, parent, spill, replies)
            case InspectDatabase() | InspectParts():
                _inspect(request, parent, spill, replies)
            case Ingest() | CopyDatabase():
                _copy(request, parent, spill, replies)
            case _:
                assert_never(request)
    except ChannelLost:
        pass  # the parent is gone, or has no more questions
    except BaseException:
        send(replies, FAILED)
    os._exit(0)  # no tear-down of the engine's threads: nothing is left to save


def _serve(request: Serve, parent: int, spill: Path, replies: int) -> None:
    connection = _open(request, parent, spill)
    send(replies, READY)
    while True:
        asked: Confirm | Query = pickle.loads(receive(_REQUESTS, REQUEST_BYTES_MAX))  # noqa: S301  (ours)
        if isinstance(asked, Query):
            for frame in _answer(connection, asked):
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
    if stamp(DatabaseFile(request.database)) != request.stamp:
        raise ChannelLost  # the source was replaced after the parent had looked at it
    threads = _threads()
    limit_memory(request.memory_bytes, threads)
    _import_last(_FOR_QUERIES)
    confined = limit_files([], [spill])
    die_with_parent(parent, _REQUESTS, spill)
    limit(connection, request.memory_bytes, spill if confined else None, threads)
    lock(connection, files_confined=confined)
    # The first conversion to Arrow loads modules; do it now, while there is time.
    list(_answer(connection, Query("SELECT ?::BIGINT AS warm", (1,))))
    return connection


def _answer(connection: duckdb.DuckDBPyConnection, query: Query) -> Iterator[bytes]:
    """Yield the result piece by piece, made while it is read; it must be one SELECT."""
    cursor = question_cursor(connection)
    with ready(cursor, query) as statement:
        # cursor.execute() would plan it once and not twice, but hold the whole result in memory
        found = cursor.sql(statement, params=list(query.parameters))
        batches = found.to_arrow_reader(_BATCH_ROWS)
        yield from _frames(batches)
        batches.close()
    cursor.close()


def _frames(batches: pyarrow.RecordBatchReader) -> Iterator[bytes]:
    """Yield pieces of a result, each an Arrow stream of its own; at least one, for the names."""
    waiting: list[pyarrow.RecordBatch] = []
    size = sent = 0
    for batch in batches:
        for part in divided(batch, FRAME_BYTES):
            waiting.append(part)
            size += part.nbytes
            if size >= FRAME_BYTES:
                yield _frame(batches.schema, waiting)
                waiting, size, sent = [], 0, sent + 1
    if waiting or not sent:
        yield _frame(batches.schema, waiting)


def _frame(schema: pyarrow.Schema, batches: list[pyarrow.RecordBatch]) -> bytes:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def _inspect(
    request: InspectDatabase | InspectParts, parent: int, spill: Path, replies: int
) -> None:
    from sanql.execute.schema import database_schema, parts_schema

    connection = connect()
    if isinstance(request, InspectDatabase):
        attach(connection, request.database, read_only=True)
        readable: list[Path] = []
    else:
        readable = [path for parts in request.tables for path in parts.paths]
    _harden(connection, request.memory_bytes, parent, spill, readable=readable)
    found = (
        database_schema(connection, request.tables)
        if isinstance(request, InspectDatabase)
        else parts_schema(connection, request.tables)
    )
    send(replies, JSON + json.dumps(found).encode())


def _copy(request: Ingest | CopyDatabase, parent: int, spill: Path, replies: int) -> None:
    from sanql.execute import ingest, long_texts

    connection = connect()
    attach(connection, request.target, read_only=False)
    memory, writable = request.memory_bytes, [request.target.parent]
    if isinstance(request, CopyDatabase):
        attach(connection, request.database, read_only=True, name=long_texts.ORIGINAL)
        _harden(connection, memory, parent, spill, writable=writable, for_texts=True)
        begun = long_texts.copy(connection, request.tables, memory)
    else:
        readable = [path for table in request.tables for path in table.parts.paths]
        _harden(connection, memory, parent, spill, readable=readable, writable=writable)
        begun = ingest.ingest(connection, request.tables)
    for table in begun:
        send(replies, PROGRESS + json.dumps(table).encode())
    connection.close()
    send(replies, READY)


def _harden(
    connection: duckdb.DuckDBPyConnection,
    memory_bytes: int,
    parent: int,
    spill: Path,
    *,
    readable: Sequence[Path] = (),
    writable: Sequence[Path] = (),
    for_texts: bool = False,
) -> None:
    """Confine a preparing worker to the declared files; it needs DuckDB's file system for them.

    The engine does not count long texts that it reads, and a thread keeps those it read last: `for_texts`
    leaves half of the memory to them, and lets one thread read.
    """
    threads = _threads()
    limit_memory(memory_bytes, threads)
    _import_last(_FOR_FILES)
    limit_files(readable, [spill, *writable])
    die_with_parent(parent, _REQUESTS, spill)
    if for_texts:
        memory_bytes, threads = memory_bytes // 2, 1
    limit(connection, memory_bytes, spill, threads)
    allow_only(connection, readable)


def _import_last(modules: tuple[str, ...]) -> None:
    """Import what is still to be used, and never again: libraries probe for others on the way."""
    for module in modules:
        importlib.import_module(module)
    sys.meta_path.clear()


def _threads() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    main()
