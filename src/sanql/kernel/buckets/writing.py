"""A database's tables written into buckets, as Parquet that says nothing of its values but the values.

Statistics are left out: with them, readers would skip rows by the ends of somebody's values, and plan by
them. Each file has another name until it is whole and on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.kernel.buckets.carried import carried
from sanql.kernel.buckets.layout import SpreadSegment, SpreadTable, hash_file
from sanql.kernel.clustering import place
from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.ranges import bucket_ranges

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from sanql.kernel.buckets.messages import Spread

_BATCH_ROWS = 1 << 14
_ROW_GROUP_ROWS = 1 << 17
_PAGE_BYTES = 1 << 30  # no more rows than a batch has are in one
Told = tuple[str, str, int, str]
"""A file that is there: its table, its name in the folder, its size and hash."""


def write_buckets(connection: duckdb.DuckDBPyConnection, request: Spread) -> Iterator[Told]:
    """Write what is not there yet; yield every file as it is done."""
    import pyarrow

    for table in request.tables:
        for name, condition in _shares(connection, table, request.buckets):
            known, path = request.known.get(name), request.folder / name
            if known is None or not is_as_known(path, *known):
                path.parent.mkdir(exist_ok=True)
                with closing(_reader(connection, table, condition)) as rows:
                    none = pyarrow.RecordBatch.from_pylist([], schema=rows.schema)
                    write_rows(path, chain([none], rows))
                known = path.stat().st_size, hash_file(path)
            yield table.name, name, *known


def bucket_file(segment: SpreadSegment, bucket: int) -> str:
    """Return the name of the file of a segment's bucket.

    >>> bucket_file(SpreadSegment("segment-1", "TRUE"), 12)
    'segment-1/00012.parquet'
    """
    return f"{segment.folder}/{bucket:05d}.parquet"


def write_rows(path: Path, batches: Iterator[pyarrow.RecordBatch], key: str | None = None) -> None:
    """Write rows, at least one batch of them, into a file that is there as a whole or not at all.

    With a key it is encrypted; each column then has one page in a row group, as the engine reads it.
    """
    import pyarrow.parquet

    made = path.with_name(f"{path.name}.{os.getpid()}.making")
    options: dict[str, Any] = {"compression": "snappy", "write_statistics": False}
    if key is not None:
        from pyarrow.parquet import encryption

        options["encryption_properties"] = encryption.create_encryption_properties(key.encode())
        options |= {"use_dictionary": False, "data_page_size": _PAGE_BYTES}
    first = next(batches)
    with pyarrow.parquet.ParquetWriter(made, first.schema, **options) as writer:
        for batch in filter(None, map(_of_rows, chain([first], batches))):
            if key is None:
                writer.write_batch(batch, row_group_size=_ROW_GROUP_ROWS)
            else:  # which is a row group, and each of its columns a page
                writer.write_table(pyarrow.Table.from_batches([batch]))
    _sync(made)
    made.rename(path)


def _of_rows(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch | None:
    return batch if batch.num_rows else None


def _shares(
    connection: duckdb.DuckDBPyConnection, table: SpreadTable, buckets: int
) -> Iterator[tuple[str, str]]:
    """Yield the files of a table, and which rows each of them has."""
    if table.public:
        yield from ((bucket_file(segment, 0), segment.condition) for segment in table.segments)
        return
    by, most = table.bucket, 0
    if by is None:  # each row is a unit by itself: any share is as good
        stored = place(CATALOG, table.name)
        counted = f"SELECT coalesce(max(rowid) + 1, 0) FROM {stored}"  # noqa: S608
        ((most,),) = connection.execute(counted).fetchall()
    for bucket, (first, after) in enumerate(bucket_ranges(buckets)):
        if by is None:
            first, after = bucket * most // buckets, (bucket + 1) * most // buckets  # noqa: PLW2901
        column = "rowid" if by is None else quote_name(by)
        within = f"{column} >= {first} AND {column} < {after}"
        for segment in table.segments:
            yield bucket_file(segment, bucket), f"{within} AND {segment.condition}"


def _reader(
    connection: duckdb.DuckDBPyConnection, table: SpreadTable, condition: str
) -> pyarrow.RecordBatchReader:
    stored = place(CATALOG, table.name)
    sql = f"SELECT {carried(table.types)} FROM {stored} WHERE {condition}"  # noqa: S608
    return connection.sql(sql).to_arrow_reader(_BATCH_ROWS)


def is_as_known(path: Path, size: int, sha256: str) -> bool:
    """Return whether a file is there, with all the bytes that it had when it was written."""
    return path.is_file() and path.stat().st_size == size and hash_file(path) == sha256


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
