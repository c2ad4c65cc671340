"""The ledger's file as whoever checks it sees it: one view, opened for reading only."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sanql.account.ledger.chain import Head, head_path, read_head, read_pinned_text
from sanql.account.ledger.pinning import LOCK_SECONDS
from sanql.account.stores.protocol import StoredRow
from sanql.errors import LedgerUnreadable

READ_AFTER = (
    "SELECT sequence, kind, body, previous, hash FROM record WHERE sequence > ? ORDER BY sequence"
)
"""The records after a sequence."""


class SqliteReader:
    """One view of the ledger's file, opened for reading only."""

    faults: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeError)

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    def check_rights(self, fault: Exception) -> None:
        """Raise LedgerUnreadable where SQLite could not begin, for want of rights to the folder."""
        code = primary_code(fault) if isinstance(fault, sqlite3.Error) else sqlite3.SQLITE_ERROR
        effective = os.access in os.supports_effective_ids
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) and not os.access(
            self._path.parent, os.W_OK, effective_ids=effective
        ):
            raise LedgerUnreadable(self._path.name) from fault

    def rows(self, after: int) -> Iterable[StoredRow]:
        """Return the records after a sequence, oldest first."""
        self._begin()
        return self._connection.execute(READ_AFTER, (after,))

    def answers(self) -> Mapping[object, object]:
        """Return every answer that is kept, by its reservation."""
        self._begin()
        return dict(self._connection.execute("SELECT reservation, content FROM answer"))

    def note(self, kind: str, key: str) -> bytes | None:
        """Return a note, or None."""
        query = "SELECT content FROM note WHERE kind = ? AND key = ?"
        found = self._connection.execute(query, (kind, key)) if self._has_notes() else ()
        return next((bytes(note) for (note,) in found), None)

    def notes(self, kind: str) -> Iterable[tuple[str, bytes]]:
        """Return the notes of a kind, in the order of their keys."""
        if not self._has_notes():
            return ()
        query = "SELECT key, content FROM note WHERE kind = ? ORDER BY key"
        return self._connection.execute(query, (kind,))

    def all_notes(self) -> Iterable[tuple[tuple[str, str], bytes]]:
        """Return every note with its kind and key."""
        query = "SELECT kind, key, content FROM note"
        found = self._connection.execute(query) if self._has_notes() else ()
        return (((kind, key), note) for kind, key, note in found)

    def _has_notes(self) -> bool:
        self._begin()
        has = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'note'"
        return self._connection.execute(has).fetchone() is not None

    def is_intact(self) -> bool:
        """Return whether SQLite finds every page in order."""
        (first, *_) = self._connection.execute("PRAGMA integrity_check").fetchone()
        return bool(first == "ok")

    def head(self) -> Head | None:
        """Return the head that is pinned beside the file, or None."""
        return read_head(self._path)

    def head_text(self) -> str | None:
        """Return what is pinned beside the file, or None."""
        return read_pinned_text(head_path(self._path))

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN")


@contextmanager
def read_only(path: Path) -> Iterator[SqliteReader]:
    """Hold one view of a ledger's file, without changing anything about it."""
    with closing(
        sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=LOCK_SECONDS,
            isolation_level=None,
        )
    ) as connection:
        yield SqliteReader(path, connection)


def primary_code(fault: sqlite3.Error) -> int:
    """Return SQLite's primary code; errors of the Python module itself have none."""
    code: int = getattr(fault, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF
