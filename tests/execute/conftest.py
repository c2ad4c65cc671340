"""Real files, real policies and real worker processes for the tests of execution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
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


@pytest.fixture
def make_policy(tmp_path: Path) -> MakePolicy:
    """Return a function that declares tables: name → (unit column, "row" or None, columns)."""

    def make(
        tables: dict[str, tuple[str | None, dict[str, ColumnType]]],
        source: str = "data",
        limits: EngineLimits | None = None,
    ) -> Policy:
        declared = {}
        for name, (unit, columns) in tables.items():
            kind = None if unit is None else RowUnit() if unit == "row" else ColumnUnit(unit)
            facts = {column: Column(column, type_) for column, type_ in columns.items()}
            declared[name] = Table(name, kind, facts)
        return Policy(
            path=tmp_path / "policy.toml",
            name="test",
            source=source,
            ledger=tmp_path / "test.ledger",
            neighbours="add-remove",
            budget=Budget(Fraction(1), Fraction(0)),
            accounting="pure",
            tables=declared,
            analysts={},
            coalitions={},
            engine=limits or EngineLimits(512 << 20, 20.0, 1),
            delta_per_query=None,
            failures_max=3,
        )

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the empty folder `data/` that policies name as their source."""
    made = tmp_path / "data"
    made.mkdir()
    return made


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return a DuckDB file with a thousand people."""
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS person_id, (range % 90)::INTEGER AS age, "
            "'city ' || range % 7 AS city FROM range(1000)"
        )
    return path


@pytest.fixture
def people(make_policy: MakePolicy, database: Path) -> Policy:
    """Return a policy over those people."""
    return make_policy({"people": ("person_id", {"age": "integer", "city": "text"})}, database.name)


@pytest.fixture
def source(people: Policy) -> Source:
    """Return those people, prepared."""
    return prepare(people)


@pytest.fixture
def workers(source: Source, people: Policy) -> Iterator[Workers]:
    """Return one worker over those people."""
    with Workers(source, people.engine) as started:
        yield started
