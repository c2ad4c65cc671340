"""Names and types in a source, read in a worker and reported as JSON.

`{"tables": {name: [file, …]}, "unfit": {name: [message, remedy]}}`, where a file is a list of
columns: name, stored type, suggested policy type or null, precision or null. Of a database there are
besides `"texts": {name: {column: bytes or null}}`, what its texts take when read (long_texts.py), and
`"rows": {name: number}`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.long_texts import text_bytes
from sanql.kernel.messages import Projection, TableFiles
from sanql.kernel.parquet_and_csv import csv_fields, parquet_fields, readable
from sanql.kernel.stored_types import COMPUTED, suggest_type, without_labels

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from sanql.kernel.stored_types import ColumnType

# In this order: the first type that every value of a public CSV column has.
_INFERRED: tuple[tuple[ColumnType, str], ...] = (
    ("integer", "regexp_full_match({c}, '0|-?[1-9][0-9]{{0,17}}')"),
    ("float", "TRY_CAST({c} AS DOUBLE) IS NOT NULL AND NOT regexp_matches({c}, '^-?0[0-9]')"),
    ("date", "regexp_full_match({c}, '\\d{{4}}-\\d\\d-\\d\\d') AND TRY_CAST({c} AS DATE) NOTNULL"),
    ("timestamp", "length({c}) > 10 AND TRY_CAST({c} AS TIMESTAMP) IS NOT NULL"),
    ("boolean", "lower({c}) IN ('true', 'false')"),
)


def database_schema(
    connection: duckdb.DuckDBPyConnection, wanted: tuple[str, ...]
) -> dict[str, object]:
    """Return the schema of the attached database; views and collated tables are unfit.

    A view's expressions may fail on a row, and so may those of a generated column, which the engine
    computes when it is read. A collation changes which texts, and so which privacy units, count as
    equal.
    """
    tables: dict[str, list[list[list[str | None]]]] = {}
    columns = connection.execute(
        "SELECT table_name, column_name, data_type, is_generated FROM duckdb_columns() "
        "WHERE database_name = ? AND schema_name = 'main' ORDER BY table_name, column_index",
        [CATALOG],
    ).fetchall()
    for table, column, physical, generated in columns:
        field = _field(column, COMPUTED if generated else without_labels(physical))
        tables.setdefault(table, [[]])[0].append(field)
    unfit = {
        name: (
            "it is a view, whose expressions may fail on a row",
            "store what the view shows as a table",
        )
        for (name,) in connection.execute(
            "SELECT view_name FROM duckdb_views() "
            "WHERE database_name = ? AND schema_name = 'main' AND NOT internal",
            [CATALOG],
        ).fetchall()
    }
    statements = connection.execute(
        "SELECT table_name, sql, estimated_size FROM duckdb_tables() "
        "WHERE database_name = ? AND schema_name = 'main'",
        [CATALOG],
    ).fetchall()
    for name, statement, _ in statements:
        if " COLLATE " in _unquoted(statement).upper():
            unfit[name] = (
                "a column of it has a collation, which merges different texts",
                "store the table without collations",
            )
    folded = {name.lower() for name in wanted}
    read = [name for name, *_ in statements if name.lower() in folded]
    return {
        "tables": tables,
        "unfit": unfit,
        "texts": text_bytes(connection, read),
        "rows": {name: size for name, _, size in statements if name.lower() in folded},
    }


def _unquoted(statement: str) -> str:
    """Return SQL without its constants and quoted names: what an ENUM lists is no word of SQL."""
    return re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "''", statement)


def files_schema(
    connection: duckdb.DuckDBPyConnection, tables: tuple[TableFiles, ...]
) -> dict[str, object]:
    """Return the schema of Parquet footers and CSV headers; a file that has none is unfit."""
    schema: dict[str, list[list[list[str | None]]]] = {}
    unfit: dict[str, tuple[str, str]] = {}
    for files in tables:
        schema[files.table] = []
        for path in files.paths:
            try:
                schema[files.table].append(_file_schema(connection, files, path))
            except Exception:
                unfit[files.table] = (
                    f"{path.name} cannot be read as {files.format}",
                    "check that the file is whole",
                )
    return {"tables": schema, "unfit": unfit}


def _file_schema(
    connection: duckdb.DuckDBPyConnection, files: TableFiles, path: Path
) -> list[list[str | None]]:
    if files.format == "parquet":
        return [_field(*field) for field in parquet_fields(connection, path)]
    fields = [_field(*field) for field in csv_fields(path)]
    if not fields:
        raise ValueError
    return _inferred(connection, path, fields) if files.infer else fields


def _field(column: str, physical: str) -> list[str | None]:
    suggestion = suggest_type(physical)
    if suggestion is None:
        return [column, physical, None, None]
    kind, precision = suggestion
    return [column, physical, kind, None if precision is None else str(precision)]


def _inferred(
    connection: duckdb.DuckDBPyConnection, path: Path, fields: list[list[str | None]]
) -> list[list[str | None]]:
    """Return fields typed by the values of a public CSV file: the first type that fits them all."""
    tests = []
    for name, *_ in fields:
        column = quote_name(str(name))
        filled = f"{column} <> ''"
        tests += [f"bool_and({test.format(c=column)}) FILTER ({filled})" for _, test in _INFERRED]
    with readable(connection, "csv", path, Projection((), (), {})) as relation:
        (row,) = connection.execute(f"SELECT {', '.join(tests)} FROM {relation}").fetchall()  # noqa: S608
    verdicts = iter(row)
    typed: list[list[str | None]] = []
    for name, *_ in fields:
        fits = [kind for kind, _ in _INFERRED if next(verdicts)]
        typed.append([name, "VARCHAR", fits[0] if fits else "text", None])
    return typed
