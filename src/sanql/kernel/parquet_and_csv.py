"""Parquet and CSV files as DuckDB sees them in a worker, readable whatever their rows contain.

Parquet is decoded by Arrow with text as bytes, because DuckDB's reader stops at the first string
that is not UTF-8 and at the first timestamp it cannot hold. CSV is read with a fixed dialect: a
guessed one would depend on rows. Rows too short, too long to buffer or not UTF-8 are left out, and
surplus fields ignored. (A quote never closed ends the table: what a row is, the file decides.)
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.arrow_values import is_text, plain_type, scanned_type, split_batch, total
from sanql.kernel.lockdown import literal
from sanql.kernel.messages import Format, Projection
from sanql.kernel.row_groups import BATCH_BYTES, narrow_batches, parquet_file
from sanql.kernel.stored_types import OLD_TIME

if TYPE_CHECKING:
    import duckdb
    import pyarrow
    import pyarrow.parquet

_HEADER_BYTES_MAX = 1 << 20
_DELIMITERS = ",;\t|"


@contextmanager
def readable(
    connection: duckdb.DuckDBPyConnection,
    form: Format,
    path: Path,
    projection: Projection,
    share: tuple[int, int] = (0, 1),
) -> Iterator[str]:
    """Yield a FROM item for one file, with what is wanted of its columns at least.

    A `share` of a file's rows is its number and how many there are; a CSV file has one.
    """
    if form == "csv":
        if share != (0, 1):
            raise ValueError
        yield _csv_relation(path)
        return
    connection.register("part", _parquet_batches(path, projection, share))
    try:
        yield "part"
    finally:
        connection.unregister("part")


def parquet_fields(connection: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, str]]:
    """Return names and DuckDB types of a Parquet file, from its footer alone.

    A type that nothing can be declared as keeps whatever name it has.
    """
    file = parquet_file(path)
    old_times = _old_times(file)
    return [
        (field.name, OLD_TIME if field.name in old_times else _physical(connection, field.type))
        for field in file.schema_arrow
    ]


def _physical(connection: duckdb.DuckDBPyConnection, stored: pyarrow.DataType) -> str:
    import duckdb
    import pyarrow

    if is_text(plain_type(stored)):
        return "VARCHAR"
    shown = scanned_type(stored)
    # One by one: a type DuckDB does not know must not hide the others.
    field = pyarrow.field("column", plain_type(stored) if shown is None else shown)
    try:
        connection.register("part", pyarrow.schema([field]).empty_table())
        ((_, physical, *_),) = connection.execute("DESCRIBE part").fetchall()
    except duckdb.NotImplementedException:
        return str(stored)
    connection.unregister("part")
    return str(physical)


def csv_fields(path: Path) -> list[tuple[str, str]]:
    """Return the names in a CSV file's header; every type is text."""
    names, _ = _csv_header(path)
    return [(name, "VARCHAR") for name in names]


def _old_times(file: pyarrow.parquet.ParquetFile) -> set[str]:
    """Return the columns of 96-bit moments, whose nanoseconds are cut off."""
    columns = [file.schema.column(place) for place in range(len(file.schema.names))]
    return {column.path for column in columns if column.physical_type == "INT96"}


def _parquet_batches(
    path: Path, projection: Projection, share: tuple[int, int]
) -> pyarrow.RecordBatchReader:
    import pyarrow

    stored = [
        field for field in parquet_file(path).schema_arrow if field.name in projection.columns
    ]
    # Without what a file says about its fields: DuckDB would take some for types of its own.
    schema = pyarrow.schema([pyarrow.field(field.name, _shown(field)) for field in stored])

    def batches() -> Iterator[pyarrow.RecordBatch]:
        for batch in narrow_batches(path, stored, projection.bytes_max, share):
            arrays = [total(batch.column(field.name)) for field in schema]
            yield from split_batch(
                pyarrow.RecordBatch.from_arrays(arrays, schema=schema), BATCH_BYTES
            )

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def _shown(field: pyarrow.Field) -> pyarrow.DataType:
    shown = scanned_type(field.type)
    if shown is None:  # binding has refused it
        raise TypeError
    return shown


def _csv_relation(path: Path) -> str:
    names, delimiter = _csv_header(path)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({literal(str(path))}, auto_detect = false, header = true, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', comment = '', "
        # told of other line ends, a carriage return too many takes the line after it along
        "new_line = '\\n', "
        f"columns = {{{columns}}}, ignore_errors = true, strict_mode = false, parallel = false)"
    )


def _csv_header(path: Path) -> tuple[list[str], str]:
    """Return the column names and the delimiter, judged by the header alone."""
    with path.open("rb") as file:
        start = file.read(_HEADER_BYTES_MAX).decode(errors="replace").lstrip("\ufeff")
    line = io.StringIO(start, newline="")
    first = next(iter(start.splitlines()), "")
    delimiter = max(_DELIMITERS, key=first.count)
    names = next(csv.reader(line, delimiter=delimiter), [])
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        count = seen[name.lower()] = seen.get(name.lower(), 0) + 1
        unique.append(name if count == 1 and name else f"{name}_{count}")
    return unique, delimiter
