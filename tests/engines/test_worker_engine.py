"""The engine of worker processes keeps what every engine keeps, and shares the processors."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from engines.engine_contract import EngineContract
from sanql.catalog import PreparedSource
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.kernel import Statement
from sanql.policy import Policy

pytestmark = pytest.mark.slow


class TestWorkerEngine(EngineContract):
    """In processes that the operating system confines."""

    kind = "workers"


@pytest.mark.parametrize("count", [1, 2, 64])
def test_workers_share_the_processors(source: PreparedSource, people: Policy, count: int) -> None:
    with Pool(source, replace(people.engine, workers=count), WorkerEngine()) as workers:
        used = workers.run(Statement("SELECT current_setting('threads')::BIGINT AS n"))
    assert used.column("n").to_pylist() == [max(1, len(os.sched_getaffinity(0)) // count)]
