"""One question in every way that its cells may be computed: original, copy, either engine, many parts.

A copy has the rows of a unit together and their number beside them, so that small units are counted row
by row; an original has neither. Parts take some of the units at a time. A worker is a process by itself.
None of it may change a bit: one secret decides what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from privacy.additivity import Violation, check_same
from sanql.catalog import PreparedSource
from sanql.compile.small_units import rows_without_limits
from sanql.engines import Pool, open_engine, prepare
from sanql.kernel import Statement
from sanql.plan.level import Level
from sanql.policy import Policy

SECRET = 7
MANY = 256
SHORT = 2_500  # every part is planned anew: of longer statements 256 of them take minutes
IN_PROCESS, WORKERS = "in_process", "workers"

Write = Callable[[PreparedSource], Statement]
"""How a level is written over a source."""


class EveryWay:
    """A database that is read where it is, and its copy, each behind either kind of engine."""

    def __init__(self, policy: Policy) -> None:
        """Open everything; what is asked later of the same policy finds the copy."""
        self._closed = ExitStack()
        here = open_engine(IN_PROCESS)
        original = prepare(policy, engine=here)
        copy = prepare(policy, engine=here, copied=True)
        assert not original.buckets, "it is read where it is"
        assert copy.database != original.database
        self.original, self.copy = original, copy
        self._pools = {
            (place, kind): self._closed.enter_context(
                Pool(source, policy.engine, open_engine(kind))
            )
            for place, source in (("original", original), ("copy", copy))
            for kind in (IN_PROCESS, WORKERS)
        }

    def close(self) -> None:
        """Close everything."""
        self._closed.close()

    def has_small_units(self, level: Level) -> bool:
        """Return whether units of the copy may go the short way."""
        return rows_without_limits(level, self.copy) > 0

    def compare(self, level: Level, write: Write, *, many: bool) -> int:
        """Raise a Violation where a way has other cells; return how many were compared.

        With `many` units are taken in 256 parts as well, where there are parts and statements are short.
        """
        first = self._pools["original", IN_PROCESS].run(write(replace(self.original, parts=1)))
        compared = 0
        for place, kind, parts in _ways(many=many):
            source = self.original if place == "original" else self.copy
            sent = write(replace(source, parts=parts))
            if parts > 1 and (sent.partial is None or len(sent.in_full()) > SHORT):
                continue
            try:
                check_same(level, first, self._pools[place, kind].run(sent))
            except Violation as violation:
                raise Violation(f"{place}, {kind}, {parts} parts: {violation}") from None
            compared += 1
        return compared


def _ways(*, many: bool) -> Iterator[tuple[str, str, int]]:
    yield "original", WORKERS, 1
    yield "copy", IN_PROCESS, 1
    yield "copy", WORKERS, 1
    if many:
        yield "original", IN_PROCESS, MANY
        yield "copy", IN_PROCESS, MANY
        yield "copy", WORKERS, MANY
