"""Engines for SQL over numbers that are noisy already: in memory, able to reach no file, locked so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_SETTINGS = (
    "temp_directory = ''",  # what does not fit is refused, and written nowhere
    "python_enable_replacements = false",
    "error_on_division_by_zero = false",
    "scalar_subquery_error_on_multiple_rows = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


def closed_engine(**limits: str) -> duckdb.DuckDBPyConnection:
    """Return a new engine, with settings of DuckDB's as its limits; all its cursors have all of them."""
    import duckdb

    connection = duckdb.connect(
        ":memory:", config={"threads": 1, "autoload_known_extensions": False, **limits}
    )
    for setting in _SETTINGS:
        connection.execute(f"SET GLOBAL {setting}")  # a cursor has a session of its own
    return connection
