"""The engine without processes: the same kernel, settings and lock, on connections of this process.

It is for tests and small tools. What worker processes promise and one process cannot:

- memory: the engine's own limit holds, the operating system's does not, and nothing is spilled to disk; a
  question that takes all memory, or makes the engine crash, takes this process along;
- time: a statement is interrupted at its deadline, and its result given to nobody; but the engine looks
  for interrupts only now and then, never while it plans, so the caller may wait for longer;
- files: the engine's file system is switched off, but the process may open what its user may;
- a child that this process forks cannot use what is open here.

Policies cannot choose it (`open.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sanql.engines.in_process.connection import ServingConnection
from sanql.kernel import (
    Copy,
    CopyReport,
    Inspect,
    Needs,
    Serve,
    confine_engine,
    copy_source,
    inspect_source,
    processors,
)

if TYPE_CHECKING:
    import duckdb


class InProcessEngine:
    """Runs the kernel on connections of this process."""

    def describe(self, request: Inspect) -> dict[str, object] | None:
        """Return the names and types in a source; None where it cannot be opened."""
        try:
            return inspect_source(request, _confine)
        except Exception:  # what the engine says about an error quotes data
            return None

    def copy(self, request: Copy, begun: Callable[[str], None]) -> CopyReport | None:
        """Return what was seen of a copy that was made; None where not all was copied."""
        copying = copy_source(request, _confine)
        while True:
            try:
                table = next(copying)
            except StopIteration as end:
                report: CopyReport = end.value
                return report
            except Exception:  # what the engine says about an error quotes data
                return None
            begun(table)

    def serve(self, request: Serve) -> ServingConnection:
        """Return a connection that will open a database when it is first asked."""
        return ServingConnection(request)


def _confine(connection: duckdb.DuckDBPyConnection, needs: Needs) -> None:
    confine_engine(connection, needs, None, processors())
