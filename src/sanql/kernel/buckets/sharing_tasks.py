"""What runs on the machines of a cluster while they write a layout: functions from batches to batches.

As in `tasks.py`, they are handed out as they are, a failure has one name, and what they give away is
opaque but for where it goes. Each rests on its inputs alone, so that one that is run again gives rows to
the same places.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.buckets.frames import split_frame
from sanql.kernel.buckets.sharing import (
    FindUnits,
    ShareOut,
    ShareOutKeys,
    SharingTask,
    WriteShares,
)
from sanql.kernel.buckets.sharing_process import SharingProcess
from sanql.kernel.buckets.tasks import OtherVersion, TaskFailed
from sanql.kernel.buckets.versions import Versions, own_versions
from sanql.kernel.buckets.writing import is_as_known
from sanql.kernel.channel import ChannelLost

if TYPE_CHECKING:
    import pyarrow

PLACED = "place INT, kind INT, frame BINARY"
"""The columns of rows on their way: the place, what they are, and the rows, opaque."""
MARK, KEYS, ROWS = range(3)
"""What is on its way: nothing but the place itself, keys with their units, or rows of a table."""

Row = tuple[int, int, bytes]
_BATCH_BYTES, _BATCH_ROWS = 1 << 20, 1 << 8


@dataclass(frozen=True)
class Chores:
    """What is to be done, by number, and which kernel does it."""

    tasks: tuple[SharingTask, ...]
    versions: Versions

    def __repr__(self) -> str:
        """Return nothing of the data: schedulers write down what they are given."""
        return "Chores()"

    def packed(self) -> bytes:
        """Return it as bytes, which tasks are given."""
        return pickle.dumps(self)


@dataclass(frozen=True, repr=False)
class ShareOutTask:
    """Gives away the rows of some files, or keys of buckets, by the numbers of chores."""

    chores: bytes

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield rows with their places."""
        chores = _unpacked(self.chores)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(_given_away(chores[number]))


@dataclass(frozen=True, repr=False)
class FindUnitsTask:
    """Gives rows that came with keys away to the buckets of their units, or looks at the keys alone."""

    chores: bytes

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield rows with their places; of keys alone, what is told of them."""
        (request,) = _unpacked(self.chores)
        assert isinstance(request, FindUnits)  # noqa: S101  (it is made so)
        for _, rows in groupby(_rows(batches), itemgetter(0)):
            yield from _batches(_found(request, rows))


@dataclass(frozen=True, repr=False)
class WriteTask:
    """Writes the buckets whose rows have come, one after another; tells what their files are."""

    chores: bytes

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield a frame for each file."""
        (request,) = _unpacked(self.chores)
        assert isinstance(request, WriteShares)  # noqa: S101  (it is made so)
        with _process(request) as process:
            for bucket, rows in groupby(_rows(batches), itemgetter(0)):
                if request.missing.get(bucket):
                    frames = (frame for _, kind, frame in rows if kind != MARK)
                    yield from map(_told, process.write(bucket, frames))


@dataclass(frozen=True, repr=False)
class LookTask:
    """Tells which files, of those with these numbers, are there with all their bytes."""

    folder: str
    files: tuple[tuple[str, str], ...]

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield a frame for each such file: its path, size and hash."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                path, sha256 = self.files[number]
                file = Path(self.folder) / path
                size = file.stat().st_size if file.is_file() else -1
                if is_as_known(file, size, sha256):
                    yield _told(json.dumps([path, size, sha256]).encode())


def _unpacked(packed: bytes) -> tuple[SharingTask, ...]:
    chores: Chores = pickle.loads(packed)  # noqa: S301  (San's own)
    if own_versions() != chores.versions:
        raise OtherVersion
    return chores.tasks


def _given_away(request: SharingTask) -> Iterator[Row]:
    assert isinstance(request, ShareOut | ShareOutKeys)  # noqa: S101  (they are made so)
    kind = ROWS if isinstance(request, ShareOut) else KEYS
    with _process(request) as process:
        for numbered in process.given_away():
            place, frame = split_frame(numbered)
            yield place, kind, frame


def _found(request: FindUnits, arrived: Iterator[Row]) -> Iterator[Row]:
    """Yield rows with the buckets of their units; keys come first."""
    parts = groupby(arrived, itemgetter(1))
    kind, first = next(parts)
    keys = (frame for _, _, frame in first) if kind == KEYS else iter(())
    with _process(request) as process:
        if request.keys_only:
            yield 0, KEYS, process.has_several(keys)
            return
        rest = first if kind == ROWS else (row for _, rows in parts for row in rows)
        for numbered in process.with_units(keys, (frame for _, _, frame in rest)):
            place, frame = split_frame(numbered)
            yield place, ROWS, frame


@contextmanager
def _process(request: SharingTask) -> Iterator[SharingProcess]:
    """Give a process of one task, which is gone afterwards; why one failed is told to nobody."""
    failed, process = False, None
    try:
        process = SharingProcess(request)
        yield process
    except (ChannelLost, OSError):
        failed = True
    finally:
        if process is not None:
            process.discard()
    if failed:
        raise TaskFailed from None


def _rows(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        places, kinds = batch.column(0).to_pylist(), batch.column(1).to_pylist()
        for number, (place, kind) in enumerate(zip(places, kinds, strict=True)):
            yield place, kind, bytes(batch.column(2)[number].as_py())


def _batches(rows: Iterable[Row]) -> Iterator[pyarrow.RecordBatch]:
    waiting: list[Row] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row[2])
        if size >= _BATCH_BYTES or len(waiting) >= _BATCH_ROWS:
            yield _batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting)


def _batch(rows: list[Row]) -> pyarrow.RecordBatch:
    import pyarrow

    places, kinds, frames = zip(*rows, strict=True)
    return pyarrow.RecordBatch.from_pydict(
        {
            "place": pyarrow.array(places, pyarrow.int32()),
            "kind": pyarrow.array(kinds, pyarrow.int32()),
            "frame": pyarrow.array(frames, pyarrow.binary()),
        }
    )


def _told(frame: bytes) -> pyarrow.RecordBatch:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict({"frame": pyarrow.array([frame], pyarrow.binary())})
