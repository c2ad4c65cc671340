"""Real files, real policies and real worker processes for the tests of execution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import duckdb
import pytest

from sanql.execute import Source, Workers, prepare
from sanql.policy.model import (
    Budget,
    Column,
    ColumnType,
    ColumnUnit,
    EngineLimits,
    Policy,
    RowUnit,
    Table,
)

MakePolicy = Callable[..., Policy]


def build_policy(
    root: Path,
    tables: dict[str, tuple[str | None, dict[str, ColumnType]]],
    source: str = "data",
    limits: EngineLimits | None = None,
) -> Policy:
    """Return a policy that declares tables: name → (unit column, "row" or None; columns)."""
    declared = {}
    for name, (unit, columns) in tables.items():
        kind = None if unit is None else RowUnit() if unit == "row" else ColumnUnit(unit)
        facts = {column: Column(column, type_) for column, type_ in columns.items()}
        declared[name] = Table(name, kind, facts)
    return Policy(
        path=root / "policy.toml",
        name="test",
        source=source,
        ledger=root / "test.ledger",
        neighbours="add-remove",
        budget=Budget(Fraction(1), Fraction(0)),
        accounting="pure",
        tables=declared,
        analysts={},
        coalitions={},
        engine=limits or EngineLimits(512 << 20, 60.0, 1),
        delta_per_query=None,
        failures_max=3,
    )


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
def source(people: Policy) -> Source:
    """Return those people, prepared."""
    return prepare(people)


@pytest.fixture(scope="session")
def database(source: Source) -> Path:
    """Return those people's file."""
    return source.database


@pytest.fixture
def workers(source: Source, people: Policy) -> Iterator[Workers]:
    """Return one worker over those people."""
    with Workers(source, people.engine) as started:
        yield started
