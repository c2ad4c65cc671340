"""A statement run on an open connection: what is public first, to its end, and then the rest.

The planner chooses how to compute a statement by the sizes and values of all that it reads. What
reads only public tables is therefore a statement of its own: when the one that reads private rows is
planned, the public part is a finished table, and nothing about anybody can change a bit of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sanql.execute.lockdown import quote
from sanql.execute.messages import PublicTable, Query

if TYPE_CHECKING:
    import duckdb


@contextmanager
def running(connection: duckdb.DuckDBPyConnection, query: Query) -> Iterator[None]:
    """Run a query; within, the connection has its result. What is not one SELECT is an error."""
    with ready(connection, query) as statement:
        connection.execute(statement, list(query.parameters))
        yield


@contextmanager
def ready(connection: duckdb.DuckDBPyConnection, query: Query) -> Iterator[duckdb.Statement]:
    """Give a query that may be run: one SELECT, whose public tables are there until the end."""
    try:
        for table in query.public:
            _make(connection, table)
        yield _only_select(connection, query.sql)
    finally:
        for table in query.public:
            connection.execute(f"DROP TABLE IF EXISTS temp.main.{quote(table.name)}")


def _make(connection: duckdb.DuckDBPyConnection, table: PublicTable) -> None:
    _only_select(connection, table.sql)
    made = f"CREATE TEMP TABLE {quote(table.name)} AS {table.sql}"
    connection.execute(made, list(table.parameters))


def _only_select(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    import duckdb

    (statement,) = connection.extract_statements(sql)
    if statement.type != duckdb.StatementType.SELECT:
        raise PermissionError
    return statement
