"""The folder of a layout: which of its files are in force, and whether they are of these data.

What each file of the source gives to a table is a segment, and has a file for each
bucket, in a folder named by all that shapes it: what has not changed is not written again, whether the
data are another version or a `prepare` was ended. A layout is in force once the manifest speaks of its
files, which is written last. One that is replaced stays until the one after it is, for the sake of
questions that are under way.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.catalog import PreparedSource, bind, layout
from sanql.engines.preparation import entry_name, schema_of
from sanql.errors import Fault, PolicyError
from sanql.kernel import stamp
from sanql.kernel.buckets import (
    FORMAT,
    MANIFEST,
    BucketFile,
    BucketLayout,
    NotAsWritten,
    read_layout,
)

if TYPE_CHECKING:
    from sanql.catalog import Description
    from sanql.engines.protocol import Engine
    from sanql.policy import Policy
    from sanql.sources import Source, Stamped

JOURNAL = "written.jsonl"
PLACE = "engine.layout"
_SEGMENT = "segment-"
_SEGMENTS_MAX = 16  # of a table: each has a file in every bucket
_BUCKETS_MAX = 1 << 16
_BUCKETS_LEAST = 8
_BYTES_OF_A_BUCKET = 16 << 20  # of a copy, which is compressed


def open_layout(
    policy: Policy,
    source: Source,
    stamped: Stamped,
    known: Description | None = None,
    engine: Engine | None = None,
) -> PreparedSource:
    """Return the layout of these data, ready to open; PolicyError where there is none, or another's."""
    folder = layout_folder(policy)
    manifest = folder / MANIFEST
    try:
        before = stamp([manifest])
        found = read_layout(folder)
    except (OSError, NotAsWritten):
        raise layout_fault(
            f"there is no layout in {folder.name!r}, or its manifest is damaged"
        ) from None
    made_of = entry_name(policy, stamped.hashes)
    if found.made_of != made_of:
        raise layout_fault(f"the layout in {folder.name!r} is of other data, or of another policy")
    formats = source.formats(policy)
    bound = bind(policy, formats, schema_of(policy, source, stamped, known, engine))
    read = layout(bound, copied=True, attached=found.attached)
    read = replace(read, parts=found.buckets, buckets={}, row_counts={}, summaries={}, spread=True)
    return PreparedSource(**vars(read), database=manifest, fingerprint=made_of, stamp=before)


def layout_folder(policy: Policy) -> Path:
    """Return the folder of the layout that a policy names."""
    assert policy.engine.spark is not None  # noqa: S101  (asked where there is a cluster)
    return (policy.path.parent / policy.engine.spark.layout).absolute()


def buckets_for(size: int) -> int:
    """Return over how many buckets data of so many bytes are spread, where nobody says."""
    return min(max(_BUCKETS_LEAST, size // _BYTES_OF_A_BUCKET), _BUCKETS_MAX)


def groups_of(names: Sequence[str]) -> list[tuple[list[int], list[str]]]:
    """Return the segments of a table, by their numbers and names; of many files, several are one.

    Which those are hangs on their names alone, so that few change with a file.
    """
    groups: dict[str, tuple[list[int], list[str]]] = {}
    for number, name in enumerate(names):
        group = name
        if len(names) > _SEGMENTS_MAX:
            group = str(int(segment_folder([name])[-8:], 16) % _SEGMENTS_MAX)
        numbers, listed = groups.setdefault(group, ([], []))
        numbers.append(number)
        listed.append(name)
    return list(groups.values())


def segment_folder(content: list[object]) -> str:
    """Return the name of the folder of a segment: what its rows are of, and all that shapes its files."""
    return f"{_SEGMENT}{hashlib.sha256(json.dumps([FORMAT, content]).encode()).hexdigest()[:32]}"


def current_layout(folder: Path) -> BucketLayout | None:
    """Return the layout in a folder, if there is one."""
    try:
        return read_layout(folder)
    except (OSError, NotAsWritten):
        return None


def files_of_layout(layout: BucketLayout | None) -> Iterator[BucketFile]:
    """Yield the files of a layout, if it is there."""
    for table in layout.tables if layout is not None else ():
        yield from (file for files in table.buckets for file in files)


def _folders(layout: BucketLayout) -> set[str]:
    return {file.path.partition("/")[0] for file in files_of_layout(layout)}


def publish(folder: Path, made: BucketLayout) -> None:
    """Put the manifest of a layout into its folder: from now on it is in force."""
    note = folder / f"{MANIFEST}.making"
    note.unlink(missing_ok=True)
    handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(made.to_json())
        file.flush()
        os.fsync(file.fileno())
    for written in _folders(made):
        _sync(folder / written)
    note.rename(folder / MANIFEST)
    _sync(folder)


def clear(folder: Path, *kept: BucketLayout | None) -> None:
    """Remove what is of none of these layouts; what was written of others is known no more."""
    paths = {file.path for layout in kept for file in files_of_layout(layout)}
    folders = {path.partition("/")[0] for path in paths}
    for left in [*folder.glob(f"{_SEGMENT}*"), *folder.glob("layout-*")]:  # of earlier formats
        if left.name not in folders:
            shutil.rmtree(left, ignore_errors=True)
            continue
        for file in left.iterdir():
            if f"{left.name}/{file.name}" not in paths:
                file.unlink(missing_ok=True)
    (folder / JOURNAL).unlink(missing_ok=True)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; what the disk or its rights do not allow is a PolicyError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        with os.fdopen(os.open(folder / "lock", flags, 0o600), "rb") as held:
            fcntl.flock(held.fileno(), fcntl.LOCK_EX)
            yield
    except OSError:
        raise layout_fault(f"the folder {folder.name!r} cannot be written to") from None


def layout_fault(message: str) -> PolicyError:
    """Return the error of a layout that is not there, or cannot be."""
    return PolicyError([Fault(PLACE, message, "run `sanql prepare`, which writes the layout")])


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
