"""Tools read a catalogue of empty tables: what is declared is in it, and nothing of any row or person."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sanql.demo import make_hospital
from sanql.errors import ServerError, Unavailable
from sanql.interrupts import Watch, watched_by
from sanql.parse import read_command
from sanql.results import Schema, SchemaColumn, SchemaTable
from sanql.server import ServerSettings
from sanql.server.wire.catalogue import Catalogue, cluster
from support.serving import Served, served
from wire.conftest import Connect
from wire.talking import talk_to

pytestmark = pytest.mark.usefixtures("in_this_process")

needs_psql = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "select version()",
        "select pg_catalog.version()",
        "SELECT current_schema()",
        "SELECT relname FROM pg_class",
        "SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(x)$'",
        "SELECT * FROM information_schema.tables WHERE table_schema = 'public'",
        "WITH names AS (SELECT relname FROM pg_class) SELECT * FROM names",
        "SELECT 1 UNION ALL SELECT oid::int FROM pg_type",
        "SELECT pg_advisory_unlock_all()",
    ],
)
def test_what_is_about_the_catalogue_is_told_by_a_list(sql: str) -> None:
    assert read_command(sql).kind == "catalogue"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people",
        "SELECT COUNT(*) FROM public.people",
        "SELECT COUNT(*) FROM people, pg_class",
        "SELECT (SELECT COUNT(*) FROM people) FROM pg_class",
        "SELECT pg_sleep(3)",
        'SELECT "pg_sleep"(3)',
        "SELECT pg_catalog.pg_sleep (3)",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT * FROM pg_ls_dir('/')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT query_to_xml('SELECT 1', true, true, '') FROM pg_class",
        "SELECT pg_terminate_backend(1)",
        "SELECT pg_advisory_lock(1)",
        "SELECT repeat('x', 1000000000)",
        "SELECT * INTO kept FROM pg_class",
        "WITH gone AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM gone",
        "DELETE FROM pg_class",
        "SELECT 1; SELECT 2",
        "COPY pg_class TO STDOUT",
        "SELECT relname FROM other.pg_class",
        # what PostgreSQL would cut into other words
        "SELECT pg_backend_pid(), INTERVAL E'1'\n'\\' , '; SELECT pg_sleep(1) --'\n, 1",
        "SELECT $1,pg_sleep(3)--$x$1,pg_sleep(3)--$\n,1",
        "SELECT $$a$$ FROM pg_class",
        "SELECT U&'\\0041' FROM pg_class",
        "SELECT E'\\'' FROM pg_class",
        "SELECT 'a' 'b' FROM pg_class",
        # what would be read for ever
        "SELECT " + "ARRAY[" * 29 + "1" + "]" * 29,
    ],
)
def test_whatever_else_is_sent_is_a_question_for_san(sql: str) -> None:
    assert read_command(sql).kind == "question"


@pytest.fixture
def ana(connect: Connect) -> psycopg.Connection[tuple[Any, ...]]:
    return connect()


@pytest.mark.slow
def test_declared_tables_and_columns_are_listed_with_what_is_known_of_them(
    ana: psycopg.Connection[tuple[Any, ...]],
) -> None:
    listed = ana.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = %s ORDER BY table_name, ordinal_position",
        ("public",),
    ).fetchall()
    assert ("people", "age", "bigint") in listed and ("visits", "cost", "numeric") in listed
    assert {table for table, _, _ in listed} == {"people", "visits"}
    ((comment,),) = ana.execute(
        "SELECT col_description('people'::regclass, attnum) FROM pg_attribute"
        " WHERE attrelid = 'people'::regclass AND attname = 'sex'"
    ).fetchall()
    assert comment == "one of F, M, X"
    ((version,),) = ana.execute("SELECT version()").fetchall()
    told = ana.info.parameter_status("server_version") or ""
    assert version.split()[1] == told.split()[0]
    ((number,),) = ana.execute("SHOW server_version_num").fetchall()
    assert ana.info.server_version == int(number)


@pytest.mark.slow
def test_the_catalogue_holds_no_row_and_no_person(
    ana: psycopg.Connection[tuple[Any, ...]],
) -> None:
    roles = ana.execute("SELECT rolname FROM pg_roles WHERE rolname NOT LIKE 'pg_%'").fetchall()
    assert sorted(roles) == [("analyst",), ("sanql",)]
    assert ana.execute("SELECT datname FROM pg_database WHERE NOT datistemplate").fetchall() == [
        ("hospital",)
    ]
    rows = ana.execute("SELECT SUM(reltuples) FROM pg_class WHERE relname = 'people'").fetchall()
    assert rows[0][0] <= 0
    assert ana.execute("SELECT COUNT(*) FROM pg_stats WHERE schemaname = 'public'").fetchall() == [
        (0,)
    ]
    hidden = "SELECT (WITH people AS (SELECT 1) SELECT 1), COUNT(*) FROM pg_class, people"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):  # an empty table is no answer
        ana.execute(hidden.encode())
    typed = ana.execute("SELECT query FROM pg_stat_activity WHERE query ILIKE 'SELECT%'").fetchall()
    assert typed == []
    with pytest.raises(psycopg.Error, match="more than"):
        ana.execute("SELECT 1 FROM pg_class a, generate_series(1, 1000)")


@pytest.mark.slow
def test_its_errors_are_its_own_and_the_connection_goes_on(
    ana: psycopg.Connection[tuple[Any, ...]], hospital: Served
) -> None:
    with pytest.raises(psycopg.errors.UndefinedColumn):
        ana.execute("SELECT nothing FROM pg_class")
    with pytest.raises(psycopg.errors.UndefinedTable):
        ana.execute("SELECT oid FROM pg_nothing WHERE oid > %s", (1,))
    with talk_to(hospital, "ana") as talk:
        talk.parse("", "SELECT nothing FROM pg_class").bind("", "").execute("").sync()
        assert talk.state_of_error() == "42703"
        talk.parse("", "SELECT relname FROM pg_class LIMIT 5").bind("", "", formats=[1])
        talk.execute("", 3).sync()
        assert [kind for kind, _ in talk.until_ready()] == ["1", "2", "D", "D", "D", "s", "Z"]


@pytest.mark.slow
def test_whoever_asks_it_may_do_nothing_but_read(tmp_path: Path) -> None:
    """What is sent is on a list; should something else get through, the role can do no harm."""
    catalogue = Catalogue("town")
    try:
        catalogue.prepare(Schema("town", "add-remove", ()))
        made = catalogue._cluster
        assert made is not None
        reader = made.address("town").replace(f"user={cluster.OWNER}", f"user={cluster.READER}")
        with psycopg.connect(reader, autocommit=True) as connection:
            for sql in (
                "CREATE TABLE kept (x int)", "CREATE TEMP TABLE kept (x int)",
                "SELECT pg_read_file('/etc/passwd')", "COPY (SELECT 1) TO PROGRAM 'true'",
                "SELECT lo_create(0)", "CREATE ROLE somebody", "SELECT pg_sleep(60)",
            ):  # fmt: skip
                with pytest.raises(psycopg.Error):
                    connection.execute(sql.encode())
        assert oct(made.folder.stat().st_mode & 0o777) == "0o700"
        assert "password" not in made.address("town")
        folder = made.folder
    finally:
        catalogue.close()
    assert not folder.exists()


@pytest.mark.slow
def test_where_there_is_no_postgresql_tools_are_told_and_questions_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_binaries", lambda: iter(()))
    made = make_hospital(tmp_path / "hospital")
    with served([made], ServerSettings(port=0, wire=("127.0.0.1", 0))) as server:
        host, _, port = server.server.wire.rpartition(":")
        with psycopg.connect(
            host=host, port=int(port), user="ana", password=server.token("ana"),
            dbname="hospital", autocommit=True,
        ) as ana:  # fmt: skip
            with pytest.raises(psycopg.Error, match="none is installed"):
                ana.execute("SELECT relname FROM pg_class")
            ana.execute("SET sanql.epsilon = 0.01")
            assert len(ana.execute("SELECT COUNT(*) FROM people").fetchall()) == 1
        assert any(each["event"] == "catalogue" for each in server.events())


@pytest.mark.slow
def test_a_column_that_postgresql_does_not_take_leaves_questions_as_they_are(
    tmp_path: Path,
) -> None:
    catalogue = Catalogue("town")
    column = SchemaColumn("xmin", "integer")
    schema = Schema("town", "add-remove", (SchemaTable("people", False, "id", {}, (column,)),))
    with pytest.raises(ServerError, match="refuses its names"):
        catalogue.prepare(schema)
    with pytest.raises(ServerError, match="refuses its names"):  # and is not tried again at once
        catalogue.prepare(schema)


@pytest.mark.slow
def test_one_that_was_killed_is_started_again() -> None:
    catalogue = Catalogue("town")
    schema = Schema("town", "add-remove", ())
    try:
        catalogue.prepare(schema)
        first = catalogue._cluster
        assert first is not None and first._process is not None
        first._process.kill()
        first._process.wait()
        catalogue.prepare(schema)
        assert catalogue._cluster is not first and not first.folder.exists()
        assert asyncio.run(catalogue.ask("ana", "SELECT 1")).rows == [[b"1"]]
    finally:
        catalogue.close()


ENDLESS = "SELECT COUNT(*) FROM pg_proc a, pg_proc b, pg_proc c, pg_proc d"


@pytest.mark.slow
def test_a_question_that_is_cancelled_ends_in_the_shadow_too() -> None:
    """Nothing else would end it: the limit of time, and the look for who has gone, are switched off."""
    catalogue, watch = Catalogue("town"), Watch()

    def readers(address: str) -> int:
        counted = "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'analyst'"
        with psycopg.connect(address, autocommit=True) as owner:
            [[number]] = owner.execute(counted).fetchall()
        return int(number)

    def cancel_later(address: str) -> None:
        while not readers(address):
            time.sleep(0.02)
        time.sleep(0.2)  # so that it computes by then
        watch.cancel()

    try:
        catalogue.prepare(Schema("town", "add-remove", ()))
        assert catalogue._cluster is not None
        address = catalogue._cluster.address("town")
        with psycopg.connect(address, autocommit=True) as owner:
            owner.execute("ALTER ROLE analyst SET statement_timeout = 0")
            owner.execute("ALTER ROLE analyst SET client_connection_check_interval = 0")
        later = threading.Thread(target=cancel_later, args=(address,))
        later.start()
        with watched_by(watch), pytest.raises(Unavailable, match="nothing was charged"):
            asyncio.run(catalogue.ask("ana", ENDLESS))
        later.join()
        deadline = time.monotonic() + 20
        while readers(address):
            assert time.monotonic() < deadline, "it computes on"
            time.sleep(0.05)
        assert asyncio.run(catalogue.ask("ana", "SELECT 1")).rows == [[b"1"]]
    finally:
        catalogue.close()


@pytest.mark.slow
@pytest.mark.parametrize("prepare", [False, True])
def test_a_tool_cancels_what_it_asks_of_the_catalogue(connect: Connect, prepare: bool) -> None:
    ana = connect()
    timer = threading.Timer(0.5, ana.cancel_safe)
    timer.start()
    with pytest.raises(psycopg.errors.QueryCanceled, match="the question was cancelled"):
        ana.execute(ENDLESS, prepare=prepare)
    timer.join()
    assert ana.execute("SELECT 1").fetchall() == [(1,)]


def test_names_that_no_database_may_have_have_no_catalogue() -> None:
    with pytest.raises(ServerError, match="template1"):
        Catalogue("template1").prepare(Schema("template1", "add-remove", ()))


COMMANDS = r"\dt \d \d+ \l \dn \df \dv \di \du \dT \dp \ds \conninfo"


@needs_psql
@pytest.mark.slow
def test_psql_lists_and_describes(hospital: Served) -> None:
    asked = "\n".join([*COMMANDS.split(), r"\d people", r"\d+ people", "SELECT 1 AS alive;"])
    shown = psql(hospital, asked)
    assert "public | people | table" in shown and 'Table "public.people"' in shown
    assert "0 to 110" in shown and "one of F, M, X" in shown and "alive" in shown


@needs_psql
@pytest.mark.slow
def test_psql_completes_names_and_keeps_variables(hospital: Served) -> None:
    asked = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.01) COUNT(*) AS n FROM people"
        " WHERE age > :least \\gset\n\\echo found :n\n"
    )
    assert "found " in psql(hospital, asked, "-v", "least=41")


def psql(hospital: Served, asked: str, *more: str) -> str:
    host, _, port = hospital.server.wire.rpartition(":")
    there = f"host={host} port={port} user=ana dbname=hospital"
    done = subprocess.run(
        ["psql", there, "-X", "-v", "ON_ERROR_STOP=1", *more],
        input=asked, capture_output=True, text=True, timeout=60, check=False,
        env={"PGPASSWORD": hospital.token("ana"), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    made = make_hospital(tmp_path_factory.mktemp("growing"))
    with served([made], ServerSettings(port=0, wire=("127.0.0.1", 0))) as server:
        yield server, made


@pytest.mark.slow
def test_the_catalogue_follows_the_policy(growing: tuple[Served, Path]) -> None:
    server, made = growing
    columns = "SELECT attname FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0"
    host, _, port = server.server.wire.rpartition(":")
    with psycopg.connect(
        host=host, port=int(port), user="ana", password=server.token("ana"), dbname="hospital",
        autocommit=True,
    ) as ana:  # fmt: skip
        before = {name for (name,) in ana.execute(columns).fetchall()}
        text = made.read_text()
        (line,) = [each for each in text.splitlines() if each.startswith("kind ")]
        made.write_text(text.replace(line + "\n", ""))
        server.server._reload_now()
        after = {name for (name,) in ana.execute(columns).fetchall()}
    assert before - after == {"kind"}
