"""The one place where an engine is chosen.

Policies do not name one: people's questions run in worker processes, which the operating system confines.
"""

from __future__ import annotations

from collections.abc import Callable

from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.in_process.engine import InProcessEngine
from sanql.engines.protocol import Engine

WORKERS = "workers"
ENGINE_KINDS: dict[str, Callable[[], Engine]] = {
    WORKERS: WorkerEngine,
    "in_process": InProcessEngine,
}


def open_engine(kind: str = WORKERS) -> Engine:
    """Return an engine of a kind; ValueError with the kinds there are for any other.

    >>> open_engine("spark")
    Traceback (most recent call last):
    ValueError: there is no engine 'spark'; there are: workers, in_process
    """
    if kind not in ENGINE_KINDS:
        raise ValueError(f"there is no engine {kind!r}; there are: {', '.join(ENGINE_KINDS)}")
    return ENGINE_KINDS[kind]()
