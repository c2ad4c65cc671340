"""A database's tables written into buckets, as Parquet that says nothing of its values but the values.

Statistics are left out: with them, readers would skip rows by the ends of somebody's values, and plan by
them. Each file has another name until it is whole and on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.buckets.carried import carried
from sanql.kernel.buckets.layout import SpreadTable, hash_file
from sanql.kernel.clustering import bucket_ranges, place
from sanql.kernel.lockdown import CATALOG, quote_name

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from sanql.kernel.buckets.messages import Spread

_BATCH_ROWS = 1 << 14
_ROW_GROUP_ROWS = 1 << 17
Told = tuple[str, str, int, str]
"""A file that is there: its table, its name in the folder, its size and hash."""


def write_buckets(connection: duckdb.DuckDBPyConnection, request: Spread) -> Iterator[Told]:
    """Write what is not there yet; yield every file as it is done."""
    for number, table in enumerate(request.tables):
        for name, condition in _shares(connection, table, number, request.buckets):
            known, path = request.known.get(name), request.folder / name
            if known is None or not _is(path, *known):
                path.parent.mkdir(exist_ok=True)
                with closing(_reader(connection, table, condition)) as rows:
                    write_rows(path, rows)
                known = path.stat().st_size, hash_file(path)
            yield table.name, name, *known


def bucket_file(number: int, bucket: int) -> str:
    """Return the name of the file of a table's bucket; tables have numbers, so that any name is one.

    >>> bucket_file(1, 12)
    't1/00012.parquet'
    """
    return f"t{number}/{bucket:05d}.parquet"


def write_rows(path: Path, rows: pyarrow.RecordBatchReader) -> None:
    """Write rows into a file that is there as a whole or not at all."""
    import pyarrow.parquet

    made = path.with_name(f"{path.name}.{os.getpid()}.making")
    options = {"compression": "snappy", "write_statistics": False}
    with pyarrow.parquet.ParquetWriter(made, rows.schema, **options) as writer:
        for batch in rows:
            writer.write_batch(batch, row_group_size=_ROW_GROUP_ROWS)
    _sync(made)
    made.rename(path)


def _shares(
    connection: duckdb.DuckDBPyConnection, table: SpreadTable, number: int, buckets: int
) -> Iterator[tuple[str, str]]:
    """Yield the files of a table, and which rows each of them has."""
    if table.public:
        yield bucket_file(number, 0), "TRUE"
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
        yield bucket_file(number, bucket), f"{column} >= {first} AND {column} < {after}"


def _reader(
    connection: duckdb.DuckDBPyConnection, table: SpreadTable, condition: str
) -> pyarrow.RecordBatchReader:
    stored = place(CATALOG, table.name)
    sql = f"SELECT {carried(table.types)} FROM {stored} WHERE {condition}"  # noqa: S608
    return connection.sql(sql).to_arrow_reader(_BATCH_ROWS)


def _is(path: Path, size: int, sha256: str) -> bool:
    return path.is_file() and path.stat().st_size == size and hash_file(path) == sha256


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
