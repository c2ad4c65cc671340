"""The ledger's file: one SQLite database that processes share, append to and never change.

A write is one `BEGIN IMMEDIATE` transaction, so what is decided inside is decided on the newest state.
A commit is on disk (write-ahead log, synchronous = FULL) when it returns. The head is pinned in a
second file beside it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from sanql.account.claims.address import name_identity_of
from sanql.account.ledger.chain import (
    GIVE_UP,
    Head,
    LedgerRecord,
    check_readable,
    damaged,
    head_path,
    read_head,
    read_pinned,
    write_pinned,
)
from sanql.account.ledger.pinning import LOCK_SECONDS, sole_identity
from sanql.account.ledger.places import unwritable
from sanql.account.stores.asking import asking_alone
from sanql.account.stores.protocol import StoredRow
from sanql.account.stores.sqlite_reader import READ_AFTER, primary_code
from sanql.errors import LedgerError

_CONNECTING = threading.Lock()
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS record (
        sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL,
        previous TEXT NOT NULL, hash TEXT NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS answer (
        reservation INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT""",
    *(
        f"""CREATE TRIGGER IF NOT EXISTS {table}_{verb} BEFORE {verb} ON {table}
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"""
        for table in ("record", "answer")
        for verb in ("UPDATE", "DELETE")
    ),
)
_NOTES = """CREATE TABLE IF NOT EXISTS note (
    kind TEXT NOT NULL, key TEXT NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (kind, key)) STRICT, WITHOUT ROWID"""
_TEXT_OF_RECORDS = """SELECT CAST(sequence || char(10) || kind || char(10) || body || char(10)
    || previous || char(10) || hash || char(10) AS BLOB)
    FROM record WHERE sequence > ? AND sequence <= ? ORDER BY sequence"""
_LOG_SECONDS = 5  # to wait for whoever reads the log; nobody writes meanwhile
_LOG_IN_USE = (
    "the log beside the ledger still has it, because somebody reads the ledger at the moment: say the"
    " same once more when they are done"
)


class SqliteStore:
    """The records and recorded answers of one ledger in a file, and its head in another."""

    faults: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeError)
    head_is_at_hand = True

    def __init__(self, path: Path) -> None:
        check_not_lost(path)
        sole_identity(path)  # before SQLite makes a log for this name
        self.place = path
        self._head = head_path(path)
        self._connection = _connect(path)
        self._file = sole_identity(path)
        self._log: tuple[int, int] | None = (
            None  # its write-ahead log, which stays while it is open
        )
        self._there: set[str] = set()  # tables that were seen; they never go

    def explained(self, fault: Exception, sequence: int, besides: Sequence[Path]) -> LedgerError:
        """Return what a fault of SQLite or of the disk means."""
        match fault:
            case sqlite3.Error():
                return _ledger_error(fault, sequence, self.place)
            case UnicodeError():  # of SQLite's own message, which quotes the damage
                return damaged(sequence, "cannot be read")
            case _:
                return unwritable(self.place, *besides)

    def identity(self) -> str:
        """Return device, inode and birth of the file, and which name it has in which folder."""
        return name_identity_of(self.place.resolve())

    def reading(self) -> AbstractContextManager[None]:
        """Hold one view of the file."""
        return self._transaction("BEGIN", commit=False)

    def writing(self) -> AbstractContextManager[None]:
        """Hold the write lock; commit unless something is raised."""
        return self._transaction("BEGIN IMMEDIATE", commit=True)

    def rows(self, after: int) -> Iterable[StoredRow]:
        """Return the records after a sequence, oldest first."""
        if after == 0 and not self._has("record"):
            return ()
        return self._connection.execute(READ_AFTER, (after,))

    def hash_at(self, sequence: int) -> str | None:
        """Return the hash of one record, or None."""
        if not self._has("record"):
            return None
        query = "SELECT hash FROM record WHERE sequence = ?"
        row = self._connection.execute(query, (sequence,)).fetchone()
        return None if row is None else row[0]

    def records_digest(self, after: int, until: int) -> str:
        """Return the hash of some records, read anew from the file."""
        found = hashlib.sha256()
        for (text,) in self._connection.execute(_TEXT_OF_RECORDS, (after, until)):
            found.update(text)
        return found.hexdigest()

    def append(self, record: LedgerRecord) -> None:
        """Add a record; the first makes the tables."""
        for statement in _SCHEMA if record.sequence == 1 else ():
            self._connection.execute(statement)
        self._connection.execute(
            "INSERT INTO record (sequence, kind, body, previous, hash) VALUES (?, ?, ?, ?, ?)",
            (record.sequence, record.kind, record.body, record.previous, record.hash),
        )

    def answer(self, reservation: int) -> bytes | None:
        """Return the answer kept for a reservation, or None."""
        if not self._has("record"):
            return None
        query = "SELECT content FROM answer WHERE reservation = ?"
        row = self._connection.execute(query, (reservation,)).fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, reservation: int, answer: bytes) -> None:
        """Add an answer."""
        query = "INSERT INTO answer (reservation, content) VALUES (?, ?)"
        self._connection.execute(query, (reservation, answer))

    def note(self, kind: str, key: str) -> bytes | None:
        """Return a note, or None."""
        if not self._has("note"):
            return None
        query = "SELECT content FROM note WHERE kind = ? AND key = ?"
        row = self._connection.execute(query, (kind, key)).fetchone()
        return None if row is None else bytes(row[0])

    def notes(self, kind: str, prefix: str = "", after: str = "") -> Iterable[tuple[str, bytes]]:
        """Return the notes of a kind, in the order of their keys."""
        if not self._has("note"):
            return ()
        query = (
            "SELECT key, content FROM note WHERE kind = ? AND key > ? AND key >= ?"
            " AND substr(key, 1, ?) = ? ORDER BY key"
        )
        asked = (kind, after, prefix, len(prefix), prefix)
        return ((key, bytes(note)) for key, note in self._connection.execute(query, asked))

    def write_note(self, kind: str, key: str, note: bytes | None) -> None:
        """Add, replace or erase a note; the first makes their table."""
        if not self._has("note"):
            self._connection.execute(_NOTES)
        if note is None:
            query = "DELETE FROM note WHERE kind = ? AND key = ?"
            self._connection.execute(query, (kind, key))
        else:
            query = "INSERT OR REPLACE INTO note (kind, key, content) VALUES (?, ?, ?)"
            self._connection.execute(query, (kind, key, note))

    def scrub(self) -> str:
        """Write the notes anew, so that no page has bytes of erased ones, and empty the log.

        SQLite overwrites what is deleted (secure_delete), but where it has moved rows from one page to
        another their bytes stay in the gaps; pages of a table that is dropped are overwritten whole.
        """
        with self.writing():
            if self._has("note"):
                self._connection.execute("ALTER TABLE note RENAME TO note_before")
                self._connection.execute(_NOTES)
                self._connection.execute("INSERT INTO note SELECT * FROM note_before")
                self._connection.execute("DROP TABLE note_before")
        return "" if self._empty_log() else _LOG_IN_USE

    def head(self) -> Head | None:
        """Return the head that is pinned beside the file."""
        return read_pinned(self._head)

    def pin(self, head: Head) -> None:
        """Pin the head beside the file."""
        write_pinned(self._head, head)

    def asking(
        self, analyst: str, question: str, seconds_max: float
    ) -> AbstractContextManager[None]:
        """Hold a question against all processes that ask the same."""
        return asking_alone(self.place, analyst, question, seconds_max)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def _transaction(self, begin: str, *, commit: bool) -> Iterator[None]:
        self._connection.rollback()  # what an interrupt has left open
        self._connection.execute(begin)
        try:
            if sole_identity(self.place) != self._file or (commit and not self._has_its_log()):
                raise _replaced(self.place)
            yield
            if commit:
                self._connection.execute("COMMIT")
        except BaseException:
            self._there.clear()  # it may have been made in here
            raise
        finally:
            self._connection.rollback()  # after a fault, or because it only read

    def _empty_log(self) -> bool:
        """Move the write-ahead log into the file and cut it; return whether nobody read it any more."""
        self._connection.execute(f"PRAGMA busy_timeout = {1000 * _LOG_SECONDS}")
        try:
            found = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return bool(found[0] == 0)
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * LOCK_SECONDS)}")

    def _has_its_log(self) -> bool:
        """Return whether what is written goes into the log that others read; call it while writing."""
        try:
            found = os.stat(f"{self.place}-wal")  # noqa: PTH116
        except OSError:
            return False
        log = found.st_dev, found.st_ino
        self._log = self._log or log
        return log == self._log

    def _has(self, table: str) -> bool:
        if table in self._there:
            return True
        query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        found = self._connection.execute(query, (table,)).fetchone() is not None
        if found:
            self._there.add(table)
        return found


def check_not_lost(path: Path) -> None:
    """Refuse a ledger that is missing though its head is there."""
    # The head is looked for first: a process that is creating the pair makes it last.
    if read_head(path) is not None and not check_readable(path):
        raise LedgerError(
            "ledger_missing",
            f"the ledger {path.name} is missing, but its pinned head is there",
            "restore the ledger file; an account that has been used is never started anew. Where it is"
            f" lost for good, {GIVE_UP} says so on record",
        )


def _connect(path: Path) -> sqlite3.Connection:
    check_readable(path)
    try:
        with _CONNECTING:
            # Created here, not by SQLite, so that only the owner's user can read what was answered; and
            # only where it is not there: closing any handle of it gives up SQLite's locks (`chain`).
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise unwritable(path)  # SQLite would make a log that nobody can write to later
            connection = sqlite3.connect(
                path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
            )
    except (OSError, sqlite3.Error) as fault:
        raise unwritable(path) from fault
    try:
        _configure(connection, path)
    except sqlite3.Error as fault:
        connection.close()
        raise _ledger_error(fault, 1, path) from fault
    except UnicodeError as fault:
        connection.close()
        raise damaged(1, "cannot be read") from fault
    return connection


def _configure(connection: sqlite3.Connection, path: Path) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as fault:
            # Switching to WAL does not wait for other processes by itself.
            if not _is_busy(fault) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA secure_delete = ON")  # a note that is erased is gone from the disk
    connection.execute("PRAGMA synchronous = FULL")
    (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    if mode != "wal" or synchronous != 2:
        raise unwritable(path)


def _replaced(path: Path) -> LedgerError:
    return LedgerError(
        "ledger_rolled_back",
        f"the file of the ledger {path.name} has been replaced",
        "restart; the ledger is checked anew when it is opened",
    )


def _is_busy(fault: sqlite3.Error) -> bool:
    return primary_code(fault) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _ledger_error(fault: sqlite3.Error, sequence: int, path: Path) -> LedgerError:
    match primary_code(fault):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LedgerError("ledger_busy", "the ledger is in use by others", "try again")
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN:
            return unwritable(path)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return unwritable(path)
        case _:
            return damaged(sequence, "cannot be read")
