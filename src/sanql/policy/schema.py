"""The schema of a data file: the names and types of its columns, never a value.

A Parquet file says so in its footer, a DuckDB file in its catalog; of a CSV file only the header
line is read, which has no types.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.errors import Fault, PolicyError
from sanql.kernel import ColumnType
from sanql.policy.section import quote

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER_BYTES_MAX = 1_000_000
_DUCKDB_TYPES: dict[str, ColumnType] = {
    "BOOLEAN": "boolean",
    "TINYINT": "integer",
    "SMALLINT": "integer",
    "INTEGER": "integer",
    "BIGINT": "integer",
    "HUGEINT": "integer",
    "UTINYINT": "integer",
    "USMALLINT": "integer",
    "UINTEGER": "integer",
    "UBIGINT": "integer",
    "UHUGEINT": "integer",
    "FLOAT": "float",
    "DOUBLE": "float",
    "VARCHAR": "text",
    "ENUM": "text",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp",
    "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}


@dataclass(frozen=True)
class Unstated:
    """The file does not say what type the column has."""


@dataclass(frozen=True)
class Unsupported:
    """A type that no policy type stands for, such as a list."""


@dataclass(frozen=True)
class ColumnSchema:
    """A column's name and type; the precision is a decimal's smallest step."""

    name: str
    type: ColumnType | Unstated | Unsupported
    precision: Fraction | None = None


@dataclass(frozen=True)
class TableSchema:
    """A table's name and columns."""

    name: str
    columns: tuple[ColumnSchema, ...]


def read_schemas(path: Path) -> list[TableSchema]:
    """Return the tables in a file or folder; raise PolicyError if it is no source.

    In a folder each .parquet or .csv file is a table, and so is each folder of parts.
    """
    try:
        return _read_schemas(path)
    except OSError:
        raise unreadable(path, "cannot be listed and read by this user") from None


def _read_schemas(path: Path) -> list[TableSchema]:
    if not path.exists():
        raise unreadable(path, "no such file")
    if not path.is_dir():
        return _read_file(path)
    tables = []
    for entry in _visible(path):
        if entry.is_dir():
            part = next((part for part in _visible(entry) if _is_part(part)), None)
            if part is not None:
                tables += [TableSchema(entry.name, t.columns) for t in _read_file(part)]
        elif _is_part(entry):
            tables += _read_file(entry)
    if not tables:
        raise unreadable(path, "holds no .parquet or .csv file")
    return tables


def unreadable(file: Path, message: str) -> PolicyError:
    """Return the error for a file whose schema cannot be had, quoting nothing it holds."""
    place = str(file) if len(str(file)) < 60 else f"…/{file.name}"
    return PolicyError([Fault(quote(place), message, "name a file that SanQL can open")])


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    except OSError:
        raise unreadable(folder, "cannot be listed") from None


def _is_part(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".csv") and path.is_file()


def _read_file(file: Path) -> list[TableSchema]:
    match file.suffix.lower():
        case ".parquet":
            return [TableSchema(file.stem, _parquet_columns(file))]
        case ".csv":
            return [TableSchema(file.stem, _csv_columns(file))]
        case ".duckdb":
            return _duckdb_tables(file)
        case _:
            raise unreadable(file, "is not a .parquet, .csv or .duckdb file")


def _parquet_columns(file: Path) -> tuple[ColumnSchema, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema: pa.Schema = pq.read_schema(file)
    except (OSError, pa.ArrowException):
        raise unreadable(file, "cannot be read as Parquet") from None
    return tuple(_arrow_column(field.name, field.type) for field in schema)


def _arrow_column(name: str, type: pa.DataType) -> ColumnSchema:
    import pyarrow.types as is_

    if is_.is_dictionary(type):
        return _arrow_column(name, type.value_type)
    if is_.is_decimal(type):
        return ColumnSchema(name, "decimal", Fraction(10) ** -type.scale)
    kinds: list[tuple[bool, ColumnType]] = [
        (is_.is_boolean(type), "boolean"),
        (is_.is_integer(type), "integer"),
        (is_.is_floating(type), "float"),
        (is_.is_string(type) or is_.is_large_string(type) or is_.is_string_view(type), "text"),
        (is_.is_date(type), "date"),
        (is_.is_timestamp(type), "timestamp"),
    ]
    return ColumnSchema(name, next((kind for holds, kind in kinds if holds), Unsupported()))


def _csv_columns(file: Path) -> tuple[ColumnSchema, ...]:
    try:
        with file.open("rb") as opened:
            line = opened.readline(_HEADER_BYTES_MAX + 1)
        header = line.decode("utf-8-sig").replace("\r", "\n").partition("\n")[0]
    except OSError:
        raise unreadable(file, "cannot be opened") from None
    except ValueError:
        raise unreadable(file, "cannot be read as UTF-8 text") from None
    if not header.strip() or len(line) > _HEADER_BYTES_MAX:
        raise unreadable(file, "does not begin with a line of column names")
    # An open quotation mark would carry the header on into the first rows.
    if header.count('"') % 2:
        raise unreadable(file, "has a column name with a line break in it")
    names = next(csv.reader([header], delimiter=_delimiter(header)))
    return tuple(ColumnSchema(name, Unstated()) for name in names)


def _delimiter(header: str) -> str:
    unquoted = "".join(header.split('"')[::2])
    return max(",;\t|", key=unquoted.count)


def _duckdb_tables(file: Path) -> list[TableSchema]:
    import duckdb

    if not file.is_file():  # an error of the engine could not be told from a damaged file
        raise unreadable(file, "no such file")
    try:
        with duckdb.connect(
            file, read_only=True, config={"autoload_known_extensions": "false"}
        ) as db:
            rows = db.execute(
                "SELECT table_name, column_name, data_type, numeric_scale, is_generated"
                " FROM duckdb_columns()"
                " JOIN duckdb_tables() USING (database_name, schema_name, table_name)"
                " WHERE schema_name = 'main' ORDER BY table_name, column_index"
            ).fetchall()
    except duckdb.Error:
        raise unreadable(file, "cannot be read as a DuckDB database") from None
    columns: dict[str, list[ColumnSchema]] = {}
    for table, column, type, scale, generated in rows:
        kind = "" if generated else type  # what the engine computes on reading cannot be declared
        columns.setdefault(table, []).append(_duckdb_column(column, kind, scale))
    return [TableSchema(table, tuple(of_table)) for table, of_table in columns.items()]


def _duckdb_column(name: str, type: str, scale: int | None) -> ColumnSchema:
    # An ENUM's type spells out its values, and a decimal's its digits: only the word is looked at.
    word = type.partition("(")[0]
    if type.endswith("]"):
        return ColumnSchema(name, Unsupported())
    if word == "DECIMAL" and scale is not None:
        return ColumnSchema(name, "decimal", Fraction(10) ** -scale)
    return ColumnSchema(name, _DUCKDB_TYPES.get(word, Unsupported()))
