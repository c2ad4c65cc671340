"""Files written into encrypted buckets, with no row on the disk as it is on the way.

Nothing waits anywhere, and nothing is spilled: for each bucket all files are read, and what belongs into
it is kept in memory, where it is sorted. In how many buckets follows from a count of the rows, so that
each has room. The more data there are for the memory, the more often they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from sanql.kernel.buckets.carried import carried
from sanql.kernel.buckets.layout import hash_file
from sanql.kernel.buckets.writing import Told, is_as_known, write_rows
from sanql.kernel.clustering import UNIT, added_column, place, stored_column_of, text_sizes
from sanql.kernel.files import check_as_stamped
from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import BUCKETS
from sanql.kernel.parquet_and_csv import readable
from sanql.kernel.ranges import bucket_ranges
from sanql.kernel.stored_types import joins_alike, unit_bucket

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from sanql.kernel.buckets.messages import WriteEncrypted
    from sanql.kernel.messages import CopiedTable

_ROW_BYTES = 512  # of memory for a row while it is sorted, and while a question groups it by unit
_MEMORY_PARTS = 2  # of which one bucket may fill one
_BUCKETS_MAX = 1 << 12
_BATCH_ROWS = 1 << 14
_KEYS = place("memory", "keys")


class EncryptedCopy:
    """The buckets of some files, as they are written."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, request: WriteEncrypted) -> None:
        self._connection = connection
        self._request = request
        self._tables = {table.name: table for table in request.tables}
        self._numbers = {table.name: number for number, table in enumerate(request.tables)}
        self._units: dict[str, tuple[str, str]] = {}  # of private tables: the column and its type

    def told(self) -> Iterator[Told]:
        """Yield in how many buckets there are, then every file as it is done.

        What cannot be in a bucket is yielded as a table without a file.
        """
        ordered = self._in_order()
        buckets = self._buckets()
        yield "", "", buckets, ""
        for table in ordered:
            if not self._is_attached(table, buckets):
                yield table.name, "", 0, ""
                return
        for table in ordered:
            if table.name in self._request.public:
                path = f"{buckets}/t{self._numbers[table.name]}/00000.parquet"
                yield from self._written(table, path, self._batches(table))
        private = [table for table in ordered if table.name not in self._request.public]
        for bucket, (first, after) in enumerate(bucket_ranges(buckets)):
            yield from self._bucket(private, f"{buckets}", bucket, (first, after - 1))

    def _in_order(self) -> list[CopiedTable]:
        """Return the tables, those first that others refer to; and know their units."""
        ordered: list[CopiedTable] = []
        waiting = list(self._tables.values())
        while waiting:
            names = {table.name for table in waiting}
            table = next(
                t
                for t in waiting
                if t.unit or t.reference is None or t.reference.table not in names
            )
            waiting.remove(table)
            ordered.append(table)
            if table.unit is not None:
                self._units[table.name] = table.unit, table.types[table.unit]
            elif table.reference is not None:
                kind = self._units[table.reference.table][1]
                self._units[table.name] = added_column(UNIT, table.types), kind
        return ordered

    def _buckets(self) -> int:
        """Return in how many buckets everything private has room, one at a time."""
        needed = 0
        for table in self._tables.values():
            if table.name in self._request.public:
                continue
            texts = "".join(f" + 2 * {text}" for text in text_sizes(table))
            width = _ROW_BYTES + 16 * len(table.types)
            for rows in self._rows(table):
                sql = f"SELECT count(*) * {width}{texts} FROM {rows}"  # noqa: S608
                ((size,),) = self._connection.execute(sql).fetchall()
                needed += int(size)
        room = self._request.memory_bytes // _MEMORY_PARTS
        return min(max(1, -(-needed // room)), _BUCKETS_MAX)

    def _is_attached(self, table: CopiedTable, buckets: int) -> bool:
        """Return whether each row of a table that refers to another leads to one unit at most."""
        if table.unit is not None or table.reference is None:
            return True
        referred = self._tables[table.reference.table]
        _, kind = stored_column_of(table, table.reference.column)
        key, key_kind = stored_column_of(referred, table.reference.key)
        if not joins_alike(kind, key_kind):
            return False
        hashed = f"(system.main.hash({key}) & {BUCKETS - 1})"
        somebodys = "" if referred.unit is None else f"AND {quote_name(referred.unit)} IS NOT NULL "
        for first, after in bucket_ranges(buckets):
            self._connection.execute(f"CREATE OR REPLACE TABLE {_KEYS} (k {key_kind})")
            for rows in self._rows(referred):
                self._connection.execute(
                    f"INSERT INTO {_KEYS} SELECT {key} FROM {rows} "  # noqa: S608
                    f"WHERE {key} IS NOT NULL {somebodys}AND {hashed} BETWEEN {first} AND {after - 1}"
                )
            several = f"SELECT 1 FROM {_KEYS} GROUP BY k HAVING count(*) > 1 LIMIT 1"  # noqa: S608
            if self._connection.execute(several).fetchall():
                return False
        return True

    def _bucket(
        self, tables: list[CopiedTable], folder: str, bucket: int, within: tuple[int, int]
    ) -> Iterator[Told]:
        """Write what all tables have of one bucket, unless all of it is there."""
        paths = {t.name: f"{folder}/t{self._numbers[t.name]}/{bucket:05d}.parquet" for t in tables}
        if all(self._is_known(path) for path in paths.values()):
            for table in tables:
                yield from self._written(table, paths[table.name], iter(()))
            return
        for table in tables:
            self._gather(table, within)
            yield from self._written(table, paths[table.name], self._sorted(table))
        for table in tables:
            self._connection.execute(f"DROP TABLE {place(CATALOG, table.name)}")

    def _gather(self, table: CopiedTable, within: tuple[int, int]) -> None:
        """Bring the rows of a bucket together in memory."""
        target, whose = place(CATALOG, table.name), self._units.get(table.name)
        columns = {**table.types, **(dict([whose]) if whose is not None else {})}
        listed = ", ".join(f"{quote_name(name)} {kind}" for name, kind in columns.items())
        self._connection.execute(f"CREATE OR REPLACE TABLE {target} ({listed})")
        own = ", ".join(f"source.{quote_name(name)}" for name in table.types)
        for rows in self._rows(table):
            found = f"SELECT {own} FROM {rows} AS source {self._condition(table, within)}"  # noqa: S608
            if table.unit is None and table.reference is not None:
                parent = place(CATALOG, table.reference.table)
                unit = quote_name(self._units[table.reference.table][0])
                column, _ = stored_column_of(table, table.reference.column)
                key, _ = stored_column_of(self._tables[table.reference.table], table.reference.key)
                found = (
                    f"SELECT {own}, parent.{unit} FROM {rows} AS source "  # noqa: S608
                    f"JOIN {parent} AS parent ON source.{column} = parent.{key}"
                )
            self._connection.execute(f"INSERT INTO {target} {found}")

    def _condition(self, table: CopiedTable, within: tuple[int, int]) -> str:
        first, last = within
        if table.unit is not None:
            unit = f"source.{quote_name(table.unit)}"
            hashed = unit_bucket(unit, table.types[table.unit], self._request.bucket_secret)
            return f"WHERE {unit} IS NOT NULL AND {hashed} BETWEEN {first} AND {last}"
        # each row is a unit by itself: any share is as good
        own = ", ".join(f"source.{quote_name(name)}" for name in table.types)
        secret = self._request.bucket_secret
        hashed = f"(system.main.hash(({secret})::BIGINT, {own}) & {BUCKETS - 1})"
        return f"WHERE {hashed} BETWEEN {first} AND {last}"

    def _rows(self, table: CopiedTable) -> Iterator[str]:
        """Yield a FROM item for each file of a table, with the columns that a copy has of it."""
        files = self._request.files[self._numbers[table.name]]
        for path, projection in zip(files.paths, table.projections, strict=True):
            expressions = zip(projection.expressions, table.types.items(), strict=True)
            columns = ", ".join(
                f"CAST({sql} AS {kind}) AS {quote_name(name)}" for sql, (name, kind) in expressions
            )
            with readable(self._connection, files.format, path, projection) as relation:
                yield f"(SELECT {columns} FROM {relation})"  # noqa: S608

    def _batches(self, table: CopiedTable) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a public table, as they are in the files."""
        for rows in self._rows(table):
            yield from self._read(f"SELECT {carried(table.types)} FROM {rows}")  # noqa: S608

    def _sorted(self, table: CopiedTable) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a bucket, those of a unit together."""
        whose = self._units.get(table.name)
        columns = {**table.types, **(dict([whose]) if whose is not None else {})}
        order = f"ORDER BY {quote_name(whose[0])}" if whose is not None else ""
        stored = place(CATALOG, table.name)
        return self._read(f"SELECT {carried(columns)} FROM {stored} {order}")  # noqa: S608

    def _read(self, sql: str) -> Iterator[pyarrow.RecordBatch]:
        """Yield the batches of a result, at least one, which may be empty."""
        import pyarrow

        with closing(self._connection.sql(sql).to_arrow_reader(_BATCH_ROWS)) as reader:
            yield pyarrow.RecordBatch.from_pylist([], schema=reader.schema)
            yield from reader

    def _is_known(self, path: str) -> bool:
        known = self._request.known.get(path)
        return known is not None and is_as_known(self._request.folder / path, *known)

    def _written(
        self, table: CopiedTable, path: str, batches: Iterator[pyarrow.RecordBatch]
    ) -> Iterator[Told]:
        """Write a file, unless it is there; yield what it is."""
        target = self._request.folder / path
        if not self._is_known(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_rows(target, batches, self._request.key.of(path))
            check_as_stamped((p for f in self._request.files for p in f.paths), self._request.stamp)
            yield table.name, path, target.stat().st_size, hash_file(target)
            return
        yield table.name, path, *self._request.known[path]
