"""Values of every type arrive as they left: between two kernels, and in the files of a bucket."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from sanql.kernel import CATALOG, connect
from sanql.kernel.buckets.carried import carried, carried_rows, receive_rows
from sanql.kernel.buckets.layout import BucketedTable, BucketFile
from sanql.kernel.buckets.writing import write_rows

VALUES = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "UBIGINT": ["18446744073709551615"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "HUGEINT": [
        "-170141183460469231731687303715884105727",
        "170141183460469231731687303715884105727",
    ],
    "UHUGEINT": ["340282366920938463463374607431768211455"],
    "DOUBLE": ["'nan'", "'-inf'", "'inf'", "5e-324", "1.7976931348623157e308", "0.1", "-0.0"],
    "FLOAT": ["'nan'", "1e-45", "3.4028235e38", "0.1"],
    "DECIMAL(38,10)": ["9999999999999999999999999999.9999999999", "-0.0000000001"],
    "DECIMAL(4,1)": ["-999.9"],
    "VARCHAR": ["''", "'a''b'", "'ä\u0000ß🜁'", "chr(10)"],
    "BLOB": ["''::BLOB", "'\\x00\\xFF'::BLOB"],
    "DATE": ["DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '1582-10-10'"],
    "TIMESTAMP": ["TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"],
    "TIMESTAMP_NS": ["'1677-09-22 00:00:00.000000001'", "'2262-04-11 23:47:16.854775806'"],
    "TIMESTAMP_S": ["'2026-01-31 12:00:01'"],
    "TIMESTAMP WITH TIME ZONE": ["'2026-03-29 01:30:00.000001+00'", "'0001-01-01 00:00:00+00'"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "BIGINT[]": ["[]", "[1, NULL, 3]"],
}


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    opened = connect()
    opened.execute("SET TimeZone = 'UTC'")
    opened.execute("SET python_enable_replacements = false")
    return opened


@pytest.fixture(params=VALUES)
def stored(request: pytest.FixtureRequest, connection: duckdb.DuckDBPyConnection) -> str:
    """Return a type of which there is a table of values, a missing one among them."""
    kind: str = request.param
    connection.execute(f"CREATE TEMP TABLE ours (x {kind})")
    for value in ["NULL", *VALUES[kind]]:
        connection.execute(f"INSERT INTO ours VALUES ({value})")
    return kind


def bits(connection: duckdb.DuckDBPyConnection, rows: str) -> list[str]:
    """Return values as what tells any two of them apart; also two zeros, which are equal."""
    shown = connection.execute(
        f"SELECT typeof(x) || ' ' || coalesce(x::VARCHAR, 'NULL') FROM {rows}"
    )
    return sorted(text for (text,) in shown.fetchall())


def test_between_kernels(stored: str, connection: duckdb.DuckDBPyConnection) -> None:
    receive_rows(connection, "theirs", carried_rows(connection.sql("SELECT * FROM temp.main.ours")))
    assert bits(connection, "theirs") == bits(connection, "ours")


def test_in_a_file(stored: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    rows = connection.sql(f"SELECT {carried({'x': stored})} FROM ours").to_arrow_reader(2)
    write_rows(tmp_path / "rows.parquet", rows)
    connection.execute(f"ATTACH ':memory:' AS {CATALOG}")
    table = BucketedTable("theirs", True, {"x": stored}, ((BucketFile("rows.parquet", 0, ""),),))
    connection.execute(table.view(tmp_path, 0))
    assert bits(connection, f"{CATALOG}.main.theirs") == bits(connection, "ours")
