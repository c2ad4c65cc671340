"""What runs on the machines of a cluster: functions from batches of Arrow to batches of Arrow.

They are handed to whatever schedules them as they are, and found there by name. Each keeps the process
over its layout from one task to the next. A failure has one name and says nothing: its text is written
into logs, and shown to whoever watches the cluster.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from sanql.kernel.buckets.messages import AddParts, ComputePart, Given, MergeParts, OpenBuckets
from sanql.kernel.buckets.process import BucketProcess
from sanql.kernel.buckets.versions import Versions, own_versions
from sanql.kernel.channel import ChannelLost
from sanql.kernel.messages import Statement

if TYPE_CHECKING:
    import pyarrow

FRAME = "frame BINARY"
"""The columns of what tasks give away: opaque, so that nobody on the way looks at a value."""
PARTS = f"bucket INT, {FRAME}"
"""The columns of parts: of which bucket they are, and what its units add."""


class TaskFailed(Exception):
    """A bucket could not be read, or what was asked of it not computed; why is told to nobody."""


class OtherVersion(Exception):
    """This machine has another version of the kernel, or of what it stands on."""


@dataclass(frozen=True)
class Assignment:
    """One statement, where its buckets are, and which kernel computes it, in how many seconds."""

    opened: OpenBuckets
    statement: Statement
    given: tuple[Given, ...]
    versions: Versions
    seconds_max: float

    def __repr__(self) -> str:
        """Return nothing of the question: schedulers write down what they are given."""
        return "Assignment()"

    def packed(self) -> bytes:
        """Return it as bytes, which tasks are given."""
        return pickle.dumps(self)


@dataclass(frozen=True, repr=False)
class PartTask:
    """Computes what the units of each of some buckets add, which are given by their numbers."""

    question: bytes

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield the frames of each bucket."""
        question = _unpacked(self.question)
        for batch in batches:
            for bucket in batch.column(0).to_pylist():
                part = ComputePart(question.statement, bucket, question.given)
                for frame in _asked(question, part, ()):
                    yield _batch(frame, bucket)


@dataclass(frozen=True, repr=False)
class AddTask:
    """Makes one part of the parts of several buckets, where nothing is counted greedily."""

    question: bytes

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield the frames of the one part."""
        question = _unpacked(self.question)
        yield from map(_batch, _asked(question, AddParts(question.statement), _frames(batches)))


@dataclass(frozen=True, repr=False)
class MergeTask:
    """Runs a statement over the parts of all buckets."""

    question: bytes

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield the frames of the result."""
        question = _unpacked(self.question)
        merge = MergeParts(question.statement, question.given)
        yield from map(_batch, _asked(question, merge, _frames(batches)))


class VersionTask:
    """Says which kernel there is on a machine; `sanql.kernel` need not be there in this version."""

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield a row of versions for each batch."""
        for _ in batches:
            yield _batch("\n".join(astuple(own_versions())).encode())


def _unpacked(packed: bytes) -> Assignment:
    question: Assignment = pickle.loads(packed)  # noqa: S301  (San's own)
    if own_versions() != question.versions:
        raise OtherVersion
    return question


def _asked(
    question: Assignment, request: ComputePart | AddParts | MergeParts, parts: Iterable[bytes]
) -> Iterator[bytes]:
    """Yield the frames of a reply; a process that failed is not asked again."""
    deadline = time.monotonic() + question.seconds_max
    failed = True
    process = _process_over(question.opened)
    try:
        yield from process.ask(request, deadline, parts)
        failed = False
    except ChannelLost:
        pass
    finally:
        if failed:  # also where nobody wants the rest any more
            _running.remove(process)
            process.discard()
    if failed:
        raise TaskFailed


_running: list[BucketProcess] = []  # of this process: at most one, as it runs one task at a time


def _process_over(opened: OpenBuckets) -> BucketProcess:
    """Return the process that has a layout open; another layout takes its place."""
    for process in list(_running):
        if process.request == opened and process.alive():
            return process
        _running.remove(process)
        with suppress(OSError):
            process.discard()
    process = _started(opened)
    _running.append(process)
    return process


def _started(opened: OpenBuckets) -> BucketProcess:
    try:
        return BucketProcess(opened)
    except OSError:
        pass
    raise TaskFailed


def _frames(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[bytes]:
    """Yield frames, which are in the last column."""
    for batch in batches:
        yield from map(bytes, batch.column(batch.num_columns - 1).to_pylist())


def _batch(frame: bytes, bucket: int | None = None) -> pyarrow.RecordBatch:
    import pyarrow

    columns = {} if bucket is None else {"bucket": pyarrow.array([bucket], pyarrow.int32())}
    columns["frame"] = pyarrow.array([frame], pyarrow.binary())
    return pyarrow.RecordBatch.from_pydict(columns)
