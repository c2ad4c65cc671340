"""What does not fit in a PostgreSQL database is named before a row is read, and no value is told."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

import sanql
from sanql.errors import PolicyError
from sanql.policy import load
from sanql.sources import take_snapshot
from sources.postgres_tables import COUNT, People, Statements, kept, one_table
from sources.source_contract import POLICY
from support.policies import dataset
from support.postgres import PASSWORD, PostgresServer
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

FAULTS = {
    "view": ("CREATE VIEW t AS SELECT 1 AS id, 2 AS x", "public.t is a view & MATERIALIZED"),
    "missing": ("SELECT 1", "no such table in its schemas public & schemas ="),
    "near": ("CREATE TABLE tt (id int)", "no such table"),
    "column": ("CREATE TABLE t (id int, xx int)", 'no column "x" & did you mean'),
    "case": ('CREATE TABLE t (id int, "X" int, "x" int)', ""),
    "type": ("CREATE TABLE t (id int, x date)", 'stores "x" as DATE, which is no integer'),
    "unit": ("CREATE TABLE t (id interval, x int)", '"id" is of type interval, of which equal'),
    "float": ("CREATE TABLE t (id float8, x int)", "of type float8, of which equal"),
    "collation": (
        "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
        " CREATE TABLE t (id text COLLATE blind, x int)",
        "of which equal values may differ",
    ),
    "own type": (
        "CREATE TYPE pair AS (a int, b int); CREATE TABLE t (id int, x pair)",
        "none of PostgreSQL's own",
    ),
    "rows": (
        "CREATE TABLE t (id int, x int); ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "row level security & BYPASSRLS",
    ),
    "foreign part": (
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;"
        " CREATE TABLE t (id int, x int) PARTITION BY LIST (x);"
        " CREATE FOREIGN TABLE f PARTITION OF t DEFAULT SERVER s",
        "a part that is a foreign table",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_what_does_not_fit_is_named_before_a_row_is_read(
    what: str, server: PostgresServer, database: str, run: Statements, tmp_path: Path
) -> None:
    statements, words = FAULTS[what]
    try:
        run(statements)
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("the server has no such collations")
    run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO sanql")
    policy = one_table(server, database, tmp_path, 'x = { type = "integer", bounds = [0, 1] }\n')
    if not words:
        take_snapshot(policy, None)
        return
    with pytest.raises(PolicyError) as caught:
        take_snapshot(policy, None)
    said = str(caught.value)
    assert [word for word in words.split(" & ") if word not in said] == [], said
    assert not [*Path(policy.source).glob("*.parquet")]


def test_names_that_differ_by_case_alone_are_not_guessed_at(
    run: Statements, people: People, policy: Path
) -> None:
    people(5)
    run('ALTER TABLE people RENAME TO "People"', 'CREATE TABLE "PEOPLE" (LIKE "People")')
    with pytest.raises(PolicyError, match="the schema public has PEOPLE, People; spell"):
        take_snapshot(load(policy), None)
    run('DROP TABLE "PEOPLE"')
    take_snapshot(load(policy), None)
    assert len(kept(load(policy), "people")["age"]) == 5


def test_a_column_and_a_table_that_may_not_be_read_are_named(
    run: Statements, people: People, policy: Path
) -> None:
    people(5)
    run("REVOKE ALL ON people FROM sanql", "GRANT SELECT (person_id) ON people TO sanql")
    with pytest.raises(PolicyError, match=r'table.people.column.age: the column "age" may not be'):
        take_snapshot(load(policy), None)


def test_tables_are_looked_for_in_the_schemas_in_turn(
    server: PostgresServer, database: str, run: Statements, tmp_path: Path
) -> None:
    for schema, value in (("b", 1), ("a", 2), ("public", 3)):
        run(f"CREATE SCHEMA IF NOT EXISTS {schema}", f"CREATE TABLE {schema}.t (id int)")
        run(f"INSERT INTO {schema}.t VALUES ({value})", f"GRANT USAGE ON SCHEMA {schema} TO sanql")
        run(f"GRANT SELECT ON {schema}.t TO sanql")
    for more, value in (("", 3), ('schemas = ["b", "a"]', 1), ('schemas = ["none", "a"]', 2)):
        policy = one_table(server, database, tmp_path, "", more)
        take_snapshot(policy, None)
        assert kept(policy) == {"id": [value]}


def test_names_are_quoted_whatever_they_are(
    server: PostgresServer, database: str, run: Statements, tmp_path: Path
) -> None:
    run('CREATE TABLE "T; drop {0} %s" ("Id %s" int)', 'INSERT INTO "T; drop {0} %s" VALUES (4)')
    run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO sanql")
    text = dataset(server.url(database), name="town", epsilon=1)
    text += '[table."t; drop {0} %s"]\nprivacy_unit = "id %s"\nrows_per_unit_max = 1\n'
    (tmp_path / "policy.toml").write_text(text)
    policy = load(tmp_path / "policy.toml")
    take_snapshot(policy, None)
    assert kept(policy, "t; drop {0} %s") == {"Id %s": [4]}


def test_the_password_is_read_from_a_file_and_never_told(
    server: PostgresServer,
    database: str,
    people: People,
    policy: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people(4)
    for variable in ("PGPASSWORD", "PGPASSFILE", "SANQL_SOURCE_PASSWORD_FILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PGPASSFILE", str(policy.with_name("none")))
    text = POLICY.format(source=server.url_over_tcp(database))
    policy.write_text(text)
    with pytest.raises(PolicyError, match="asks for a password, and there is none"):
        sanql.open(policy)
    secret = policy.with_name("secret")
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    named = text.replace("[dataset]\n", '[dataset]\nsource_password_file = "secret"\n')
    policy.write_text(named)
    with pytest.raises(PolicyError, match="open to others"):
        sanql.open(policy)
    secret.chmod(0o600)
    take_snapshot(load(policy), None)
    policy.write_text(text)
    monkeypatch.setenv("SANQL_SOURCE_PASSWORD_FILE", str(secret))
    take_snapshot(load(policy), None)
    secret.write_text("wrong-horse")
    with pytest.raises(PolicyError) as caught:
        take_snapshot(load(policy), None)
    assert "cannot be reached" in str(caught.value) and "wrong" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_open_account_answers_while_the_database_is_away(
    server: PostgresServer, people: People, policy: Path
) -> None:
    people(7)
    with sanql.San(load(policy), sampler=SilentSampler()) as san:
        san.query(COUNT, epsilon="0.1")
    server.stop()
    try:
        with sanql.San(load(policy), sampler=SilentSampler()) as san:
            assert san.query("SELECT SUM(age) FROM people", epsilon="0.1").rows == [(161,)]
            with pytest.raises(PolicyError, match="cannot be reached"):
                san.refresh()
    finally:
        server.start()
