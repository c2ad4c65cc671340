"""What questions mean is settled on the very cursor that runs them, not on one beside it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from sanql.engines.pool import Pool
from sanql.kernel import lockdown
from sanql.kernel.lockdown import NotLocked, attach, connect, limit, lock, question_cursor, settle
from sanql.kernel.messages import Statement

WHERE_QUESTIONS_RUN = {
    "TimeZone": "UTC",
    "python_enable_replacements": False,
    "error_on_division_by_zero": False,
    "scalar_subquery_error_on_multiple_rows": False,
    "ieee_floating_point_ops": True,
    "integer_division": False,
    "default_collation": "",
    "disabled_optimizers": "statistics_propagation",
    "enable_external_access": False,
    "lock_configuration": True,
}
# each would be an error, or another answer, under the engine's own settings
TOTAL = {
    "SELECT (person_id // (person_id - 7)) AS x FROM data.main.people WHERE person_id = 7": [None],
    "SELECT (person_id % (person_id - 7)) AS x FROM data.main.people WHERE person_id = 7": [None],
    "SELECT (SELECT q.person_id * 0 FROM data.main.people q WHERE q.age = 20) AS x": [0],
    "SELECT (person_id / (person_id - 7)) AS x FROM data.main.people WHERE person_id = 7": [
        float("inf")
    ],
    "SELECT CAST(TIMESTAMPTZ '2026-07-01 00:00:00+00' AS VARCHAR) AS x": ["2026-07-01 00:00:00+00"],
}


@pytest.fixture
def locked(database: Path) -> duckdb.DuckDBPyConnection:
    connection = connect()
    attach(connection, database, read_only=True)
    limit(connection, 128 << 20, None, 2)
    lock(connection, files_confined=False)
    return connection


@pytest.mark.slow
def test_a_worker_runs_questions_under_the_listed_settings(workers: Pool) -> None:
    listed = ", ".join(f"current_setting('{name}') AS \"{name}\"" for name in WHERE_QUESTIONS_RUN)
    assert workers.run(Statement(f"SELECT {listed}")).to_pylist() == [WHERE_QUESTIONS_RUN]


@pytest.mark.slow
@pytest.mark.parametrize("sql", TOTAL)
def test_a_worker_has_no_errors_that_settings_can_take_away(workers: Pool, sql: str) -> None:
    assert workers.run(Statement(sql))["x"].to_pylist() == TOTAL[sql]


def test_every_cursor_of_a_locked_connection_has_the_settings(
    locked: duckdb.DuckDBPyConnection,
) -> None:
    for cursor in (locked, locked.cursor(), locked.cursor().cursor(), question_cursor(locked)):
        found = {
            name: cursor.execute("SELECT current_setting(?)", [name]).fetchall()[0][0]
            for name in WHERE_QUESTIONS_RUN
        }
        assert found == WHERE_QUESTIONS_RUN


def test_settings_of_one_session_alone_are_noticed() -> None:
    connection = connect()
    settle(connection)
    connection.execute("SET GLOBAL enable_external_access = false")
    connection.execute("SET GLOBAL TimeZone = 'Europe/Rome'")
    connection.execute("SET SESSION TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    with pytest.raises(NotLocked, match="TimeZone"):
        question_cursor(connection)


def test_an_unlocked_connection_runs_no_questions() -> None:
    connection = connect()
    settle(connection)
    with pytest.raises(NotLocked, match="enable_external_access"):
        question_cursor(connection)


def test_no_question_can_change_a_setting(locked: duckdb.DuckDBPyConnection) -> None:
    for name in lockdown._FOR_QUESTIONS:
        for sql in (f"RESET {name}", f"SET SESSION {name} = '1'", f"SET GLOBAL {name} = '1'"):
            with pytest.raises(duckdb.Error, match="locked"):
                question_cursor(locked).execute(sql)
