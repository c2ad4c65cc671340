"""Tables in a lake whose files say by themselves what the rows of a version are: those need no copy.

A snapshot then names the files, in a folder of links, and whatever reads files reads them where they are,
executors of a cluster among it. The files of a lake are written once and never changed, so that naming
them pins the version. Where a reader has to do more than to read them (rows that were deleted, columns
under other names or of other types, values that stand in the log), it does, and the rows are copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class FilesInPlace:
    """The Parquet files of a version of a table, all of whose rows are the table's."""

    paths: tuple[Path, ...]


def files_in_place(
    sizes: Sequence[tuple[Path, int]],
    wanted: pyarrow.Schema,
    ids: Mapping[str, int] | None = None,
) -> FilesInPlace | None:
    """Return files whose sizes a table's log notes; None where they have not just the wanted columns.

    Every file must have each of them under its name and with its type, and its identity in `ids`.
    """
    paths = tuple(sorted(path for path, _ in sizes))
    if not paths or len(set(paths)) < len(paths):
        return None  # one without rows, or one that has a file's rows twice
    try:
        known = all(path.stat().st_size == size and _has(path, wanted, ids) for path, size in sizes)
    except (OSError, ValueError):  # the reader of the table says what is wrong with it
        return None
    return FilesInPlace(paths) if known else None


def _has(path: Path, wanted: pyarrow.Schema, ids: Mapping[str, int] | None) -> bool:
    from pyarrow import parquet

    stored = parquet.read_schema(path)
    if len({name.lower() for name in stored.names}) < len(stored.names):
        return False
    for field in wanted:
        if field.name not in stored.names:
            return False
        there = stored.field(field.name)
        if _plain(there.type) != _plain(field.type):
            return False
        if ids is not None and (there.metadata or {}).get(_FIELD_ID) != b"%d" % ids[field.name]:
            return False
    return True


def _plain(kind: pyarrow.DataType) -> pyarrow.DataType:
    """Return a type, the same for all ways in which text is held."""
    import pyarrow
    from pyarrow import types

    held = types.is_large_string(kind) or types.is_string_view(kind)
    return pyarrow.string() if held else kind
