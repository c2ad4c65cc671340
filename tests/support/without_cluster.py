"""Tables written into buckets by the tasks that a cluster is given, one after another in this process.

What Spark does between them is done here by sorting: rows go to their places, those of a place together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from sanql.kernel.buckets import (
    Chores,
    FindUnits,
    FindUnitsTask,
    ShareOutTask,
    SharingTask,
    WriteShares,
    WriteTask,
    own_versions,
)

Rows = list[tuple[int, int, bytes]]
Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_SCHEMA = pa.schema([("place", pa.int32()), ("kind", pa.int32()), ("frame", pa.binary())])


def packed(*tasks: SharingTask) -> bytes:
    """Return chores as tasks are given them."""
    return Chores(tasks, own_versions()).packed()


def share_out(*chores: SharingTask) -> Rows:
    """Return what tasks give away."""
    numbers = pa.RecordBatch.from_pydict({"id": pa.array(range(len(chores)), pa.int64())})
    return _rows(ShareOutTask(packed(*chores))([numbers]))


def find_units(rows: Rows, request: FindUnits) -> Rows:
    """Return rows that have met keys, and where they go now."""
    return _rows(FindUnitsTask(packed(request))(_sorted(rows)))


def write(rows: Rows, request: WriteShares) -> list[list[object]]:
    """Return what is told of the files of all buckets."""
    marks = [(bucket, 0, b"") for bucket in request.missing]
    told = WriteTask(packed(request))(_sorted([*rows, *marks]))
    return [json.loads(frame) for batch in told for frame in batch.column(0).to_pylist()]


def _rows(batches: Iterable[pa.RecordBatch]) -> Rows:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]  # type: ignore[misc]


def _sorted(rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield rows in the order of their places, few at a time."""
    for row in sorted(rows, key=lambda each: each[:2]):
        yield pa.RecordBatch.from_pylist(
            [dict(zip(_SCHEMA.names, row, strict=True))], schema=_SCHEMA
        )
