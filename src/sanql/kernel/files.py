"""What tells that files have changed, and which files a database consists of."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sanql.kernel.messages import FileIdentity, Stamp


class ChangedMeanwhile(Exception):
    """A file is no longer the one that was stamped."""


def stamp(paths: Iterable[Path]) -> Stamp:
    """Return path, device, inode, size and times of every file: what changes when bytes do."""
    return tuple((str(path), identify(path)) for path in paths)


def check_as_stamped(paths: Iterable[Path], stamped: Stamp) -> None:
    """Raise ChangedMeanwhile unless every file is among those that were stamped, and what it was then."""
    known = dict(stamped)
    for path in paths:
        if known.get(str(path)) != identify(path):
            raise ChangedMeanwhile


def check_database_as_stamped(database: Path, stamped: Stamp) -> None:
    """Raise ChangedMeanwhile unless a database is all of the files that were stamped, as they were."""
    if stamp(database_files(database)) != stamped:
        raise ChangedMeanwhile


def is_open_as_stamped(database: Path, stamped: Stamp) -> bool:
    """Return whether this process has a database open, which is all of the files that were stamped.

    It is asked before files are out of reach. A path alone does not tell: a folder may have had another
    of its name for the moment in which the database was opened.
    """
    held = set()
    for handle in os.listdir("/dev/fd"):  # noqa: PTH208  (numbers, and the one of the folder itself)
        with suppress(OSError):
            status = os.fstat(int(handle))
            held.add((status.st_dev, status.st_ino))
    same = stamp(database_files(database)) == stamped
    return same and all(file[:2] in held for _, file in stamped[:1])


def database_files(database: Path) -> tuple[Path, ...]:
    """Return every file whose bytes a DuckDB database consists of, a write-ahead log included."""
    log = database.with_name(database.name + ".wal")
    return (database, log) if log.exists() else (database,)


def identify(path: Path | str) -> FileIdentity:
    """Return what changes when a file is replaced or rewritten.

    The last number is the time of the last change of any kind, which no program can set back.
    """
    status = os.stat(path)  # noqa: PTH116  (it is asked often, and a Path would have to be made)
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times
