"""Few rows are fetched in one go, and are the same as if they had been streamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanql.kernel import lockdown
from sanql.kernel.cursors import QuestionCursors
from sanql.kernel.lockdown import NotLocked, attach, connect, limit, lock
from sanql.kernel.messages import PublicTable, Statement
from sanql.kernel.run import result


@pytest.fixture
def locked(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = connect()
    attach(connection, database, read_only=True)
    limit(connection, 128 << 20, None, 2)
    lock(connection, files_confined=False)
    yield connection
    connection.close()


def table_of(cursors: QuestionCursors, statement: Statement) -> pa.Table:
    with cursors.cursor_for(statement) as cursor:
        return pa.concat_tables(result(cursor, statement)).combine_chunks()


VALUES = {
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "VARCHAR": st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    "BOOLEAN": st.booleans(),
    "INTEGER": st.integers(-(2**31), 2**31 - 1),
}


@given(st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_few_rows_are_what_a_stream_would_give(
    locked: duckdb.DuckDBPyConnection, data: st.DataObject
) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))
    rows = data.draw(st.integers(0, 5))
    columns = [
        data.draw(st.lists(st.none() | VALUES[kind], min_size=rows, max_size=rows))
        for kind in kinds
    ]
    listed = ", ".join(f"unnest(?::{kind}[]) AS c{i}" for i, kind in enumerate(kinds))
    streamed = Statement(f"SELECT {listed}", tuple(columns))
    cursors = QuestionCursors(locked)
    there, here = (
        table_of(cursors, statement) for statement in (streamed, replace(streamed, few_rows=True))
    )
    assert here.schema.equals(there.schema, check_metadata=True)
    assert here.equals(there)


@pytest.mark.parametrize(
    "value", ["1::HUGEINT", "1.5::DOUBLE", "DATE '2020-01-01'", "[1, 2]", "1.25::DECIMAL(9, 2)"]
)
def test_what_might_differ_is_streamed(locked: duckdb.DuckDBPyConnection, value: str) -> None:
    cursors, asked = QuestionCursors(locked), Statement(f"SELECT {value} AS x, 1::BIGINT AS y")
    assert table_of(cursors, replace(asked, few_rows=True)).equals(table_of(cursors, asked))


def test_what_is_not_one_select_is_no_result(locked: duckdb.DuckDBPyConnection) -> None:
    for sql in ("CREATE TEMP TABLE x AS SELECT 1", "SELECT 1; SELECT 2"):
        with pytest.raises((PermissionError, ValueError)):
            table_of(QuestionCursors(locked), Statement(sql, few_rows=True))


# ---- cursors

ONE = Statement("SELECT 1::BIGINT AS x", few_rows=True)
MADE = Statement("SELECT * FROM temp.main.p0", public=(PublicTable("p0", "SELECT 7 AS x", ()),))


def test_questions_that_leave_nothing_share_a_cursor(locked: duckdb.DuckDBPyConnection) -> None:
    cursors = QuestionCursors(locked)
    with cursors.cursor_for(ONE) as first:
        pass
    assert table_of(cursors, MADE)["x"].to_pylist() == [7]
    with cursors.cursor_for(ONE) as second:
        assert second is first
        assert second.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE temporary"
        ).fetchall() == [(0,)]
    with cursors.cursor_for(MADE) as own:
        assert own is not first


def test_a_cursor_that_failed_is_not_used_again(locked: duckdb.DuckDBPyConnection) -> None:
    cursors = QuestionCursors(locked)
    with cursors.cursor_for(ONE) as first:
        pass
    with pytest.raises(duckdb.Error), cursors.cursor_for(ONE) as failing:
        assert failing is first
        failing.execute("SELECT error('broken')")
    with cursors.cursor_for(ONE) as second:
        assert second is not first


def test_a_cursor_is_used_for_so_many_questions_and_no_more(
    locked: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanql.kernel.cursors._QUESTIONS_MAX", 2)
    cursors, seen = QuestionCursors(locked), []
    for _ in range(5):
        with cursors.cursor_for(ONE) as cursor:
            seen.append(cursor)
    assert [seen[0] is seen[1], seen[1] is seen[2], seen[2] is seen[3]] == [True, False, True]


def test_settings_are_read_back_on_every_cursor_before_it_is_used(
    locked: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(lockdown._FOR_QUESTIONS, "TimeZone", "Europe/Rome")
    for statement in (ONE, MADE):
        with pytest.raises(NotLocked, match="TimeZone"):
            table_of(QuestionCursors(locked), statement)
