"""Copies in which the rows of a unit lie together, in the order of the units' buckets.

A part of the units is then a range of rows, and the engine reads no others; grouping by unit finds what
it needs close by. Rows are first copied as they come, into a database beside the copy that is gone
afterwards, and then moved in parts that fit into memory. Rows without a unit count in no question, and
are left behind. In which order rows lie changes no answer; nor does the bucket, a hash of the unit under
a secret that nobody keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import BUCKETS, CopiedTable
from sanql.kernel.stored_types import unit_bucket

if TYPE_CHECKING:
    import duckdb

STAGING = "staging"
_ROW_BYTES = 256  # of memory for a row while it is sorted


def staging_file(target: Path) -> Path:
    """Return the database beside a copy in which rows wait until they have their place."""
    return target.with_name(f"{target.name}.{STAGING}")


def bucket_column(types: Mapping[str, str]) -> str:
    """Return what the column of buckets is called: as none of the table's own columns.

    >>> bucket_column({"id": "BIGINT", "Bucket": "VARCHAR"})
    'bucket_'
    """
    name, taken = "bucket", {column.lower() for column in types}
    while name in taken:
        name += "_"
    return name


def begin_table(connection: duckdb.DuckDBPyConnection, table: CopiedTable) -> str:
    """Return the new table that rows are copied into, in the order of its columns."""
    begun = place(STAGING if table.unit is not None else CATALOG, table.name)
    columns = ", ".join(f"{quote_name(name)} {kind}" for name, kind in table.types.items())
    connection.execute(f"CREATE TABLE {begun} ({columns})")
    return begun


def end_table(
    connection: duckdb.DuckDBPyConnection, table: CopiedTable, secret: int, memory_bytes: int
) -> None:
    """Give the rows of a table that has units their places."""
    if table.unit is None:
        return
    waiting, target = place(STAGING, table.name), place(CATALOG, table.name)
    unit, bucket = quote_name(table.unit), quote_name(bucket_column(table.types))
    hashed = unit_bucket(unit, table.types[table.unit], secret)
    connection.execute(
        f"CREATE TABLE {target} AS SELECT *, 0::USMALLINT AS {bucket} FROM {waiting} LIMIT 0"  # noqa: S608
    )
    ((rows,),) = connection.execute(f"SELECT count(*) FROM {waiting}").fetchall()  # noqa: S608
    for first, after in bucket_ranges(max(1, -(-rows * _ROW_BYTES // memory_bytes))):
        connection.execute(
            f"INSERT INTO {target} SELECT *, CAST({hashed} AS USMALLINT) AS {bucket} FROM {waiting} "  # noqa: S608
            f"WHERE {unit} IS NOT NULL AND {hashed} BETWEEN {first} AND {after - 1} "
            f"ORDER BY {bucket}, {unit}"
        )
    connection.execute(f"DROP TABLE {waiting}")


def bucket_ranges(parts: int) -> Iterator[tuple[int, int]]:
    """Yield the first bucket of each part and the one after its last; every bucket is in one of them.

    >>> list(bucket_ranges(2))
    [(0, 32768), (32768, 65536)]
    """
    for part in range(parts):
        yield part * BUCKETS // parts, (part + 1) * BUCKETS // parts


def place(catalog: str, table: str) -> str:
    """Return a table of an attached database."""
    return f"{quote_name(catalog)}.{quote_name('main')}.{quote_name(table)}"
