"""Cursors to run questions on: most questions leave nothing behind and share one, some have their own.

Reading the settings back takes as long as planning a small question. They are locked, so on a cursor that
is kept they are read back once. All that ever runs on it is one SELECT after another; a question for
which tables are made first has a new cursor, which is gone with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import question_cursor

if TYPE_CHECKING:
    import duckdb

    from sanql.kernel.messages import Statement

_QUESTIONS_MAX = 1_000  # on one cursor, whatever the engine may keep of each


class QuestionCursors:
    """The cursors of a locked connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._kept: duckdb.DuckDBPyConnection | None = None
        self._run = 0

    @contextmanager
    def cursor_for(self, statement: Statement) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor whose settings have been read back on it; after a fault it is not used again."""
        if statement.makes_tables:
            with question_cursor(self._connection) as own:
                yield own
            return
        cursor, self._kept = self._kept, None
        if cursor is None:
            cursor, self._run = question_cursor(self._connection), 0
        yield cursor
        self._run += 1
        if self._run < _QUESTIONS_MAX:
            self._kept = cursor
        else:
            cursor.close()
