"""Worlds to ask questions of: in memory without noise, or through San with any sampler."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privacy import chains
from privacy.worlds import ENGINE, UNITS, Bounding, Database, Row, source_of, write_policy
from sanql.compile.statement import compile_plan
from sanql.plan.level import Level
from sanql.policy.model import Neighbours
from support.cells import in_grid, priced, priced_dropping

Exact = Callable[..., tuple[Level, list[dict[str, Any]]]]
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
        dropping: bool = False,
    ) -> tuple[Level, list[dict[str, Any]]]:
        limits = {table: bounding for table, unit in UNITS.items() if unit is not None}
        policy = write_policy(tmp_path, neighbours, limits)
        plans = priced_dropping if dropping else priced
        planned = plans(sql, policy.tables, neighbours).levels[0]
        database = Database()
        database.load(planned.outline.query.table, [{**EMPTY, **row} for row in rows])
        cells = database.cells(compile_plan(planned, source_of(policy), secret))
        return planned, in_grid(planned, cells.to_pylist())

    return run


Linked = Callable[..., tuple[Level, list[dict[str, Any]]]]


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
    ) -> tuple[Level, list[dict[str, Any]]]:
        policy = chains.write_policy(tmp_path, neighbours, None)
        planned = priced(sql, policy.tables, neighbours).levels[0]
        opened = database or chains.Database()
        opened.load(chains.complete(rows))
        cells = opened.cells(compile_plan(planned, chains.source_of(policy), 7))
        return planned, in_grid(planned, cells.to_pylist())

    return run
