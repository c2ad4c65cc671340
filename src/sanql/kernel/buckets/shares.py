"""Rows on their way from files to buckets: read, joined with their units, given away, and written.

Each of these runs in a process that sees what it is given and nothing else. Values become what a copy
has by the very statements that a copy is made by (`kernel/copy_files.py`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.buckets.carried import Placed, carried, carried_by_place, receive_rows, restored
from sanql.kernel.buckets.layout import CheckedFiles, NotAsWritten, hash_file
from sanql.kernel.buckets.sharing import (
    APART,
    SEVERAL,
    FindUnits,
    ShareOut,
    ShareOutKeys,
    SourceShare,
    WriteShares,
    name_of_share,
)
from sanql.kernel.buckets.writing import write_rows
from sanql.kernel.clustering import SEGMENT, added_column, stored_column_of
from sanql.kernel.lockdown import literal, quote_name
from sanql.kernel.messages import BUCKETS, CopiedTable
from sanql.kernel.parquet_and_csv import readable
from sanql.kernel.stored_types import unit_bucket

if TYPE_CHECKING:
    import duckdb
    import pyarrow

_KEY, _UNIT = "key", "unit"  # of the rows of `ShareOutKeys`
_PLACE = "place"  # behind all other columns of rows that are given away
_KEYS, _ROWS = "temp.main.keys", "temp.main.rows"
_BATCH_ROWS = 1 << 14


def shared_out(connection: duckdb.DuckDBPyConnection, request: ShareOut) -> Iterator[Placed]:
    """Yield the rows of some files with the place where each of them goes."""
    table = request.table
    segment = quote_name(added_column(SEGMENT, table.types))
    whose, hashed = _whose(table, request.towards.secret)
    place, last = request.towards.place(hashed), quote_name(added_column(_PLACE, table.types))
    for part in request.parts:
        _check(part)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE rows ({_definition(table)})")
        selected = ", ".join(part.projection.expressions)
        found = readable(connection, part.format, part.path, part.projection, part.share)
        with found as relation:
            connection.execute(
                f"INSERT INTO {_ROWS} SELECT {selected}, {part.segment} AS {segment} FROM {relation}"  # noqa: S608
            )
        _check(part)
        some = f"{whose} IS NOT NULL AND {request.towards.condition(place)}"
        rows = connection.sql(f"SELECT *, {place} AS {last} FROM {_ROWS} WHERE {some}")  # noqa: S608
        yield from carried_by_place(rows)


def keys_shared_out(
    connection: duckdb.DuckDBPyConnection, request: ShareOutKeys
) -> Iterator[Placed]:
    """Yield keys and units of rows in buckets, with the places of the keys."""
    checked = CheckedFiles(request.folder)
    key, unit = quote_name(request.key), quote_name(request.unit)
    hashed = unit_bucket(key, request.types[request.key], request.towards.secret)
    for file in request.files:
        checked.check(file)
        path = literal(str(request.folder / file.path))
        kept = (
            f"SELECT {restored(request.types)} FROM read_parquet({path}, hive_partitioning = false)"  # noqa: S608
        )
        rows = connection.sql(
            f"SELECT {key} AS {_KEY}, {unit} AS {_UNIT}, {request.towards.place(hashed)} AS {_PLACE} "  # noqa: S608
            f"FROM ({kept}) WHERE {key} IS NOT NULL"
        )
        yield from carried_by_place(rows)
        checked.check(file)


class UnitsFound:
    """Keys and rows that have arrived, and what becomes of them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, request: FindUnits) -> None:
        self._connection, self._request = connection, request

    def take_keys(self, arriving: Iterable[pyarrow.Table]) -> bytes:
        """Take all keys; return whether one of them is there twice."""
        receive_rows(self._connection, "keys", arriving)
        if not self._has("keys"):
            return APART
        several = f"SELECT 1 FROM {_KEYS} GROUP BY {_KEY} HAVING count(*) > 1 LIMIT 1"  # noqa: S608
        return SEVERAL if self._connection.execute(several).fetchall() else APART

    def take_rows(self, arriving: Iterable[pyarrow.Table]) -> Iterator[Placed]:
        """Take all rows; yield those that belong to somebody, with their units and their places."""
        request = self._request
        receive_rows(self._connection, "rows", arriving)
        if not self._has("keys") or not self._has("rows"):
            return
        own = ", ".join(f"child.{quote_name(name)}" for name in request.table.types)
        segment = quote_name(added_column(SEGMENT, request.table.types))
        assert request.table.reference is not None  # noqa: S101  (asked of tables that refer to one)
        column, _ = stored_column_of(request.table, request.table.reference.column)
        hashed = unit_bucket(f"parent.{_UNIT}", request.unit_type, request.towards.secret)
        place, last = request.towards.place(hashed), added_column(_PLACE, request.table.types)
        rows = self._connection.sql(
            f"SELECT {own}, parent.{_UNIT} AS {quote_name(request.unit)}, child.{segment}, "  # noqa: S608
            f"{place} AS {quote_name(last)} FROM {_ROWS} AS child JOIN {_KEYS} AS parent "
            f"ON child.{column} = parent.{_KEY} WHERE {request.towards.condition(place)}"
        )
        yield from carried_by_place(rows)

    def _has(self, name: str) -> bool:
        found = "SELECT 1 FROM duckdb_tables() WHERE temporary AND table_name = ?"
        return bool(self._connection.execute(found, [name]).fetchall())


class Writing:
    """Buckets of a table that are written one after another, each once all its rows have arrived."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, request: WriteShares) -> None:
        self._connection, self._request = connection, request

    def write(
        self, bucket: int, arriving: Iterable[pyarrow.Table]
    ) -> Iterator[tuple[int, int, str, int, str]]:
        """Write what is missing of a bucket; yield it, segment, path, size and hash of each file."""
        request, connection = self._request, self._connection
        segment = quote_name(added_column(SEGMENT, request.types))
        columns = ", ".join(f"{quote_name(name)} {kind}" for name, kind in request.types.items())
        connection.execute(f"CREATE OR REPLACE TEMP TABLE rows ({columns}, {segment} UINTEGER)")
        receive_rows(connection, "rows", arriving)
        order = f"ORDER BY {quote_name(request.unit)}" if request.unit is not None else ""
        for number in request.missing.get(bucket, ()):
            rows = (
                f"SELECT {carried(request.types)} FROM {_ROWS} WHERE {segment} = {number} {order}"  # noqa: S608
            )
            path, size, sha256 = self._written(bucket, request.segments[number], rows)
            yield bucket, number, path, size, sha256

    def _written(self, bucket: int, segment: str, sql: str) -> tuple[str, int, str]:
        """Write a file under a name of its own until all of it is known; return what it is."""
        import pyarrow

        folder = self._request.folder / segment
        folder.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(".making", f"{bucket:05d}-", folder)
        os.close(handle)
        reader = self._connection.sql(sql).to_arrow_reader(_BATCH_ROWS)
        none = pyarrow.RecordBatch.from_pylist([], schema=reader.schema)
        write_rows(Path(name), chain([none], reader))
        reader.close()
        sha256, size = hash_file(Path(name)), Path(name).stat().st_size
        made = folder / name_of_share(bucket, sha256)
        Path(name).rename(made)
        return f"{segment}/{made.name}", size, sha256


def _whose(table: CopiedTable, secret: int) -> tuple[str, str]:
    """Return SQL for what a row goes by, which it must have, and for a hash of that."""
    if table.unit is not None:
        own = quote_name(table.unit)
        return own, unit_bucket(own, table.types[table.unit], secret)
    if table.reference is not None:
        column, kind = stored_column_of(table, table.reference.column)
        return column, unit_bucket(column, kind, secret)
    # each row is a unit by itself: any share is as good, if it is the same when it is computed again
    own = ", ".join(map(quote_name, table.types))
    return "TRUE", f"(system.main.hash(({secret})::BIGINT, {own}) & {BUCKETS - 1})"


def _definition(table: CopiedTable) -> str:
    columns = {**table.types, added_column(SEGMENT, table.types): "UINTEGER"}
    return ", ".join(f"{quote_name(name)} {kind}" for name, kind in columns.items())


def _check(part: SourceShare) -> None:
    """Raise NotAsWritten where a file is not the one that was looked at when it was stamped."""
    status = part.path.stat()
    if (status.st_size, status.st_mtime_ns) != part.identity:
        raise NotAsWritten
