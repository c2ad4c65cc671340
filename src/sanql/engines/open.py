"""The one place where an engine is chosen.

People's questions run in worker processes, which the operating system confines: of this machine or, where
the policy names a cluster, of its executors. A policy chooses nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.encrypted.engine import EncryptedEngine
from sanql.engines.encrypted.key import key_file
from sanql.engines.in_process.engine import InProcessEngine
from sanql.engines.protocol import Engine

if TYPE_CHECKING:
    from sanql.policy import EngineLimits

WORKERS = "workers"
ENGINE_KINDS: dict[str, Callable[[], Engine]] = {
    WORKERS: WorkerEngine,
    "in_process": InProcessEngine,
}


def engine_of(limits: EngineLimits) -> Engine:
    """Return the engine that a policy chooses."""
    file = key_file(limits)
    if file is not None:
        return EncryptedEngine(file, open_engine())
    if limits.spark is None:
        return open_engine()
    from sanql.engines.spark.engine import SparkEngine

    return SparkEngine(limits.spark, open_engine())


def open_engine(kind: str = WORKERS) -> Engine:
    """Return an engine of a kind; ValueError with the kinds there are for any other.

    >>> open_engine("gpu")
    Traceback (most recent call last):
    ValueError: there is no engine 'gpu'; there are: workers, in_process
    """
    if kind not in ENGINE_KINDS:
        raise ValueError(f"there is no engine {kind!r}; there are: {', '.join(ENGINE_KINDS)}")
    return ENGINE_KINDS[kind]()
