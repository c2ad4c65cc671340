"""The interface of engines: what a place where the kernel runs must offer.

An engine looks at sources, copies them, and starts servers: places in which the kernel has prepared data
open and runs one statement at a time. Everything else is the same for all engines and written once: which
server answers and what becomes of one that fails (`pool.py`), the trial of long statements (`trials.py`),
descriptions and copies (`preparation.py`). Another engine is another folder with these two classes, and a
line in `open.py`; `tests/engines/engine_contract.py` is what it must keep.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from sanql.kernel import Copy, CopyReport, Inspect, Serve, Statement

if TYPE_CHECKING:
    import pyarrow

Made_co = TypeVar("Made_co", covariant=True)


class Engine(Protocol):
    """A place where the kernel runs; its errors say nothing of the rows they met."""

    def describe(self, request: Inspect) -> dict[str, object] | None:
        """Return the names and types in a source; None where it cannot be opened.

        No row is read, but of public CSV files that leave their types to their values.
        """

    def copy(self, request: Copy, begun: Callable[[str], None]) -> CopyReport | None:
        """Return what was seen of a copy that was made; None where not all was copied.

        `begun` is told of each file of a table as it begins, and then of each part that is moved.
        """

    def serve(self, request: Serve) -> Server:
        """Return a server that is opening a database; OSError where the machine does not let it begin."""


class Server(Protocol):
    """A database open in the kernel, under its settings, for one statement at a time.

    Where a server cannot do what it is asked, for whatever reason, it raises ChannelLost, and is of no
    more use. One that lets go of its data in the middle of a statement raises ChannelClosed.
    """

    @property
    def pid(self) -> int:
        """The id of the process that it runs in, for those who watch it."""

    def alive(self) -> bool:
        """Return whether it may still be asked."""

    def await_ready(self, deadline: float = math.inf) -> None:
        """Return once the database is open, is the one with the stamp it was asked for, and is locked."""

    def confirm(self) -> None:
        """Return once it is seen to be ready now, and not only when it began."""

    def run(
        self,
        statement: Statement,
        deadline: float,
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Give the result to `take` as it comes; `meanwhile` is done here while the server is busy.

        All of it before the deadline, a reading of `time.monotonic()`.
        """

    def ended_by_others(self) -> bool:
        """Return whether one that has let go was ended from outside, and not by what it was doing."""

    def kill(self) -> None:
        """End what it is doing as soon as can be; from any thread."""

    def discard(self) -> None:
        """Let go of everything it holds; it is asked nothing more."""


class ResultCollector(Protocol[Made_co]):
    """What takes the rows of a result as they come, and makes something of all of them."""

    def take(self, rows: pyarrow.Table, /) -> object:
        """Take some rows."""

    def finish(self) -> Made_co:
        """Return what was made, once there are no more."""
