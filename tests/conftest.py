"""Real files, real policies and real worker processes, for whoever tests what reads rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import duckdb
import pytest

from sanql.catalog.description import PreparedSource
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.in_process.engine import InProcessEngine
from sanql.engines.open import ENGINE_KINDS, WORKERS
from sanql.engines.pool import Pool
from sanql.engines.preparation import prepare
from sanql.kernel.stored_types import ColumnType
from sanql.policy.model import Policy
from support.policies import build_policy
from support.postgres import PostgresServer, postgres_server

MakePolicy = Callable[..., Policy]


@pytest.fixture
def make_policy(tmp_path: Path) -> MakePolicy:
    """Return a function that declares tables over files in the test's own folder."""
    return partial(build_policy, tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the empty folder `data/` that policies name as their source."""
    made = tmp_path / "data"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Return a PostgreSQL server that the tests of one process share; nobody stops or kills it."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Return a policy over a DuckDB file with a thousand people, which no test may change."""
    root = tmp_path_factory.mktemp("people")
    with duckdb.connect(str(root / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS person_id, (range % 90)::INTEGER AS age, "
            "'city ' || range % 7 AS city FROM range(1000)"
        )
    columns: dict[str, ColumnType] = {"age": "integer", "city": "text"}
    return build_policy(root, {"people": ("person_id", columns)}, "people.duckdb")


@pytest.fixture(scope="session")
def source(people: Policy) -> PreparedSource:
    """Return those people, prepared."""
    return prepare(people)


@pytest.fixture(scope="session")
def database(source: PreparedSource) -> Path:
    """Return those people's file."""
    return source.database


@pytest.fixture
def workers(source: PreparedSource, people: Policy) -> Iterator[Pool]:
    """Return one worker over those people."""
    with Pool(source, people.engine, WorkerEngine()) as started:
        yield started


@pytest.fixture(scope="module")
def in_this_process() -> Iterator[None]:
    """Have this process run what workers would: they take a second to start, and are tested elsewhere.

    For tests of what comes before and after the engine, which keeps one contract in both.
    """
    with pytest.MonkeyPatch.context() as changed:
        changed.setitem(ENGINE_KINDS, WORKERS, InProcessEngine)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks a server that has to be started is slow."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        served = item.path.parent.name in ("server", "wire", "web") and fixtures & {
            "hospital",
            "policy",
        }
        if served or "postgres" in fixtures:
            item.add_marker(pytest.mark.slow)
