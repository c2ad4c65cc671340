"""The folder of a snapshot: a Parquet file for each table, open to its owner only.

A table whose files are read where they are has a folder of links to them instead.

Whatever is read of it goes the way of all files: stamps, versions, claims and copies are theirs. A table
whose rows are the same as before keeps its file. While files are exchanged a mark lies in the folder, so
that tables of two moments are never read together: whoever finds it must take the snapshot anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.errors import Fault, PolicyError
from sanql.sources.snapshots.in_place import FilesInPlace
from sanql.sources.snapshots.manifest import MANIFEST, Manifest
from sanql.sources.snapshots.wanted import REFRESH

if TYPE_CHECKING:
    import pyarrow

_EXCHANGING = ".exchanging"
_LOCK = ".lock"
_NEW = ".new"
_ROWS_A_GROUP = 122_880  # as the engine has them

OpenRows = Callable[[], "pyarrow.RecordBatchReader"]
"""What begins to read a table; PolicyError where that is not possible."""


def keep_snapshot(
    folder: Path,
    tables: Mapping[str, OpenRows | FilesInPlace],
    failed: Callable[[str], Fault],
    manifest: Manifest | None = None,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Put tables into a folder, all of them or none; PolicyError where one cannot be read or kept.

    `failed` says what is wrong with a table whose rows end in an error. When all has been read, `check`
    may still refuse it.
    """
    try:
        with _locked(folder):
            drafts = {name: folder / f"{_NEW}.{number}" for number, name in enumerate(tables)}
            try:
                for name, draft in drafts.items():
                    given = tables[name]
                    if isinstance(given, FilesInPlace):
                        _link(draft, given.paths)
                    else:
                        _write(draft, given, partial(failed, name))
                check()
                _exchange(folder, drafts, manifest)
            finally:
                for draft in folder.glob(f"{_NEW}.*"):  # also what one that was killed has left
                    _remove(draft)
    except OSError as fault:
        raise _unwritable(folder, fault) from None


def make_folder(folder: Path) -> None:
    """Make the folder of a snapshot, open to its owner only; PolicyError where that is not allowed."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as fault:
        raise _unwritable(folder, fault) from None


def check_complete(folder: Path) -> None:
    """Raise PolicyError where files were exchanged, and not all of them, or one that is named is gone."""
    if (folder / _EXCHANGING).exists():
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    f"the snapshot in {folder.name}/ is not complete: taking it was interrupted",
                    "take it anew: pass the tables again, or say `sanql refresh`",
                )
            ]
        )
    gone = [link for link in sorted(folder.glob("*/*")) if link.is_symlink() and not link.exists()]
    if gone:
        raise PolicyError(
            [
                Fault(
                    f"table.{gone[0].parent.name}",
                    "a file of the version of it that the snapshot names is gone, or out of reach",
                    f"{REFRESH}, and keep files of a version for as long as it is asked",
                )
            ]
        )


def _unwritable(folder: Path, fault: OSError) -> PolicyError:
    return PolicyError(
        [
            Fault(
                "dataset.source",
                f"the folder {folder.name}/ beside the ledger cannot be written to"
                f" ({fault.strerror})",
                "see to its rights and the room on the disk",
            )
        ]
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    with os.fdopen(os.open(folder / _LOCK, flags, 0o600), "rb") as held:
        fcntl.flock(held.fileno(), fcntl.LOCK_EX)
        yield


def _write(draft: Path, begin: OpenRows, failed: Callable[[], Fault]) -> None:
    """Write a table's rows as they come, and see that they are on disk."""
    from pyarrow import ArrowException, parquet

    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file, _begun(begin, failed) as rows:
            plain = rows.schema.remove_metadata()  # what a library notes there is no data
            with parquet.ParquetWriter(
                file, plain, compression="zstd", store_schema=False
            ) as writer:
                for group in _row_groups(_read(rows, failed), plain):
                    writer.write_table(group)
            file.flush()
            os.fsync(file.fileno())
    except (ArrowException, ValueError, TypeError):  # their words quote values
        raise PolicyError([failed()]) from None


def _link(draft: Path, paths: tuple[Path, ...]) -> None:
    """Write a folder of links to files, in their order."""
    draft.mkdir(mode=0o700)
    for number, path in enumerate(paths):
        (draft / f"{number:06d}.parquet").symlink_to(path)
    _sync(draft)


def _links(folder: Path) -> list[Path]:
    return sorted(link for link in folder.iterdir() if link.is_symlink())


def _replace_links(draft: Path, place: Path) -> None:
    """Put links in the place of others; what an account has left beside those stays."""
    for link in _links(place):
        link.unlink()
    for link in _links(draft):
        link.rename(place / link.name)
    _sync(place)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _begun(begin: OpenRows, failed: Callable[[], Fault]) -> pyarrow.RecordBatchReader:
    """Begin to read a table; what the system says of its files is not said of ours."""
    try:
        return begin()
    except OSError:
        raise PolicyError([failed()]) from None


def _read(
    rows: pyarrow.RecordBatchReader, failed: Callable[[], Fault]
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a table, for which the same holds."""
    try:
        yield from rows
    except OSError:
        raise PolicyError([failed()]) from None


def _row_groups(
    rows: Iterator[pyarrow.RecordBatch], schema: pyarrow.Schema
) -> Iterator[pyarrow.Table]:
    """Yield the rows in groups of one size, however they come: the same rows are the same bytes."""
    import pyarrow

    held: list[pyarrow.RecordBatch] = []
    for batch in rows:
        held.append(batch.replace_schema_metadata(None))
        while sum(map(len, held)) >= _ROWS_A_GROUP:
            whole = pyarrow.Table.from_batches(held, schema)
            yield whole.slice(0, _ROWS_A_GROUP)
            held = whole.slice(_ROWS_A_GROUP).to_batches()
    if held:
        yield pyarrow.Table.from_batches(held, schema)


def _exchange(folder: Path, drafts: Mapping[str, Path], manifest: Manifest | None) -> None:
    """Put files that differ from those before in their place, and take away those of no table."""
    places = {
        draft: folder / (name if draft.is_dir() else f"{name}.parquet")
        for name, draft in drafts.items()
    }
    there = [path for path in folder.iterdir() if not path.name.startswith(".")]
    former = [path for path in there if path not in places.values()]
    changed = [
        (draft, place) for draft, place in places.items() if _content(draft) != _content(place)
    ]
    if manifest is None:
        former += [folder / MANIFEST] if (folder / MANIFEST).exists() else []
    elif (noted := _note(folder, manifest)) is not None:
        changed.append((noted, folder / MANIFEST))  # the last: with it the snapshot is complete
    mark = folder / _EXCHANGING
    if not former and not changed and not mark.exists():
        return
    mark.touch(mode=0o600)
    _sync(folder)
    for path in former:
        _remove(path)
    for draft, place in changed:
        if place.is_dir():
            _replace_links(draft, place)
        else:
            draft.replace(place)
    _sync(folder)
    mark.unlink()
    _sync(folder)


def _note(folder: Path, manifest: Manifest) -> Path | None:
    """Write down what a snapshot is of, in a draft; None where that is noted already."""
    draft = folder / f"{_NEW}.manifest"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(manifest.text())
        file.flush()
        os.fsync(file.fileno())
    return draft if _digest(draft) != _digest(folder / MANIFEST) else None


def _content(path: Path) -> bytes | list[tuple[str, str]] | None:
    """Return what tells a table from another: a hash of its file, or the files that it names."""
    if path.is_dir():
        return [(link.name, str(link.readlink())) for link in _links(path)]
    return _digest(path)


def _digest(path: Path) -> bytes | None:
    with suppress(FileNotFoundError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
    return None


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
