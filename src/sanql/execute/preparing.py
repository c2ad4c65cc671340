"""What workers are asked before there are questions: names and types in a source, and copies of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.errors import Fault, PolicyError
from sanql.execute.binding import BoundTable
from sanql.execute.channel import ChannelLost
from sanql.execute.files import DatabaseFile, Location, PartFiles, check_readable
from sanql.execute.long_texts import are_long
from sanql.execute.messages import (
    JSON,
    READY,
    CopiedTable,
    CopyDatabase,
    Filling,
    Ingest,
    InspectDatabase,
    InspectParts,
    Request,
    StoredTable,
)
from sanql.execute.pool import not_ready
from sanql.execute.process import WorkerProcess

if TYPE_CHECKING:
    from sanql.policy.model import Policy

Progress = Callable[[str], None]

_INSPECT_SECONDS_MAX = 300.0
_REPLY_BYTES_MAX = 64 << 20


def inspect(policy: Policy, location: Location) -> dict[str, object]:
    """Return the names and types in a source, as a worker found them."""
    check_readable(location)
    memory_bytes = policy.engine.memory_bytes
    match location:
        case DatabaseFile(path):
            worker = _started(InspectDatabase(path, tuple(policy.tables), memory_bytes))
        case PartFiles(tables):
            worker = _started(InspectParts(tables, memory_bytes))
    try:
        kind, payload = worker.receive(_REPLY_BYTES_MAX, time.monotonic() + _INSPECT_SECONDS_MAX)
        found = json.loads(bytes(payload)) if kind == JSON else None
    except ChannelLost:
        found = None
    finally:
        worker.discard()
    if not isinstance(found, dict):
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    f"{policy.source!r} cannot be opened",
                    "check that it is whole, readable and not being written by another program",
                )
            ]
        )
    return found


def is_copied(
    location: Location, bound: Mapping[str, BoundTable], schema: Mapping[str, object]
) -> bool:
    """Return whether questions run on a copy: of files always, of a database where texts are long."""
    if isinstance(location, PartFiles):
        return True
    texts = schema["texts"]
    if not isinstance(texts, dict):
        raise TypeError
    return any(are_long(table, texts[table.name]) for table in bound.values())


def fill(
    policy: Policy,
    location: Location,
    bound: Mapping[str, BoundTable],
    target: Path,
    progress: Progress | None,
) -> None:
    """Copy what is read of a source into a new database; PolicyError where that is not possible."""
    memory_bytes = policy.engine.memory_bytes
    match location:
        case DatabaseFile(path):
            copied = tuple(CopiedTable(t.name, *_stored(t)) for t in bound.values())
            request: Request = CopyDatabase(path, target, copied, memory_bytes)
            total = len(copied)
        case PartFiles(tables):
            stored = tuple(StoredTable(parts, *_stored(bound[parts.table])) for parts in tables)
            request = Ingest(target, stored, memory_bytes)
            total = sum(len(parts.paths) for parts in tables)
    table = _await_copy(_started(request), next(iter(bound)), total, progress)
    if table is not None:
        raise PolicyError([_unread(table, location)])


def _await_copy(
    worker: WorkerProcess, table: str, total: int, progress: Progress | None
) -> str | None:
    """Return None once all is copied, or the table that was being copied when the worker failed."""
    done = 0
    try:
        while True:
            kind, payload = worker.receive(_REPLY_BYTES_MAX, None)
            if kind == READY:
                return None
            table, done = str(json.loads(bytes(payload))), done + 1
            if progress is not None:
                progress(f"preparing {table}: {done} of {total}")
    except ChannelLost:
        return table
    finally:
        worker.discard()


def _unread(table: str, location: Location) -> Fault:
    if isinstance(location, DatabaseFile):
        message = "its long texts could not be copied; the memory must hold 2,048 rows of them"
        remedy = "raise [engine] memory, or store the table as Parquet; see that the disk has room"
    else:
        message = "its files could not be read to the end"
        remedy = "check that they are whole, that the disk has room, and the engine's memory limit"
    return Fault(f"table.{table}", message, remedy)


def _started(request: Request) -> WorkerProcess:
    """Return a worker process; Unavailable where the machine does not let one begin."""
    try:
        return WorkerProcess(request)
    except OSError:
        raise not_ready() from None


def _stored(table: BoundTable) -> tuple[Mapping[str, str], tuple[Filling, ...]]:
    """Return what to store; a table of which only rows are counted still needs a column."""
    if table.types:
        return dict(table.types), table.fillings
    return {"row": "BOOLEAN"}, tuple(
        Filling(part.columns, ("true",), {}) for part in table.fillings
    )
