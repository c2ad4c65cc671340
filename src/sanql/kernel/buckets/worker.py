"""The process that has buckets open: started with its parent's process id and a spill directory.

It is confined as a worker over a database is (`kernel/worker.py`): memory, files, life. Of files it
reaches those of the layout, to read, and its spill directory. Whatever goes wrong, the reply is one byte.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from sanql.kernel.affinity import PROCESSORS, processors, run_on
from sanql.kernel.buckets.carried import receive_rows
from sanql.kernel.buckets.layout import CheckedFiles, files_of
from sanql.kernel.buckets.messages import (
    BucketRequest,
    ComputePart,
    FinishPublic,
    Given,
    MergeParts,
    OpenBuckets,
    Spread,
)
from sanql.kernel.buckets.parts import Numbered, merged_rows, part_rows, public_rows
from sanql.kernel.buckets.writing import write_buckets
from sanql.kernel.channel import ChannelLost, receive, send
from sanql.kernel.confine import die_with_parent, limit_files, limit_memory
from sanql.kernel.hidden_modules import hide_modules
from sanql.kernel.lockdown import (
    CATALOG,
    attach,
    connect,
    limit,
    lock_to_folder,
    question_cursor,
    quote_name,
)
from sanql.kernel.messages import END, FAILED, PROGRESS, READY, TABLE, Statement
from sanql.kernel.run import result
from sanql.kernel.worker import REQUEST_BYTES_MAX, frame, import_last

if TYPE_CHECKING:
    import duckdb
    import pyarrow

FRAME_BYTES_MAX = 2 << 30
_REQUESTS = 0
_PLACE_BYTES = 4
_MODULES = ("datetime", "decimal", "pyarrow", "pyarrow.parquet", "uuid")


def main() -> None:
    """Serve requests over a layout, or write one, then end."""
    parent, spill = int(sys.argv[1]), Path(sys.argv[2])
    warnings.simplefilter("ignore")  # whatever a library would say goes nowhere
    hide_modules("numpy", "pandas")
    replies = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.umask(0o077)
    run_on(os.environ.get(PROCESSORS, ""))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        request: OpenBuckets | Spread = pickle.loads(receive(_REQUESTS, REQUEST_BYTES_MAX))  # noqa: S301  (ours)
        if isinstance(request, OpenBuckets):
            _serve(request, parent, spill, replies)
        else:
            _spread(request, parent, spill, replies)
    except ChannelLost:
        pass  # the parent is gone, or has no more questions
    except BaseException:
        send(replies, FAILED)
    os._exit(0)  # no tear-down of the engine's threads: nothing is left to save


def _serve(request: OpenBuckets, parent: int, spill: Path, replies: int) -> None:
    opened = _Opened(request, _connection(request, parent, spill))
    send(replies, READY)
    while True:
        asked: BucketRequest = pickle.loads(receive(_REQUESTS, FRAME_BYTES_MAX))  # noqa: S301  (ours)
        for piece in opened.answer(asked):
            send(replies, TABLE + piece)
        send(replies, END)


def _connection(request: OpenBuckets, parent: int, spill: Path) -> duckdb.DuckDBPyConnection:
    """Return the connection that all requests use, locked before the first of them arrives."""
    connection = connect()
    connection.execute(f"ATTACH ':memory:' AS {quote_name(CATALOG)}")
    connection.execute("LOAD parquet")  # it is part of the engine; nothing is fetched
    limit_memory(request.memory_bytes, request.threads)
    import_last(_MODULES)
    confined = limit_files([request.folder], [spill])
    die_with_parent(parent, _REQUESTS, spill)
    limit(connection, request.memory_bytes, spill if confined else None, request.threads)
    lock_to_folder(connection, request.folder)
    return connection


class _Opened:
    """The buckets of a layout, of which one at a time is in sight."""

    def __init__(self, request: OpenBuckets, connection: duckdb.DuckDBPyConnection) -> None:
        self._folder, self._layout = request.folder, request.layout
        self._connection = connection
        self._files = CheckedFiles(request.folder)

    def answer(self, asked: BucketRequest) -> Iterator[bytes]:
        """Yield the frames of a reply; a bucket's files are those that were written, to the end."""
        bucket = asked.bucket if isinstance(asked, ComputePart) else None
        self._see(bucket)
        with question_cursor(self._connection) as cursor:
            match asked:
                case FinishPublic(statement):
                    yield from map(numbered_frame, public_rows(cursor, statement))
                case ComputePart(statement, _, given):
                    found = part_rows(cursor, statement, _receive(cursor, given))
                    yield from map(numbered_frame, found)
                case MergeParts(statement, given):
                    names = _receive(cursor, given)
                    yield from map(frame, merged_rows(cursor, statement, names, _arriving()))
                case Statement():
                    yield from map(frame, result(cursor, asked))
                case _:
                    assert_never(asked)
        self._check(bucket)

    def _see(self, bucket: int | None) -> None:
        """Show the tables of a bucket, all of them checked; without one, those that are public."""
        self._check(bucket)
        for table in self._layout.tables:
            shown = quote_name(CATALOG), quote_name(table.name)
            if table.public or bucket is not None:
                self._connection.execute(table.view(self._folder, bucket or 0))
            else:
                self._connection.execute(f"DROP VIEW IF EXISTS {shown[0]}.main.{shown[1]}")

    def _check(self, bucket: int | None) -> None:
        layout = self._layout if bucket is not None else self._layout.public_only()
        for file in files_of(layout, bucket or 0):
            self._files.check(file)


def _receive(cursor: duckdb.DuckDBPyConnection, given: tuple[Given, ...]) -> list[str]:
    """Make tables of what was computed elsewhere; return their names."""
    names = [f"given_{table.name}" for table in given]
    for name, table in zip(names, given, strict=True):
        receive_rows(cursor, name, map(_rows, table.frames))
    return names


def _arriving() -> Iterator[Numbered]:
    """Yield the frames that the parent sends, until an empty one."""
    while arrived := receive(_REQUESTS, FRAME_BYTES_MAX):
        place = int.from_bytes(arrived[:_PLACE_BYTES], "big")
        yield place, _rows(memoryview(arrived)[_PLACE_BYTES:])


def numbered_frame(found: Numbered) -> bytes:
    """Return some rows of a relation as bytes that say which relation it is."""
    return found[0].to_bytes(_PLACE_BYTES, "big") + frame(found[1])


def _rows(stream: bytes | memoryview) -> pyarrow.Table:
    import pyarrow

    return pyarrow.ipc.open_stream(pyarrow.py_buffer(stream)).read_all()


def _spread(request: Spread, parent: int, spill: Path, replies: int) -> None:
    """Write the buckets of a database; tell of each file what it is."""
    with closing(connect()) as connection:
        attach(connection, request.database, read_only=True)
        threads = processors()
        limit_memory(request.memory_bytes, threads)
        import_last(_MODULES)
        confined = limit_files([], [spill, request.folder])
        die_with_parent(parent, _REQUESTS, spill)
        limit(connection, request.memory_bytes, spill if confined else None, threads)
        lock_to_folder(connection, request.folder)
        for told in write_buckets(connection, request):
            send(replies, PROGRESS + json.dumps(told).encode())
    send(replies, END)


if __name__ == "__main__":
    main()
