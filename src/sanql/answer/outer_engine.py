"""The engine for SQL around statistics: in memory, given tables by name, with limits on time and memory.

What an analyst writes around statistics may be a product of tables that never ends, and runs beside
everybody else's questions: it is stopped, and the statistics it is about stay on record.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from threading import Timer
from typing import TYPE_CHECKING

from sanql.engines import unavailable
from sanql.errors import Refused

if TYPE_CHECKING:
    import duckdb
    import pyarrow

MEMORY = "1GB"


def run_on_tables(
    sql: str, parameters: list[object], tables: Mapping[str, pyarrow.Table], seconds: float
) -> pyarrow.Table:
    """Return what SQL over these tables yields, in an engine that sees nothing else, or refuse it."""
    import duckdb

    connection = _database().cursor()
    timer = Timer(seconds, connection.interrupt)
    timer.daemon = True
    try:
        for name, table in tables.items():
            connection.register(name, table)
        timer.start()
        return connection.sql(sql, params=parameters).to_arrow_table()
    except (duckdb.InterruptException, duckdb.OutOfMemoryException):
        raise Refused(
            "query_too_complex",
            f"what is computed from the statistics takes more than {seconds:g} seconds or {MEMORY}",
            "join and nest less around them; they are on record, so that other SQL over them is free",
        ) from None
    except duckdb.Error:
        raise unavailable() from None  # its words quote what it was sent
    finally:
        timer.cancel()
        for name in tables:
            connection.unregister(name)
        connection.close()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={"threads": 1, "autoload_known_extensions": False, "memory_limit": MEMORY},
    )
    for setting in (
        "temp_directory = ''",  # what does not fit is refused, and written nowhere
        "python_enable_replacements = false",
        "error_on_division_by_zero = false",
        "scalar_subquery_error_on_multiple_rows = false",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET GLOBAL {setting}")  # a cursor has a session of its own
    return connection
