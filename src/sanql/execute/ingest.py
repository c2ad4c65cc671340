"""Copying declared columns of Parquet and CSV files into a DuckDB file, in a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sanql.execute.lockdown import CATALOG, quote
from sanql.execute.messages import StoredTable
from sanql.execute.parts import readable

if TYPE_CHECKING:
    import duckdb


def ingest(connection: duckdb.DuckDBPyConnection, tables: tuple[StoredTable, ...]) -> Iterator[str]:
    """Fill the attached database; yield a table's name as each of its parts begins."""
    for table in tables:
        target = f"{quote(CATALOG)}.main.{quote(table.parts.table)}"
        columns = ", ".join(f"{quote(name)} {kind}" for name, kind in table.types.items())
        connection.execute(f"CREATE TABLE {target} ({columns})")
        for path, filling in zip(table.parts.paths, table.fillings, strict=True):
            yield table.parts.table
            selected = ", ".join(filling.expressions)
            with readable(connection, table.parts.format, path, filling) as relation:
                connection.execute(f"INSERT INTO {target} SELECT {selected} FROM {relation}")  # noqa: S608
    connection.execute(f"CHECKPOINT {quote(CATALOG)}")
