"""Tables in a copy whose rows are rows of its tables, added up for each unit (`compile/summaries.py`)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sanql.kernel.blocks import of_part
from sanql.kernel.clustering import bytes_to_sort, place
from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import CopiedTable, SummedCost, SummedTable
from sanql.kernel.ranges import bucket_ranges

if TYPE_CHECKING:
    import duckdb

SUMMARIES = "summaries"
"""The schema in which they are, apart from tables that a policy names."""


def add_up(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[CopiedTable], memory_bytes: int
) -> dict[str, SummedCost]:
    """Make the tables of rows added up, once all others are there; return what each takes.

    What another that was interrupted has made of them is made anew.
    """
    catalog, costs = quote_name(CATALOG), {}
    connection.execute(f"DROP SCHEMA IF EXISTS {catalog}.{quote_name(SUMMARIES)} CASCADE")
    if any(table.summed for table in tables):
        connection.execute(f"CREATE SCHEMA {catalog}.{quote_name(SUMMARIES)}")
    connection.execute(f"CHECKPOINT {catalog}")
    size = _size(connection)
    for table, summed in ((each, one) for each in tables for one in each.summed):
        used = time.process_time()
        _make(connection, table, summed, memory_bytes)
        connection.execute(f"CHECKPOINT {catalog}")
        seconds, before, size = time.process_time() - used, size, _size(connection)
        costs[summed.name] = SummedCost(_count(connection, summed), size - before, seconds)
    return costs


def _make(
    connection: duckdb.DuckDBPyConnection,
    table: CopiedTable,
    summed: SummedTable,
    memory_bytes: int,
) -> None:
    """Make one table, in parts of the units that fit into memory while they are grouped and sorted."""
    made = place(CATALOG, summed.name, SUMMARIES)
    needed = bytes_to_sort(connection, table, place(CATALOG, table.name))
    parts = max(1, -(-2 * needed // memory_bytes))
    into = f"CREATE TABLE {made} AS"
    for first, after in bucket_ranges(parts):
        rows = of_part(summed.sql, first, after)
        connection.execute(f"{into} {rows} ORDER BY {summed.order}")
        into = f"INSERT INTO {made}"


def _count(connection: duckdb.DuckDBPyConnection, summed: SummedTable) -> int:
    made = place(CATALOG, summed.name, SUMMARIES)
    ((count,),) = connection.execute(f"SELECT count(*) FROM {made}").fetchall()  # noqa: S608
    return int(count)


def _size(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many bytes of the copy's file are in use."""
    ((size,),) = connection.execute(
        "SELECT block_size * used_blocks FROM pragma_database_size() WHERE database_name = ?",
        [CATALOG],
    ).fetchall()
    return int(size)
