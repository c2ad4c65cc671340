"""Copying declared columns of Parquet and CSV files into a DuckDB file."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING

from sanql.kernel.clustering import Copying, has_unit, place
from sanql.kernel.files import check_as_stamped
from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import CopiedTable, CopyFiles, CopyReport, SummedCost
from sanql.kernel.parquet_and_csv import readable
from sanql.kernel.summed_tables import add_up

if TYPE_CHECKING:
    import duckdb


def copy_files(
    connection: duckdb.DuckDBPyConnection, request: CopyFiles
) -> Generator[str, None, dict[str, SummedCost]]:
    """Fill the attached database; yield a table's name as a file or part of it begins.

    At the end, return what it took to add rows up.
    """
    copying = Copying(connection, request, request.memory_bytes)
    for files, table in zip(request.files, request.tables, strict=True):
        missing = copying.missing(table)
        for number, path in enumerate(files.paths):
            yield files.table
            if number not in missing:
                continue
            projection = table.projections[number]
            selected = ", ".join(projection.expressions)
            with (
                readable(connection, files.format, path, projection) as relation,
                copying.reading(table, number) as (into, own),
            ):
                connection.execute(f"INSERT INTO {into} SELECT {selected}, {own} FROM {relation}")  # noqa: S608
                check_as_stamped([path], request.stamp)
        yield from copying.place_own(table)
    yield from copying.attach_units()
    summed = add_up(connection, request.tables, request.memory_bytes)
    copying.finish()
    return summed


def report_copy(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[CopiedTable],
    summed: Mapping[str, SummedCost],
) -> CopyReport:
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
    return CopyReport(rows, tuple(one_row), tuple(attached), summed)
