"""Copying declared columns of Parquet and CSV files into a DuckDB file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sanql.kernel.clustering import attach_units, begin_table, end_table, has_unit, place
from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import CopiedTable, CopyFiles, CopyReport
from sanql.kernel.parquet_and_csv import readable

if TYPE_CHECKING:
    import duckdb


def copy_files(connection: duckdb.DuckDBPyConnection, request: CopyFiles) -> Iterator[str]:
    """Fill the attached database; yield a table's name as each of its files begins."""
    for files, table in zip(request.files, request.tables, strict=True):
        begun = begin_table(connection, table)
        for path, projection in zip(files.paths, table.projections, strict=True):
            yield files.table
            selected = ", ".join(projection.expressions)
            with readable(connection, files.format, path, projection) as relation:
                connection.execute(f"INSERT INTO {begun} SELECT {selected} FROM {relation}")  # noqa: S608
        end_table(connection, table, request.bucket_secret, request.memory_bytes)
    attach_units(connection, request.tables, request.bucket_secret, request.memory_bytes)
    connection.execute(f"CHECKPOINT {quote_name(CATALOG)}")


def report_copy(connection: duckdb.DuckDBPyConnection, tables: Sequence[CopiedTable]) -> CopyReport:
    """Return what is seen of a copy.

    It only tells which way to the same cells is shorter (`compile/statement.py`), and in how many parts
    units are taken.
    """
    one_row, attached, rows = [], [], {}
    for table in tables:
        target = place(CATALOG, table.name)
        ((rows[table.name],),) = connection.execute(f"SELECT count(*) FROM {target}").fetchall()  # noqa: S608  (names of the policy)
        if table.reference is not None and has_unit(connection, table):
            attached.append(table.name)
        if table.unit is None or not table.unique:
            continue
        unit = quote_name(table.unit)
        several = (
            f"SELECT 1 FROM {target} WHERE {unit} IS NOT NULL "  # noqa: S608  (names of the policy)
            f"GROUP BY {unit} HAVING count(*) > 1 LIMIT 1"
        )
        if not connection.execute(several).fetchall():
            one_row.append(table.name)
    return CopyReport(rows, tuple(one_row), tuple(attached))
