"""Worlds to ask questions of: in memory without noise, or through San with any sampler."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privacy import chains
from privacy.worlds import ENGINE, UNITS, Bounding, Database, Row, source_of, write_policy
from sanql.execute.statement import statement
from sanql.parse import parse
from sanql.plan import Plan, outline, plan
from sanql.policy import Neighbours

Exact = Callable[..., tuple[Plan, list[dict[str, Any]]]]
EMPTY: Row = dict.fromkeys(ENGINE)


@pytest.fixture
def exact(tmp_path: Path) -> Exact:
    """Return a function that plans a question and runs it without noise on the rows given."""

    def run(
        sql: str,
        rows: list[Row],
        *,
        neighbours: Neighbours = "add-remove",
        bounding: Bounding = Bounding(4, 2, 3),  # noqa: B008  (frozen)
        secret: int = 7,
    ) -> tuple[Plan, list[dict[str, Any]]]:
        limits = {table: bounding for table, unit in UNITS.items() if unit is not None}
        policy = write_policy(tmp_path, neighbours, limits)
        query = parse(sql, policy.tables).query
        planned = plan(outline(query, policy.tables, neighbours), Fraction(1), Fraction(1, 1000))
        database = Database()
        database.load(query.table, [{**EMPTY, **row} for row in rows])
        cells = database.cells(statement(planned, source_of(policy), secret))
        return planned, cells.to_pylist()

    return run


Linked = Callable[..., tuple[Plan, list[dict[str, Any]]]]


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    """Return a function that runs a question without noise on tables that refer to each other.

    Nothing reaches the limits, so what it returns is what plain SQL means.
    """

    def run(
        sql: str,
        rows: dict[str, list[Row]],
        *,
        neighbours: Neighbours = "add-remove",
        database: chains.Database | None = None,
    ) -> tuple[Plan, list[dict[str, Any]]]:
        policy = chains.write_policy(tmp_path, neighbours, None)
        query = parse(sql, policy.tables).query
        outlined = outline(query, policy.tables, neighbours)
        planned = plan(outlined, Fraction(1), Fraction(1, 1000))
        opened = database or chains.Database()
        opened.load(chains.complete(rows))
        cells = opened.cells(statement(planned, chains.source_of(policy), 7))
        return planned, cells.to_pylist()

    return run
