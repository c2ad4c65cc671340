"""Copying declared columns of Parquet and CSV files into a DuckDB file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import CopiedTable, CopyFiles
from sanql.kernel.parquet_and_csv import readable

if TYPE_CHECKING:
    import duckdb


def copy_files(connection: duckdb.DuckDBPyConnection, request: CopyFiles) -> Iterator[str]:
    """Fill the attached database; yield a table's name as each of its files begins."""
    for files, table in zip(request.files, request.tables, strict=True):
        target = f"{quote_name(CATALOG)}.main.{quote_name(files.table)}"
        columns = ", ".join(f"{quote_name(name)} {kind}" for name, kind in table.types.items())
        connection.execute(f"CREATE TABLE {target} ({columns})")
        for path, projection in zip(files.paths, table.projections, strict=True):
            yield files.table
            selected = ", ".join(projection.expressions)
            with readable(connection, files.format, path, projection) as relation:
                connection.execute(f"INSERT INTO {target} SELECT {selected} FROM {relation}")  # noqa: S608
    connection.execute(f"CHECKPOINT {quote_name(CATALOG)}")


def one_row_tables(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[CopiedTable]
) -> list[str]:
    """Return the copied tables in which no unit has two rows, of those that declare it.

    It only tells which way to the same cells is shorter (`compile/statement.py`).
    """
    found = []
    for table in tables:
        if table.unit is None:
            continue
        target, unit = (
            f"{quote_name(CATALOG)}.main.{quote_name(table.name)}",
            quote_name(table.unit),
        )
        several = (
            f"SELECT 1 FROM {target} WHERE {unit} IS NOT NULL "  # noqa: S608  (names of the policy)
            f"GROUP BY {unit} HAVING count(*) > 1 LIMIT 1"
        )
        if not connection.execute(several).fetchall():
            found.append(table.name)
    return found
