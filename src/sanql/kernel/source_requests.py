"""Requests about a source before there are questions: its schema, and copies of it.

The connection that reads the source is confined first, by whoever runs this: a worker process by the
operating system and the engine, any other process by the engine alone. What reads sources is imported
where it is used: a worker that answers questions starts faster without.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.files import ChangedMeanwhile, is_open_as_stamped
from sanql.kernel.lockdown import CATALOG, allow_only, attach, connect, limit, settle
from sanql.kernel.messages import (
    Copy,
    CopyDatabase,
    CopyReport,
    Inspect,
    InspectDatabase,
    TableFiles,
)

if TYPE_CHECKING:
    import duckdb

_SECONDS_HELD_MAX = 5.0
_SECONDS_BETWEEN = 0.05


@dataclass(frozen=True)
class Needs:
    """The memory and the files that a request needs, besides the databases that are attached.

    The engine does not count long texts that it reads, and a thread keeps those it read last:
    `long_texts` leaves half of the memory to them, and lets one thread read.
    """

    memory_bytes: int
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    long_texts: bool = False


Confine = Callable[["duckdb.DuckDBPyConnection", Needs], None]


def inspect_source(request: Inspect, confine: Confine) -> dict[str, object]:
    """Return the names and types in a source."""
    from sanql.kernel.schema import database_schema, files_schema

    with closing(connect()) as connection:
        if isinstance(request, InspectDatabase):
            attach(connection, request.database, read_only=True)
            confine(connection, Needs(request.memory_bytes))
            return database_schema(connection, request.tables)
        confine(connection, Needs(request.memory_bytes, _paths(request.tables)))
        return files_schema(connection, request.tables)


def copy_source(request: Copy, confine: Confine) -> Generator[str, None, CopyReport]:
    """Copy what is read of a source into a database; yield a table's name as it begins.

    What another that was interrupted has done of it is done. At the end, return what was seen of it.
    """
    from sanql.kernel.clustering import BEFORE, STAGING, staging_file
    from sanql.kernel.copy_files import copy_files, report_copy
    from sanql.kernel.long_texts import copy_database
    from sanql.kernel.originals import ORIGINAL

    memory, writable = request.memory_bytes, (request.target.parent,)
    with closing(connect()) as connection:
        staging = staging_file(request.target)
        _attach_when_free(connection, request.target, CATALOG)
        _attach_when_free(connection, staging, STAGING)
        if request.before is not None:
            attach(connection, request.before.database, read_only=True, name=BEFORE)
        if isinstance(request, CopyDatabase):
            attach(connection, request.database, read_only=True, name=ORIGINAL)
            if not is_open_as_stamped(request.database, request.stamp):
                raise ChangedMeanwhile
            confine(connection, Needs(memory, writable=writable, long_texts=request.long_texts))
            summed = yield from copy_database(connection, request)
        else:
            confine(connection, Needs(memory, _paths(request.files), writable))
            summed = yield from copy_files(connection, request)
        connection.execute(f"DETACH {STAGING}")
        staging.unlink()
        return report_copy(connection, request.tables, summed)


def _attach_when_free(connection: duckdb.DuckDBPyConnection, database: Path, name: str) -> None:
    """Attach a database to go on with; a worker whose parent was killed may have it for a moment."""
    import duckdb

    until = time.monotonic() + _SECONDS_HELD_MAX
    while True:
        try:
            attach(connection, database, read_only=False, name=name)
            return
        except duckdb.IOException as fault:
            if "lock" not in str(fault) or time.monotonic() > until:
                raise
        time.sleep(_SECONDS_BETWEEN)


def confine_engine(
    connection: duckdb.DuckDBPyConnection, needs: Needs, spill: Path | None, threads: int
) -> None:
    """Let the engine use no more than is needed, and reach no other files."""
    memory_bytes = needs.memory_bytes
    if needs.long_texts:
        memory_bytes, threads = memory_bytes // 2, 1
    limit(connection, memory_bytes, spill, threads)
    settle(connection)  # rows are added up as a question would
    allow_only(connection, needs.readable)


def _paths(tables: tuple[TableFiles, ...]) -> tuple[Path, ...]:
    return tuple(path for files in tables for path in files.paths)
