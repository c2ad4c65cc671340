"""A statement over one bucket, and over the parts of all of them.

The relations that a statement adds up over units are the ones that a database takes in parts
(`kernel/run.py`): what each unit holds of values that are counted greedily, and partial cells. Here each
bucket is such a part, and the rest of the statement is run where all of them have arrived: no limit,
count or sum is decided before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sanql.kernel.buckets.carried import carried_rows, receive_rows
from sanql.kernel.lockdown import quote_name
from sanql.kernel.messages import GreedyCount, PouredSum, PublicTable, Statement
from sanql.kernel.run import ready, result

if TYPE_CHECKING:
    import duckdb
    import pyarrow

Numbered = tuple[int, "pyarrow.Table"]
"""Some rows, and the place of their relation among those of the statement."""


def public_rows(cursor: duckdb.DuckDBPyConnection, statement: Statement) -> Iterator[Numbered]:
    """Yield the rows of the public tables of a statement, of which some may read those before them."""
    with ready(cursor, Statement("SELECT 1", public=statement.public)):
        for place, table in enumerate(statement.public):
            made = f"SELECT * FROM temp.main.{quote_name(table.name)}"  # noqa: S608
            yield from _rows(cursor, place, Statement(made))


def part_rows(
    cursor: duckdb.DuckDBPyConnection, statement: Statement, public: Sequence[str]
) -> Iterator[Numbered]:
    """Yield what the rows that are open add to each relation of a statement.

    Its `public` tables have arrived, under these names.
    """
    finished = tuple(
        _found(table.name, name) for table, name in zip(statement.public, public, strict=True)
    )
    for place, (sql, parameters) in enumerate(_summed(statement)):
        yield from _rows(cursor, place, Statement(sql, parameters, finished))


def relations(statement: Statement) -> int:
    """Return how many relations a statement adds up over units."""
    return len(_summed(statement))


def several_rows(
    cursor: duckdb.DuckDBPyConnection, statement: Statement, parts: Iterable[Numbered]
) -> Iterator[Numbered]:
    """Yield the cells of several parts as those of one part: sums of whole numbers, in any order."""
    assert statement.partial is not None  # noqa: S101  (it is of parts)
    name = statement.partial.name
    receive_rows(cursor, name, (rows for _, rows in parts))
    yield from _rows(cursor, 0, Statement(statement.partial.several))


def merged_rows(
    cursor: duckdb.DuckDBPyConnection,
    statement: Statement,
    public: Sequence[str],
    parts: Iterable[Numbered],
) -> Iterator[pyarrow.Table]:
    """Yield the result of a statement from what every part adds to its relations."""
    for place, rows in parts:
        receive_rows(cursor, _name(place), [rows])
    tables = zip(statement.public, public, strict=True)
    counts = [_over(count, place) for place, count in enumerate(statement.greedy)]
    partial = statement.partial
    if partial is not None:
        sql = f"SELECT * FROM temp.main.{_name(len(counts))}"  # noqa: S608
        partial = replace(partial, sql=sql, parameters=())
    over_parts = replace(
        statement,
        public=tuple(_found(table.name, name) for table, name in tables),
        greedy=tuple(counts),
        partial=partial,
        parts=1,
    )
    yield from result(cursor, over_parts)


def _summed(statement: Statement) -> list[tuple[str, tuple[object, ...]]]:
    summed = [(count.held, count.parameters) for count in statement.greedy]
    if statement.partial is not None:
        summed.append((statement.partial.sql, statement.partial.parameters))
    return summed


def _rows(
    cursor: duckdb.DuckDBPyConnection, place: int, statement: Statement
) -> Iterator[Numbered]:
    with ready(cursor, statement) as select:
        given = list(statement.parameters)
        for rows in carried_rows(cursor.sql(select, params=given)):
            yield place, rows


def _found(name: str, arrived: str) -> PublicTable:
    return PublicTable(name, f"SELECT * FROM temp.main.{arrived}", ())  # noqa: S608


def _over(count: GreedyCount | PouredSum, place: int) -> GreedyCount | PouredSum:
    """Return what is counted over all parts; no unit is in two of them, so no pair is held twice."""
    return replace(count, held=f"SELECT * FROM temp.main.{_name(place)}", parameters=())  # noqa: S608


def _name(place: int) -> str:
    return f"part{place}"
