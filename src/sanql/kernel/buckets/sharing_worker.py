"""The process that shares rows out to buckets, finds their units, or writes them: one task, then it ends.

It is confined to what the task names: the files of a source to read, those of a layout to read or to
write, and its spill directory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from sanql.kernel.buckets.frames import (
    REQUESTS,
    arriving_frames,
    numbered_frame,
    read_stream,
)
from sanql.kernel.buckets.shares import UnitsFound, Writing, keys_shared_out, shared_out
from sanql.kernel.buckets.sharing import (
    APART,
    FindUnits,
    ShareOut,
    ShareOutKeys,
    SharingTask,
    WriteShares,
)
from sanql.kernel.channel import receive, send
from sanql.kernel.confine import die_with_parent, limit_files, limit_memory
from sanql.kernel.lockdown import allow_only, connect, limit, lock, lock_to_folder, settle
from sanql.kernel.messages import END, PROGRESS, READY, TABLE
from sanql.kernel.worker import import_last

if TYPE_CHECKING:
    from sanql.kernel.buckets.carried import Placed

_MODULES = (
    "datetime", "decimal", "pyarrow", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet", "uuid",
)  # fmt: skip
_NUMBER_BYTES_MAX = 16


def serve_share(request: SharingTask, parent: int, spill: Path, replies: int) -> None:
    """Do what is asked; say of each row where it goes, and of each file what it is."""
    with closing(connect()) as connection:
        readable, writable = _reach(request)
        connection.execute("LOAD parquet")  # it is part of the engine; nothing is fetched
        limit_memory(request.memory_bytes, 1)
        import_last(_MODULES)
        confined = limit_files(readable, [spill, *writable])
        die_with_parent(parent, REQUESTS, spill)
        limit(connection, request.memory_bytes, spill if confined else None, 1)
        match request:
            case ShareOut():
                settle(connection)
                allow_only(connection, readable)
                _give_away(replies, shared_out(connection, request))
            case ShareOutKeys():
                lock_to_folder(connection, request.folder)
                _give_away(replies, keys_shared_out(connection, request))
            case FindUnits():
                lock(connection, files_confined=confined)
                _find(replies, UnitsFound(connection, request), request)
            case WriteShares():
                lock(connection, files_confined=confined)
                send(replies, READY)
                _write(replies, Writing(connection, request))
            case _:
                assert_never(request)


def _reach(request: SharingTask) -> tuple[list[Path], list[Path]]:
    """Return what a task reads, and where it writes."""
    match request:
        case ShareOut():
            return list(dict.fromkeys(part.path for part in request.parts)), []
        case ShareOutKeys():
            return [request.folder], []
        case FindUnits():
            return [], []
        case WriteShares():
            return [], [request.folder]
        case _:
            assert_never(request)


def _give_away(replies: int, rows: Iterable[Placed]) -> None:
    for placed in rows:
        send(replies, TABLE + numbered_frame(placed))
    send(replies, END)


def _find(replies: int, units: UnitsFound, request: FindUnits) -> None:
    """Take keys, then rows; a key that is there twice is told where that is asked, else fatal."""
    send(replies, READY)
    told = units.take_keys(map(read_stream, arriving_frames()))
    if request.keys_only:
        send(replies, PROGRESS + told)
        send(replies, END)
        return
    if told != APART:
        raise ValueError
    _give_away(replies, units.take_rows(map(read_stream, arriving_frames())))


def _write(replies: int, writing: Writing) -> None:
    """Write one bucket after another, until the parent has no more."""
    while True:
        bucket = int.from_bytes(receive(REQUESTS, _NUMBER_BYTES_MAX), "big")
        for told in writing.write(bucket, map(read_stream, arriving_frames())):
            send(replies, PROGRESS + json.dumps(told).encode())
        send(replies, END)
