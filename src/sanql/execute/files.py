"""Where a policy's tables are on disk, and a stamp that changes when those files may have."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.errors import Fault, PolicyError
from sanql.execute.messages import Format, Identity, Parts, Stamp

if TYPE_CHECKING:
    from sanql.policy.model import Policy, Table

_FORMATS: dict[str, Format] = {".parquet": "parquet", ".csv": "csv"}
_LAYOUT = "put NAME.parquet, NAME.csv or a folder NAME/ of such parts into the source folder"


@dataclass(frozen=True)
class DatabaseFile:
    """A `.duckdb` file, used where it is."""

    path: Path


@dataclass(frozen=True)
class PartFiles:
    """Parquet and CSV files, table by table."""

    tables: tuple[Parts, ...]


Location = DatabaseFile | PartFiles


def locate(policy: Policy) -> Location:
    """Return the files a policy's source stands for; raise PolicyError naming what is missing."""
    try:
        return _locate(policy)
    except OSError:
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    f"{policy.source!r} cannot be listed and read by this user",
                    "give whoever runs San the right to list its folders and to read its files",
                )
            ]
        ) from None


def _locate(policy: Policy) -> Location:
    root = (policy.path.parent / policy.source).resolve()
    if root.is_dir():
        return _locate_in_folder(policy, root)
    if not root.is_file():
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    f"there is no file or folder {policy.source!r}",
                    "name one that is there, as seen from the folder of the policy",
                )
            ]
        )
    if root.suffix.lower() == ".duckdb":
        return DatabaseFile(root)
    if root.suffix.lower() not in _FORMATS:
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    f"{policy.source!r} is no Parquet, CSV or DuckDB file",
                    "name a .parquet, .csv or .duckdb file, or a folder",
                )
            ]
        )
    if len(policy.tables) != 1:
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    f"{policy.source!r} is one file, the policy has {len(policy.tables)} tables",
                    "name a folder with a file for each table",
                )
            ]
        )
    (table,) = policy.tables.values()
    return PartFiles((_parts(policy, table, _FORMATS[root.suffix.lower()], [root]),))


def paths_of(location: Location) -> tuple[Path, ...]:
    """Return every file whose bytes the source consists of, a DuckDB write-ahead log included."""
    match location:
        case DatabaseFile(path):
            log = path.with_name(path.name + ".wal")
            return (path, log) if log.exists() else (path,)
        case PartFiles(tables):
            return tuple(path for parts in tables for path in parts.paths)


def check_readable(location: Location) -> None:
    """Raise PolicyError naming the first file that may not be read."""
    for path in paths_of(location):
        try:
            path.open("rb").close()
        except OSError as fault:
            raise unreadable(path.name, fault.strerror) from None


def unreadable(name: str, reason: str | None = None) -> PolicyError:
    """Return the error of a file that is there and cannot be read, and why; its name is the owner's."""
    why = f" ({reason})" if reason else ""
    remedy = (
        "give whoever runs San the right to read all files of it, and see that the disk is sound"
    )
    return PolicyError([Fault("dataset.source", f"{name} cannot be read{why}", remedy)])


def stamp(location: Location) -> Stamp:
    """Return path, device, inode, size and times of every file: what changes when bytes do."""
    return tuple((str(path), identify(path)) for path in paths_of(location))


def identify(path: Path) -> Identity:
    """Return what changes when a file is replaced or rewritten.

    The last number is the time of the last change of any kind, which no program can set back.
    """
    status = path.stat()
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


def nearest(name: str, existing: Iterable[str]) -> str:
    """Return a remedy that points at the most similar existing name.

    >>> nearest("peple", ["people", "visits"])
    'did you mean "people"?'
    """
    by_lower = {other.lower(): other for other in existing}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f'did you mean "{by_lower[close[0]]}"?' if close else ""


def _locate_in_folder(policy: Policy, root: Path) -> Location:
    entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith((".", "_")))
    faults: list[Fault] = []
    tables: list[Parts] = []
    for table in policy.tables.values():
        found = _find(policy, table, entries)
        if isinstance(found, Fault):
            faults.append(found)
        else:
            tables.append(found)
    if faults:
        raise PolicyError(faults)
    return PartFiles(tuple(tables))


def _find(policy: Policy, table: Table, entries: list[Path]) -> Parts | Fault:
    place = f"table.{table.name}"
    named = [entry for entry in entries if _table_name(entry).lower() == table.name.lower()]
    if not named:
        hint = nearest(table.name, [_table_name(entry) for entry in entries if _table_name(entry)])
        return Fault(place, "the source folder has no file or folder for it", hint or _LAYOUT)
    if len(named) > 1:
        names = ", ".join(entry.name for entry in named)
        return Fault(place, f"the source has several candidates: {names}", "keep one of them")
    (entry,) = named
    if entry.is_file():
        return _parts(policy, table, _FORMATS[entry.suffix.lower()], [entry])
    inside = [
        path
        for path in sorted(entry.iterdir())
        if not path.name.startswith((".", "_")) and path.suffix.lower() in _FORMATS
    ]
    formats = {_FORMATS[path.suffix.lower()] for path in inside}
    if len(formats) != 1 or not all(path.is_file() for path in inside):
        return Fault(place, f"the folder {entry.name}/ must hold parts of one format", _LAYOUT)
    return _parts(policy, table, formats.pop(), inside)


def _table_name(entry: Path) -> str:
    """Return the table an entry of the source folder would hold, or nothing."""
    if entry.is_dir():
        return entry.name
    return entry.stem if entry.suffix.lower() in _FORMATS and entry.is_file() else ""


def _parts(policy: Policy, table: Table, form: Format, paths: list[Path]) -> Parts:
    # types are found in rows, and a scratch account reads none: what is not declared is text to it
    infer = table.public and not table.columns and not policy.scratch
    return Parts(table.name, form, tuple(path.resolve() for path in paths), infer)
