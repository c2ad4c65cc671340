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

from sanql.execute.lockdown import literal, quote
from sanql.execute.messages import Format

if TYPE_CHECKING:
    import duckdb
    import pyarrow

_HEADER_BYTES_MAX = 1 << 20
_BATCH_ROWS = 1 << 17
_DELIMITERS = ",;\t|"


def base(form: Format, name: str, physical: str) -> str:
    """Return SQL for a column of a part as its stored type, text that is not UTF-8 as NULL."""
    if form == "parquet" and physical == "VARCHAR":
        return f"TRY(decode({quote(name)}))"
    return quote(name)


@contextmanager
def readable(
    connection: duckdb.DuckDBPyConnection, form: Format, path: Path, columns: tuple[str, ...]
) -> Iterator[str]:
    """Yield a FROM item for one file; `columns` are those of a Parquet file that will be used."""
    if form == "csv":
        yield _csv_relation(path)
        return
    connection.register("part", _parquet_batches(path, columns))
    try:
        yield "part"
    finally:
        connection.unregister("part")


def parquet_fields(connection: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, str]]:
    """Return names and DuckDB types of a Parquet file, from its footer alone."""
    import pyarrow.parquet

    schema = _decoded(pyarrow.parquet.read_schema(path))
    fields = []
    for field in schema:
        # One by one: a type DuckDB does not know must not hide the others.
        connection.register("part", pyarrow.schema([field]).empty_table())
        ((_, physical, *_),) = connection.execute("DESCRIBE part").fetchall()
        fields.append((field.name, str(physical)))
        connection.unregister("part")
    return fields


def csv_fields(path: Path) -> list[tuple[str, str]]:
    """Return the names in a CSV file's header; every type is text."""
    names, _ = _csv_header(path)
    return [(name, "VARCHAR") for name in names]


def _parquet_batches(path: Path, columns: tuple[str, ...]) -> pyarrow.RecordBatchReader:
    import pyarrow
    import pyarrow.parquet

    stored = pyarrow.parquet.read_schema(path)
    # Asked for as dictionaries, or Arrow would convert them itself, and stop where text is broken.
    encoded = [
        field.name for field in stored if _is_text(_plain(field.type)) and not _is_text(field.type)
    ]
    file = pyarrow.parquet.ParquetFile(path, read_dictionary=encoded)
    schema = pyarrow.schema(
        [
            field.with_type(pyarrow.binary()) if _is_text(field.type) else field
            for field in _decoded(stored)
            if field.name in columns
        ]
    )

    def batches() -> Iterator[pyarrow.RecordBatch]:
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(columns)):
            arrays = [_as_type(batch.column(field.name), field.type) for field in schema]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def _decoded(schema: pyarrow.Schema) -> pyarrow.Schema:
    """Return a schema whose dictionary columns are plain ones."""
    import pyarrow

    return pyarrow.schema([field.with_type(_plain(field.type)) for field in schema])


def _plain(kind: pyarrow.DataType) -> pyarrow.DataType:
    import pyarrow

    return kind.value_type if pyarrow.types.is_dictionary(kind) else kind


def _is_text(kind: pyarrow.DataType) -> bool:
    import pyarrow

    return bool(
        pyarrow.types.is_string(kind)
        or pyarrow.types.is_large_string(kind)
        or pyarrow.types.is_string_view(kind)
    )


def _as_type(array: pyarrow.Array, kind: pyarrow.DataType) -> pyarrow.Array:
    import pyarrow

    if pyarrow.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array if array.type == kind else array.cast(kind)


def _csv_relation(path: Path) -> str:
    names, delimiter = _csv_header(path)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({literal(str(path))}, auto_detect = false, header = true, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', comment = '', "
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
