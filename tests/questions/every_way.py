"""One question in every way that its cells may be computed: original, copy, either engine, many parts.

A copy has the rows of a unit together and their number beside them, so that small units are counted row
by row, and rows added up by every column that they may be added up by; an original has none of it. Parts
take some of the units at a time. A worker is a process by itself. None of it may change a bit: one secret
decides what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

from privacy.additivity import Violation, check_same
from sanql.catalog import PreparedSource, Summary
from sanql.compile.small_units import rows_without_limits
from sanql.compile.summaries import summed_rows
from sanql.engines import Pool, open_engine, prepare
from sanql.kernel import Statement
from sanql.plan.level import Level
from sanql.policy import ColumnUnit, Policy, Summaries

SECRET = 7
MANY = 256
NUMBERS, ROUNDED = ("integer", "decimal", "float"), ("decimal", "float")
BLOCKS = 3  # in which pairs of unknown keys are found, where there is a copy
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
        copy = prepare(adding_up_all(policy), engine=here, copied=True)
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

    def is_added_up(self, level: Level) -> bool:
        """Return whether a question is computed from rows of the copy that are added up."""
        return summed_rows(level, self.copy) is not None

    def compare(self, level: Level, write: Write, *, many: bool) -> int:
        """Raise a Violation where a way has other cells; return how many were compared.

        With `many` units are taken in 256 parts as well, where there are parts and statements are short.
        """
        first = self._pools["original", IN_PROCESS].run(write(replace(self.original, parts=1)))
        compared = 0
        for place, kind, parts, added_up in _ways(many=many):
            if added_up and not self.is_added_up(level):
                continue
            source = replace(self.original if place == "original" else self.copy, parts=parts)
            if kind == IN_PROCESS:
                source = replace(source, blocks=BLOCKS)
            if added_up:
                source = replace(source, summaries=in_parts(source.summaries, parts))
            sent = write(source if added_up else replace(source, summaries={}))
            if parts > 1 and (sent.partial is None or len(sent.in_full()) > SHORT):
                continue
            try:
                check_same(level, first, self._pools[place, kind].run(sent))
            except Violation as violation:
                way = f"{place}, {kind}, {parts} parts{', added up' if added_up else ''}"
                raise Violation(f"{way}: {violation}") from None
            compared += 1
        return compared


def adding_up_all(policy: Policy) -> Policy:
    """Return a policy whose copy has the rows of its tables added up by whatever they may be."""
    tables = {}
    for name, table in policy.tables.items():
        tables[name] = table
        if isinstance(table.unit, ColumnUnit):
            whose, columns = table.unit.column.lower(), table.columns.values()
            by = (c.name for c in columns if c.type not in ROUNDED and c.name.lower() != whose)
            of = (c.name for c in columns if c.type in NUMBERS and c.bounds is not None)
            numbers = tuple(of)
            tables[name] = replace(table, summaries=Summaries(tuple(by), numbers, numbers))
    return replace(policy, tables=tables)


def in_parts(
    summaries: Mapping[str, tuple[Summary, ...]], parts: int
) -> dict[str, tuple[Summary, ...]]:
    """Return rows that are added up, taken in so many parts."""
    return {
        name: tuple(replace(summary, parts=parts) for summary in each)
        for name, each in summaries.items()
    }


def _ways(*, many: bool) -> Iterator[tuple[str, str, int, bool]]:
    yield "original", WORKERS, 1, False
    yield "copy", IN_PROCESS, 1, False
    yield "copy", WORKERS, 1, False
    yield "copy", IN_PROCESS, 1, True
    yield "copy", WORKERS, 1, True
    if many:
        yield "original", IN_PROCESS, MANY, False
        yield "copy", IN_PROCESS, MANY, False
        yield "copy", WORKERS, MANY, False
        yield "copy", IN_PROCESS, MANY, True
