"""The engine for SQL around statistics: in memory, given tables by name, with limits on time and memory.

What an analyst writes around statistics may be a product of tables that never ends, and runs beside
everybody else's questions: it is stopped, and the statistics it is about stay on record. Each question
has an engine for itself, whose limits are its own: what others compute just then refuses it nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from threading import Timer
from typing import TYPE_CHECKING

from sanql.answer.closed_engine import closed_engine
from sanql.engines import unavailable
from sanql.errors import Refused

if TYPE_CHECKING:
    import pyarrow

MEMORY = "512MB"  # of one question, and a server runs 16 at once


def run_on_tables(
    sql: str, parameters: list[object], tables: Mapping[str, pyarrow.Table], seconds: float
) -> pyarrow.Table:
    """Return what SQL over these tables yields, in an engine that sees nothing else, or refuse it."""
    import duckdb

    try:
        with closing(closed_engine(memory_limit=MEMORY)) as connection:
            for name, table in tables.items():
                connection.register(name, table)
            timer = Timer(seconds, connection.interrupt)
            timer.daemon = True
            timer.start()
            try:
                return connection.sql(sql, params=parameters).to_arrow_table()
            finally:
                timer.cancel()
    except (duckdb.InterruptException, duckdb.OutOfMemoryException):
        raise Refused(
            "query_too_complex",
            f"what is computed from the statistics takes more than {seconds:g} seconds or {MEMORY}",
            "join and nest less around them; they are on record, so that other SQL over them is free",
        ) from None
    except duckdb.Error:
        raise unavailable() from None  # its words quote what it was sent
