"""The engine's connection can read its database and do nothing else, with Landlock or without."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sanql.engines.pool import Pool
from sanql.errors import Unavailable
from sanql.kernel import lockdown
from sanql.kernel.confine import limit_files
from sanql.kernel.lockdown import NotLocked, attach, connect, limit, lock
from sanql.kernel.messages import Statement

pytestmark = pytest.mark.slow

Connection = duckdb.DuckDBPyConnection

pa.table({"a": [1]})  # the first one looks for pandas on disk, which a locked thread may not

FORBIDDEN = {
    "read text": "SELECT content FROM read_text('/etc/hostname')",
    "read csv": "FROM read_csv('/etc/passwd')",
    "read own database": "SELECT octet_length(content) FROM read_blob('{database}')",
    "read own database by name": "FROM read_duckdb('{database}', table_name = 'people')",
    "read by path": "FROM '{folder}/plain.csv'",
    "read a new file": "SELECT content FROM read_text('{folder}/secret.txt')",
    "list files": "FROM glob('/*')",
    "list neighbours": "FROM glob('{folder}/*')",
    "read environment": "SELECT getenv('PATH')",
    "read over http": "FROM read_parquet('http://127.0.0.1:9/x.parquet')",
    "sniff": "FROM sniff_csv('/etc/passwd')",
    "parquet footer": "FROM parquet_metadata('{folder}/x.parquet')",
    "extensions": "FROM duckdb_extensions()",
    "copy out": "COPY (SELECT 1) TO '{folder}/out.csv'",
    "copy over database": "COPY (SELECT 1) TO '{database}' (FORMAT csv, USE_TMP_FILE false)",
    "copy to its log": "COPY (SELECT 1) TO '{database}.wal' (FORMAT csv, USE_TMP_FILE false)",
    "export": "EXPORT DATABASE '{folder}/export'",
    "attach": "ATTACH '{folder}/other.duckdb'",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "load a file": "LOAD '{folder}/x.duckdb_extension'",
    "insert": "INSERT INTO data.main.people VALUES (1, 2, 'x')",
    "update": "UPDATE data.main.people SET age = 1",
    "delete": "DELETE FROM data.main.people",
    "create": "CREATE TABLE data.main.mine (a INTEGER)",
    "drop": "DROP TABLE data.main.people",
    "unlock": "SET lock_configuration = false",
    "open access": "SET enable_external_access = true",
    "more memory": "SET memory_limit = '100GB'",
    "more threads": "SET threads = 64",
    "reset": "RESET disabled_filesystems",
    "allow a path": "SET allowed_paths = ['/etc/passwd']",
    "python frames": "SET python_enable_replacements = true",
    "log": "CALL enable_logging()",
    "profile": "PRAGMA enable_profiling",
    "python table": "FROM arrow_table",
}

# Harmless by themselves, but they would leave something behind for the next query.
STATEFUL = {
    "create in memory": "CREATE TABLE memory.main.mine (a INTEGER)",
    "temporary table": "CREATE TEMP TABLE people AS SELECT 1",
    "macro": "CREATE TEMP MACRO least(a, b) AS 1",
    "variable": "SET VARIABLE x = 1",
    "detach": "DETACH data",
    "transaction": "BEGIN",
    "explain": "EXPLAIN ANALYZE SELECT count(*) FROM data.main.people",
    "two statements": "SELECT 1; SELECT 2",
    "hidden second": "SELECT 1; DROP TABLE data.main.people",
    "prepare": "PREPARE q AS SELECT 1",
    "nothing": "",
}


def outcome(connection: Connection, sql: str) -> str:
    """Return "denied", or what a statement gave."""
    arrow_table = pa.table({"a": [1]})  # noqa: F841  (what a replacement scan would find)
    try:
        return str(connection.execute(sql).fetchall())
    except duckdb.Error:
        return "denied"


def locked_without_landlock(database: Path, _spill: Path) -> Connection:
    connection = connect()
    attach(connection, database, read_only=True)
    limit(connection, 128 << 20, None, 2)
    lock(connection, files_confined=False)
    return connection


def locked_with_landlock(database: Path, spill: Path) -> Connection:
    connection = connect()
    attach(connection, database, read_only=True)
    if not limit_files([], [spill]):
        pytest.skip("this kernel has no Landlock")
    limit(connection, 128 << 20, spill, 2)
    lock(connection, files_confined=True)
    return connection


def in_thread(work: Callable[[], object]) -> object:
    """Run in a thread of its own, which takes its confinement to the grave."""
    results: list[object] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


@pytest.mark.parametrize("open_locked", [locked_without_landlock, locked_with_landlock])
def test_a_locked_connection_denies_every_way_out(
    open_locked: Callable[[Path, Path], Connection], database: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (outside / "plain.csv").write_text("a,b\n1,2\n")
    spill = tmp_path / "spill"
    spill.mkdir()

    def attempt() -> dict[str, str]:
        connection = open_locked(database, spill)
        assert connection.execute("SELECT count(*) FROM data.main.people").fetchall() == [(1000,)]
        return {
            name: outcome(connection.cursor(), sql.format(database=database, folder=outside))
            for name, sql in FORBIDDEN.items()
        }

    before = database.read_bytes()
    assert in_thread(attempt) == dict.fromkeys(FORBIDDEN, "denied")
    assert database.read_bytes() == before
    assert sorted(path.name for path in outside.iterdir()) == ["plain.csv", "secret.txt"]
    assert not Path(f"{database}.wal").exists()


SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "error_on_division_by_zero": False,
    "scalar_subquery_error_on_multiple_rows": False,
    "enable_external_access": False,
    "lock_configuration": True,
    "TimeZone": "UTC",
    "threads": 2,
    "memory_limit": "102.3 MiB",
}


def test_a_locked_connection_is_set_as_listed_and_attached_for_reading(
    database: Path, tmp_path: Path
) -> None:
    """Several doors have two locks; this sees each lock by itself."""

    def look() -> object:
        connection = locked_with_landlock(database, tmp_path)
        settings = {
            name: connection.execute("SELECT current_setting(?)", [name]).fetchall()[0][0]
            for name in [*SETTINGS, "temp_directory", "max_temp_directory_size"]
        }
        attached = connection.execute(
            "SELECT readonly FROM duckdb_databases() WHERE database_name = 'data'"
        ).fetchall()
        return settings, attached

    assert in_thread(look) == (
        {**SETTINGS, "temp_directory": str(tmp_path), "max_temp_directory_size": "1.2 GiB"},
        [(True,)],
    )


def test_the_same_statements_work_on_an_open_connection(database: Path, tmp_path: Path) -> None:
    """Guards the test above against denials that have another reason, such as a typing error."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (outside / "plain.csv").write_text("a,b\n1,2\n")
    impossible_anyway = {
        "read environment",  # not in this build of DuckDB
        "read own database by name",  # it is attached for writing here
        "read over http",
        "install",
        "load",
        "load a file",
        "parquet footer",
        "open access",  # never possible once DuckDB runs
    }
    denied = set()
    for name in FORBIDDEN.keys() - impossible_anyway:
        copy = tmp_path / "copy.duckdb"
        shutil.copy(database, copy)
        with duckdb.connect(":memory:") as opened:
            opened.execute(f"ATTACH '{copy}' AS data")
            if outcome(opened, FORBIDDEN[name].format(database=copy, folder=outside)) == "denied":
                denied.add(name)
        Path(f"{copy}.wal").unlink(missing_ok=True)
    assert not denied


@pytest.mark.parametrize("open_locked", [locked_without_landlock, locked_with_landlock])
def test_a_locked_connection_has_no_errors_from_division_or_surplus_rows(
    open_locked: Callable[[Path, Path], Connection], database: Path, tmp_path: Path
) -> None:
    def attempt() -> object:
        connection = open_locked(database, tmp_path)
        return connection.execute("SELECT 1 // 0, 1 % 0, (SELECT unnest([7, 7]))").fetchall()

    assert in_thread(attempt) == [(None, None, 7)]


@pytest.mark.slow
def test_a_confined_engine_still_spills_into_its_own_directory(
    database: Path, tmp_path: Path
) -> None:
    spilling = (
        "SELECT count(*) FROM (SELECT md5(range::VARCHAR) AS key, count(*) AS n "
        "FROM range(3000000) GROUP BY key) WHERE n = 1"
    )
    with_spill = in_thread(lambda: outcome(locked_with_landlock(database, tmp_path), spilling))
    without = in_thread(lambda: outcome(locked_without_landlock(database, tmp_path), spilling))
    assert (with_spill, without) == ("[(3000000,)]", "denied")


def test_confinement_allows_the_files_named_and_no_others(tmp_path: Path) -> None:
    allowed, denied, own = tmp_path / "allowed", tmp_path / "denied", tmp_path / "own"
    own.mkdir()
    allowed.write_text("a")
    denied.write_text("d")

    def attempt() -> list[str]:
        if not limit_files([allowed], [own]):
            pytest.skip("this kernel has no Landlock")
        (own / "new").write_text("n")
        seen = [allowed.read_text(), (own / "new").read_text()]
        for forbidden in (
            denied.read_text,
            lambda: allowed.write_text("changed"),
            lambda: list(tmp_path.iterdir()),
            lambda: (tmp_path / "new").write_text("n"),
        ):
            try:
                forbidden()
            except PermissionError:
                seen.append("denied")
        return seen

    assert in_thread(attempt) == ["a", "n", "denied", "denied", "denied", "denied"]


@pytest.mark.parametrize(
    "memory_bytes", [64 << 20, 10**9, 2 << 30, 3 << 30, 5_000_000_001, 1 << 42]
)
def test_any_amount_of_memory_can_be_set_and_read_back(memory_bytes: int, tmp_path: Path) -> None:
    limit(connect(), memory_bytes, tmp_path, 2)


def test_a_setting_that_does_not_take_is_noticed() -> None:
    connection = connect()
    with pytest.raises(duckdb.Error):
        lockdown._set(connection, "no_such_setting", True)
    with pytest.raises(NotLocked):
        lockdown._verify(connection, "lock_configuration", True)
    with pytest.raises(NotLocked):
        lockdown._verify_bytes(connection, "memory_limit", 12345678)
    connection.execute("SET enable_external_access = false")
    with pytest.raises(NotLocked):
        lockdown._verify_no_files(connection)


@pytest.mark.slow
def test_a_worker_answers_every_forbidden_statement_with_the_same_error(
    database: Path, workers: Pool, tmp_path: Path
) -> None:
    count = "SELECT count(*) AS n FROM data.main.people"
    some = {name: FORBIDDEN[name] for name in ("read own database", "copy out", "insert", "unlock")}
    for name, sql in (some | STATEFUL).items():
        with pytest.raises(Unavailable) as caught:
            workers.run(Statement(sql.format(database=database, folder=tmp_path)))
        assert caught.value.to_dict() == {
            "error": {
                "code": "unavailable",
                "message": "the engine could not answer",
                "remedy": "the charge stays; ask the data owner if it happens again",
            }
        }, name
        assert workers.run(Statement(count)).to_pydict() == {"n": [1000]}, name
