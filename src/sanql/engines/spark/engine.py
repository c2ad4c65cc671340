"""The engine of a Spark cluster: sources are looked at here, and questions answered there.

What is about a source before there are questions (its schema, copies of it) and what reads public tables
alone is done by worker processes of this machine. A question about somebody is a job of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable

from sanql.engines.protocol import Engine, Server
from sanql.engines.spark.server import SparkServer
from sanql.kernel import Copy, CopyReport, Inspect, Serve
from sanql.kernel.buckets import MANIFEST
from sanql.policy import SparkCluster


class SparkEngine:
    """Runs the kernel in the executors of a cluster; `here` is the engine of this machine."""

    def __init__(self, cluster: SparkCluster, here: Engine) -> None:
        self._cluster = cluster
        self._here = here

    def describe(self, request: Inspect) -> dict[str, object] | None:
        """Return the names and types in a source, as a worker of this machine found them."""
        return self._here.describe(request)

    def copy(self, request: Copy, begun: Callable[[str], None]) -> CopyReport | None:
        """Return what was seen of a copy that a worker of this machine made."""
        return self._here.copy(request, begun)

    def serve(self, request: Serve) -> Server:
        """Return a server over a layout; over a database of this machine, one of its own."""
        if request.database.name != MANIFEST:
            return self._here.serve(request)
        return SparkServer(request, self._cluster.master)
