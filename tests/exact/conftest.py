"""Towns to ask exact questions of, and DuckDB's own answers to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sanql
from exact.towns import DECLARED, POLICY, ROWS, Town, Truth, write_people, write_policy
from sanql import San


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    """Return a function that opens the town with exact declarations, by name or as text.

    `rows` makes the data anew; without it they are written once and left alone.
    """
    with ExitStack() as opened:

        def make(exact: str = "score", *, rows: str | None = None, policy: str = POLICY) -> San:
            if rows is not None or not (tmp_path / "people.parquet").exists():
                write_people(tmp_path, rows or ROWS)
            path = write_policy(tmp_path, DECLARED.get(exact, exact), policy)
            return opened.enter_context(sanql.open(path))

        yield make


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    """Return a function that asks DuckDB about the town's file, exactly and with no protection."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        path = tmp_path / "people.parquet"
        return duckdb.sql(sql.replace("FROM people", f"FROM '{path}' AS people")).fetchall()

    return ask
