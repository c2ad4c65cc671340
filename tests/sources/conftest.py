"""A PostgreSQL server that has data, for tests of one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sources.postgres_tables import TABLES, People, Statements
from sources.source_contract import POLICY
from support.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def database(server: PostgresServer) -> str:
    name = server.new_database()
    server.run("REVOKE ALL ON SCHEMA public FROM PUBLIC", database=name)
    server.run("GRANT USAGE ON SCHEMA public TO sanql", database=name)
    return name


@pytest.fixture
def run(server: PostgresServer, database: str) -> Statements:
    return lambda *statements: server.run(*statements, database=database)


@pytest.fixture
def people(run: Statements) -> People:
    def write(rows: int) -> None:
        run(*TABLES, f"INSERT INTO people SELECT i, 20 + i FROM generate_series(0, {rows - 1}) i")

    return write


@pytest.fixture
def policy(server: PostgresServer, database: str, tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY.format(source=server.url(database)))
    return tmp_path / "policy.toml"
