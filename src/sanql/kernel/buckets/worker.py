"""The process that has buckets open: started with its parent's process id and a spill directory.

It is confined as a worker over a database is (`kernel/worker.py`): memory, files, life. Of files it
reaches those of the layout, to read, and its spill directory. Whatever goes wrong, the reply is one byte.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from sanql.kernel.affinity import processors
from sanql.kernel.buckets.carried import receive_rows
from sanql.kernel.buckets.encrypted_copy import EncryptedCopy
from sanql.kernel.buckets.encryption import LayoutKey
from sanql.kernel.buckets.frames import REQUESTS, arriving_numbered, numbered_frame, read_stream
from sanql.kernel.buckets.layout import BucketFile, CheckedFiles, files_of
from sanql.kernel.buckets.messages import (
    AddParts,
    BucketRequest,
    BucketTask,
    ComputePart,
    FinishPublic,
    Given,
    MergeParts,
    OpenBuckets,
    Spread,
    WriteEncrypted,
)
from sanql.kernel.buckets.parts import merged_rows, part_rows, public_rows, several_rows
from sanql.kernel.buckets.sharing import FindUnits, ShareOut, ShareOutKeys, SharingTask, WriteShares
from sanql.kernel.buckets.sharing_worker import serve_share
from sanql.kernel.buckets.writing import write_buckets
from sanql.kernel.channel import FRAME_BYTES_MAX, receive, send
from sanql.kernel.confine import die_with_parent, limit_files, limit_memory
from sanql.kernel.lockdown import (
    CATALOG,
    allow_only,
    attach,
    connect,
    limit,
    literal,
    lock_to_folder,
    question_cursor,
    quote_name,
)
from sanql.kernel.messages import END, PROGRESS, READY, TABLE, Statement
from sanql.kernel.run import result
from sanql.kernel.worker import frame, import_last, serve_one

if TYPE_CHECKING:
    import duckdb

_MODULES = ("datetime", "decimal", "pyarrow", "pyarrow.parquet", "uuid")
_FOR_ENCRYPTED = ("pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet.encryption")


def main() -> None:
    """Serve requests over a layout, or write one, then end."""
    serve_one(_serve_request)


def _serve_request(
    request: BucketTask | SharingTask, parent: int, spill: Path, replies: int
) -> None:
    match request:
        case OpenBuckets():
            _serve(request, parent, spill, replies)
        case Spread():
            _spread(request, parent, spill, replies)
        case WriteEncrypted():
            _write_encrypted(request, parent, spill, replies)
        case ShareOut() | ShareOutKeys() | FindUnits() | WriteShares():
            serve_share(request, parent, spill, replies)
        case _:
            assert_never(request)


def _serve(request: OpenBuckets, parent: int, spill: Path, replies: int) -> None:
    opened = _Opened(request, _connection(request, parent, spill))
    send(replies, READY)
    while True:
        asked: BucketRequest = pickle.loads(receive(REQUESTS, FRAME_BYTES_MAX))  # noqa: S301  (ours)
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
    die_with_parent(parent, REQUESTS, spill)
    spills = confined and request.key is None
    limit(connection, request.memory_bytes, spill if spills else None, request.threads)
    lock_to_folder(connection, request.folder)
    return connection


class _Opened:
    """The buckets of a layout, of which one at a time is in sight."""

    def __init__(self, request: OpenBuckets, connection: duckdb.DuckDBPyConnection) -> None:
        self._folder, self._layout, self._key = request.folder, request.layout, request.key
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
                case AddParts(statement):
                    found = several_rows(cursor, statement, arriving_numbered())
                    yield from map(numbered_frame, found)
                case MergeParts(statement, given):
                    names = _receive(cursor, given)
                    yield from map(
                        frame, merged_rows(cursor, statement, names, arriving_numbered())
                    )
                case Statement() if asked.partial is not None:
                    yield from map(frame, result(cursor, asked, self._turn))
                    bucket = asked.parts - 1
                case Statement():
                    yield from map(frame, result(cursor, asked))
                case _:
                    assert_never(asked)
        self._check(bucket)

    def _turn(self, bucket: int) -> None:
        """Turn from the bucket before, which is what it was, to another."""
        if bucket:
            self._check(bucket - 1)
        self._see(bucket)

    def _see(self, bucket: int | None) -> None:
        """Show the tables of a bucket, all of them checked; without one, those that are public."""
        self._check(bucket)
        for table in self._layout.tables:
            shown = quote_name(CATALOG), quote_name(table.name)
            if table.public or bucket is not None:
                if self._key is not None:
                    self._unlock(self._key, table.files(bucket or 0))
                encrypted = self._key is not None
                view = table.view(self._folder, bucket or 0, encrypted=encrypted)
                self._connection.execute(view)
            else:
                self._connection.execute(f"DROP VIEW IF EXISTS {shown[0]}.main.{shown[1]}")

    def _unlock(self, key: LayoutKey, files: tuple[BucketFile, ...]) -> None:
        """Let the engine know the keys of files, which have their names."""
        for file in files:
            named = literal(file.path), literal(key.of(file.path))
            self._connection.execute(f"PRAGMA add_parquet_key({named[0]}, {named[1]})")

    def _check(self, bucket: int | None) -> None:
        layout = self._layout if bucket is not None else self._layout.public_only()
        for file in files_of(layout, bucket or 0):
            self._files.check(file)


def _receive(cursor: duckdb.DuckDBPyConnection, given: tuple[Given, ...]) -> list[str]:
    """Make tables of what was computed elsewhere; return their names."""
    names = [f"given_{table.name}" for table in given]
    for name, table in zip(names, given, strict=True):
        receive_rows(cursor, name, map(read_stream, table.frames))
    return names


def _spread(request: Spread, parent: int, spill: Path, replies: int) -> None:
    """Write the buckets of a database; tell of each file what it is."""
    with closing(connect()) as connection:
        attach(connection, request.database, read_only=True)
        threads = processors()
        limit_memory(request.memory_bytes, threads)
        import_last(_MODULES)
        confined = limit_files([], [spill, request.folder])
        die_with_parent(parent, REQUESTS, spill)
        limit(connection, request.memory_bytes, spill if confined else None, threads)
        lock_to_folder(connection, request.folder)
        for told in write_buckets(connection, request):
            send(replies, PROGRESS + json.dumps(told).encode())
    send(replies, END)


def _write_encrypted(request: WriteEncrypted, parent: int, spill: Path, replies: int) -> None:
    """Write the encrypted buckets of some files; tell of each file what it is."""
    sources = [path for files in request.files for path in files.paths]
    with closing(connect()) as connection:
        connection.execute(f"ATTACH ':memory:' AS {quote_name(CATALOG)}")
        threads = processors()
        limit_memory(request.memory_bytes, threads)
        import_last((*_MODULES, *_FOR_ENCRYPTED))
        limit_files(sources, [spill, request.folder])
        die_with_parent(parent, REQUESTS, spill)
        limit(connection, request.memory_bytes, None, threads)
        allow_only(connection, sources)
        for told in EncryptedCopy(connection, request).told():
            send(replies, PROGRESS + json.dumps(told).encode())
    send(replies, END)


if __name__ == "__main__":
    main()
