"""Running a statement: the public tables it needs are computed first, counts next, then the statement.

Where units are taken in parts, the SELECTs that read private rows are run once for each range of buckets,
and what they find is kept until all of it is added up: a unit's rows are in one part, so memory is needed
for the units of one part at a time, and the cells are the same.

The planner chooses how to compute a statement by the sizes and values of all that it reads. What
reads only public tables is therefore a statement of its own: when the one that reads private rows is
planned, the public part is a finished table, and nothing about anybody can change a bit of it. Distinct
values that are counted greedily (`greedy.py`) are private tables, which are gone with the cursor at the
latest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sanql.kernel.arrow_values import split_batch
from sanql.kernel.blocks import of_part
from sanql.kernel.few_rows import schema_of, whole_table
from sanql.kernel.greedy import make_counts
from sanql.kernel.lockdown import quote_name
from sanql.kernel.messages import GreedyCount, PouredSum, Statement
from sanql.kernel.pouring import make_sums
from sanql.kernel.ranges import bucket_ranges

if TYPE_CHECKING:
    import duckdb
    import pyarrow

PIECE_BYTES = 1 << 20  # of a result that are given away together
_BATCH_ROWS = 1 << 10


Turn = Callable[[int], object]
"""What is done before a part of the units is taken, by its number: to turn to its bucket."""


def result(
    cursor: duckdb.DuckDBPyConnection, statement: Statement, turn: Turn | None = None
) -> Iterator[pyarrow.Table]:
    """Yield the result of a statement piece by piece, made while it is read; at least one piece.

    A piece has about a megabyte; one row is never divided. Few rows are one piece.
    """
    with ready(cursor, statement, turn) as select:
        given = _given(select, statement)
        if statement.few_rows:  # which is planned once and not twice, and held in memory as a whole
            cursor.execute(select, given)
            schema, rows = schema_of(cursor.description), cursor.fetchall()
            if schema is not None:
                yield whole_table(schema, rows)
                return
        relation = cursor.sql(select, params=given)
        batches = relation.to_arrow_reader(_BATCH_ROWS)
        yield from pieces(batches)
        batches.close()


@contextmanager
def running(connection: duckdb.DuckDBPyConnection, statement: Statement) -> Iterator[None]:
    """Run a statement; within, the connection has its result. What is not one SELECT is an error."""
    with ready(connection, statement) as select:
        connection.execute(select, _given(select, statement))
        yield


@contextmanager
def ready(
    connection: duckdb.DuckDBPyConnection, statement: Statement, turn: Turn | None = None
) -> Iterator[duckdb.Statement]:
    """Give a statement that may be run: one SELECT, whose tables are there until the end."""
    try:
        for table in statement.public:
            _make(connection, table.name, table.sql, table.parameters)
        for count in statement.greedy:
            _count(connection, count, statement.parts, turn)
        partial = statement.partial
        if partial is not None:
            parts = statement.parts
            _make(connection, partial.name, partial.sql, partial.parameters, parts, turn)
        yield _only_select(connection, statement.sql)
    finally:
        for table in statement.public:
            _drop(connection, table.name)
        for count in statement.greedy:
            for name in (f"{count.name}_held", f"{count.name}_pairs", count.taken):
                _drop(connection, name)
        if statement.partial is not None:
            _drop(connection, statement.partial.name)


def _given(select: duckdb.Statement, statement: Statement) -> list[object] | dict[str, object]:
    """Return the parameters of a SELECT: all, or of those that it shares with parts what it names."""
    if statement.partial is None:
        return list(statement.parameters)
    numbered = enumerate(statement.parameters, 1)
    return {str(n): value for n, value in numbered if str(n) in select.named_parameters}


def pieces(batches: pyarrow.RecordBatchReader) -> Iterator[pyarrow.Table]:
    """Yield the rows of a result some at a time; at least once, for the names."""
    import pyarrow

    waiting: list[pyarrow.RecordBatch] = []
    size = sent = 0
    for batch in batches:
        for part in split_batch(batch, PIECE_BYTES):
            waiting.append(part)
            size += part.nbytes
            if size >= PIECE_BYTES:
                yield pyarrow.Table.from_batches(waiting, batches.schema)
                waiting, size, sent = [], 0, sent + 1
    if waiting or not sent:
        yield pyarrow.Table.from_batches(waiting, batches.schema)


def _make(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    sql: str,
    parameters: Sequence[object],
    parts: int = 1,
    turn: Turn | None = None,
) -> None:
    """Make a table of the rows of a SELECT, run once for each part of the units."""
    into = f"CREATE TEMP TABLE {quote_name(name)} AS"
    for part, (first, after) in enumerate(bucket_ranges(parts)):
        if turn is not None:
            turn(part)
        select = of_part(sql, first, after)
        _only_select(connection, select)
        connection.execute(f"{into} {select}", list(parameters))
        into = f"INSERT INTO temp.main.{quote_name(name)}"


def _drop(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    connection.execute(f"DROP TABLE IF EXISTS temp.main.{quote_name(name)}")


def _count(
    connection: duckdb.DuckDBPyConnection,
    count: GreedyCount | PouredSum,
    parts: int,
    turn: Turn | None,
) -> None:
    """Make the table of what is taken; what units hold takes most room, and goes first."""
    _make(connection, f"{count.name}_held", count.held, count.parameters, parts, turn)
    _make(connection, f"{count.name}_pairs", count.pairs, ())
    turns = _only_select(connection, count.turns)
    if isinstance(count, PouredSum):
        make_sums(connection, count, turns)
    else:
        make_counts(connection, count, turns)
    _drop(connection, f"{count.name}_held")


def _only_select(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    import duckdb

    (statement,) = connection.extract_statements(sql)
    if statement.type != duckdb.StatementType.SELECT:
        raise PermissionError
    return statement
