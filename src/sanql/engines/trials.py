"""Long statements tried on empty tables, before anything is charged for them.

What the engine needs to plan a statement grows with what it says in ways that no count of letters,
joins or subqueries foretells: 32 correlated EXISTS take two seconds, 64 of them minutes. So a long
statement is first run by a server over a database of the same tables without rows, in a share of the
time and memory that the answer will have. Whether that succeeds depends on the question, the policy
and the machine, never on a row: those are not there. Where it fails, the question is refused.

Short statements are not tried: planning them twice would cost every question some milliseconds. What
takes long is a product of many parts, and each takes a hundred letters or more: of the shapes that
`tests/engines/test_trials.py` makes as large as `LENGTH_UNTRIED` lets them be, none took a second. The
server is started with the first long one, and it is one alone: what is tried costs nothing, so it may
not use more than one process.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.catalog import PreparedSource
from sanql.compile import ReleasedAnswer, compile_plan
from sanql.engines.pool import Pool
from sanql.engines.protocol import Engine
from sanql.errors import Refused, Unavailable
from sanql.kernel import CATALOG, Statement, locked_spill, quote_name, remove_folder

if TYPE_CHECKING:
    from sanql.plan import Level
    from sanql.policy import EngineLimits

LENGTH_UNTRIED = 8_000
_TIME_SHARE = 4  # the answer must be planned again, and then computed
_MEMORY_SHARE = 2


class Trials:
    """Tries statements on empty copies of a source's tables; safe to share among threads."""

    def __init__(self, source: PreparedSource, limits: EngineLimits, engine: Engine) -> None:
        self._engine = engine
        self._plain = replace(
            source,
            relations={
                table: f'{quote_name(CATALOG)}."main".{quote_name(table)}' for table in source.types
            },
            scans={table: _named(types) for table, types in source.types.items()},
            parts=1,
            parts_by_key=1,
            blocks=1,
            buckets={},
            units={},
            one_row=frozenset(),
            row_counts={},
            summaries={},
            spread=False,
        )
        is_copy = (source.relations, source.scans) == (self._plain.relations, self._plain.scans)
        self._is_longer = is_copy and not (source.units or source.one_row or source.summaries)
        self._limits = replace(
            limits,
            workers=1,
            deadline_seconds=limits.deadline_seconds / _TIME_SHARE,
            memory_bytes=limits.memory_bytes // _MEMORY_SHARE,
        )
        self._lock = threading.Lock()
        self._begun: tuple[PreparedSource, Pool] | None = None

    def check(self, level: Level, sent: Statement, released: Sequence[ReleasedAnswer] = ()) -> None:
        """Raise Refused where the engine cannot plan a level's statement, which reads no rows of others.

        What is tried has columns named as in a copy, follows references, limits all units, and takes them
        at once: how the source is read may hang on its rows, and decides nothing. Where the source is a
        copy of whose rows nothing was seen that shortens statements, what is `sent` differs from that by
        its secret and by what it says of parts. No secret is shorter than 0: if it is short, so is what
        would be tried.
        """
        if self._is_longer and len(sent.in_full()) <= LENGTH_UNTRIED:
            return
        tried = compile_plan(level, self._plain, 0, released)
        if len(tried.in_full()) <= LENGTH_UNTRIED:
            return
        try:
            self._begin()[1].run(tried)
        except Unavailable as fault:
            if fault.code != "unavailable":  # it was not even begun
                raise
            raise self._refusal() from None

    def close(self) -> None:
        """End the server, if there is one, and remove its tables."""
        with self._lock:
            begun, self._begun = self._begun, None
        if begun is not None:
            begun[1].close()
            self._remove()

    def retire(self) -> None:
        """Let go of the server, once it has tried what it is trying."""
        with self._lock:
            begun, self._begun = self._begun, None
        if begun is not None:
            begun[1].retire()

    def _begin(self) -> tuple[PreparedSource, Pool]:
        with self._lock:
            if self._begun is None:
                folder, lock = locked_spill()
                empty = _without_rows(self._plain, folder / "empty.duckdb")
                pool = Pool(empty, self._limits, self._engine)
                self._remove = weakref.finalize(pool, _removed, folder, lock, os.getpid())
                self._begun = empty, pool
            return self._begun

    def _refusal(self) -> Refused:
        seconds, megabytes = self._limits.deadline_seconds, self._limits.memory_bytes // 10**6
        return Refused(
            "query_too_complex",
            f"the engine cannot plan this question in {seconds:g} seconds and {megabytes:,} MB, which "
            "does not depend on the data",
            "nothing was charged: ask fewer statistics, subqueries and joins at once, in several "
            "questions",
        )


def _without_rows(source: PreparedSource, database: Path) -> PreparedSource:
    """Return a source with the same tables as another, and no rows in them."""
    import duckdb

    with duckdb.connect(str(database)) as connection:
        for table, types in source.types.items():
            columns = ", ".join(f"{quote_name(name)} {kind}" for name, kind in types.items())
            connection.execute(f"CREATE TABLE {quote_name(table)} ({columns or 'row BOOLEAN'})")
    return replace(
        source,
        database=database,
        stamp=None,
    )


def _named(types: Mapping[str, str]) -> dict[str, str]:
    return {name: quote_name(name) for name in types}


def _removed(folder: Path, lock: int, owner: int) -> None:
    if owner != os.getpid():
        return  # a forked child ends: the folder is its parent's
    remove_folder(folder, lock)
