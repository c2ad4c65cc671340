"""The ledger's file: one SQLite database that processes share, append to and never change.

Every write is one `BEGIN IMMEDIATE` transaction that first catches up with what other processes
appended and checks it, so what is decided inside is decided on the newest state. A commit is on
disk (write-ahead log, synchronous = FULL) before its head is pinned, and pinned before the call
returns. Every place where it is pinned is read first: a head that is not on this chain is another's,
which a copy of this ledger has written, and then nothing more is appended. After a fault that may have
lost a write nothing more is done through the same object.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sanql.account.books import Books
from sanql.account.chain import (
    BEGINNING,
    FORMAT,
    GIVE_UP,
    SCRATCH_KINDS,
    Head,
    Kind,
    Record,
    check_head,
    check_readable,
    damaged,
    linked,
    read_head,
    read_pinned,
    record_after,
    write_head,
    write_pinned,
)
from sanql.account.pinning import check_one_name, holding, second_head_missing
from sanql.account.places import hindrance
from sanql.account.scratch import never_releases
from sanql.errors import LedgerError

LOCK_SECONDS = 60.0

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
_READ = (
    "SELECT sequence, kind, body, previous, hash FROM record WHERE sequence > ? ORDER BY sequence"
)


class Store:
    """The chained records and recorded answers of one ledger, and what they add up to."""

    def __init__(self, path: Path) -> None:
        check_not_lost(path)
        check_one_name(path)  # before SQLite makes a log for this name
        self.books = Books()
        self._path = path
        self._connection = _connect(path)
        self._file = _identity(path)
        self._process = os.getpid()
        self._unsettled = False  # whether the books may hold what is not on disk, or half a record
        self._mutex = threading.RLock()
        self._stopped: LedgerError | None = None
        self._pinned: dict[Path, Head] = {}  # where the head is pinned besides, and which it was
        self._durable: set[Path] = set()

    def close(self) -> None:
        """Let go of the file; nothing is left to be written."""
        self._connection.close()

    def records(self) -> Iterator[Record]:
        """Yield every record, checked, oldest first."""
        with self.reading():
            rows = self._connection.execute(_READ, (0,)).fetchall()
        yield from linked(rows, BEGINNING)

    def answer(self, reservation: int) -> bytes | None:
        """Return the answer kept for a reservation, or None; call it while reading."""
        query = "SELECT content FROM answer WHERE reservation = ?"
        row = self._connection.execute(query, (reservation,)).fetchone()
        return None if row is None else bytes(row[0])

    def append(self, kind: Kind, content: dict[str, object]) -> Record:
        """Add a record to the chain; call it while writing. A closed account takes none.

        A scratch account takes none that would be, or lead to, an answer.
        """
        if self.books.ownership.retired is not None:
            raise _closed(self._path)
        if self.books.scratch and kind not in SCRATCH_KINDS:
            raise never_releases()
        record = record_after(self.books.head, kind, content)
        self._connection.execute(
            "INSERT INTO record (sequence, kind, body, previous, hash) VALUES (?, ?, ?, ?, ?)",
            (record.sequence, record.kind, record.body, record.previous, record.hash),
        )
        self._unsettled = True
        self.books.apply(record)
        return record

    def keep(self, reservation: int, answer: bytes) -> None:
        """Add an answer; call it while writing."""
        query = "INSERT INTO answer (reservation, content) VALUES (?, ?)"
        self._connection.execute(query, (reservation, answer))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one view of the ledger, caught up and checked."""
        with self._mutex, self._faults():
            head = read_head(self._path)
            self._begin("BEGIN")
            try:
                self._catch_up(head)
                yield
            finally:
                self._roll_back()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock, caught up and checked; commit unless something is raised.

        A ledger of an earlier format goes on in this version's: what is decided and appended inside
        is of the format that the record before it names.
        """
        with self._mutex, self._faults():
            self._begin("BEGIN IMMEDIATE")
            try:
                for statement in _SCHEMA if self.books.head.sequence == 0 else ():
                    self._connection.execute(statement)
                self._catch_up(read_head(self._path))
                for place in self._pinned:
                    self._check_besides(place)
                if 0 < self.books.format < FORMAT:
                    self.append("format", {"format": FORMAT})
                yield
                self._connection.execute("COMMIT")
                self._unsettled = False
            finally:
                self._roll_back()

    def pin(self) -> None:
        """Pin the newest record, under the write lock so that the head never moves back."""
        with self._mutex, self._faults():
            self._begin("BEGIN IMMEDIATE")
            try:
                head = read_head(self._path)
                self._catch_up(head)
                if head != self.books.head:
                    write_head(self._path, self.books.head)
                self._pin_besides()
            finally:
                self._roll_back()

    def pin_besides(self, place: Path, *, durable: bool) -> None:
        """Pin the head in one more place from now on; see that what is there lies on this chain."""
        pinned = read_pinned(
            place
        )  # first: whoever pins it meanwhile has written the record before
        with self.reading():
            self.check_pinned(pinned)
        self._pinned[place] = BEGINNING
        if durable:
            self._durable.add(place)
        self.pin()

    def check_pinned(self, head: Head | None) -> None:
        """Raise LedgerError if a head that was pinned elsewhere is not on this chain; call it reading."""
        if head is not None:
            check_head(head, self.books.head, self._hash_at(head.sequence))

    def _pin_besides(self) -> None:
        """Pin the newest record in the other places, each of which must have one of this chain.

        A copy of the ledger, or its file under another name, has a write lock of its own; a place is one
        for all of them, so whoever comes second finds the record of the first there.
        """
        for place, known in self._pinned.items():
            if known != self.books.head:
                with holding(place, LOCK_SECONDS):
                    self._check_besides(place)
                    write_pinned(place, self.books.head, durable=place in self._durable)
                self._pinned[place] = self.books.head

    def _check_besides(self, place: Path) -> None:
        found = read_pinned(place)
        if found is None and place in self._durable and self._pinned[place] != BEGINNING:
            raise second_head_missing(str(place))
        self.check_pinned(found)

    def _begin(self, statement: str) -> None:
        """Start a transaction; books that a fault or interrupt left unsettled are read anew."""
        self._roll_back()
        if self._unsettled:
            self.books = Books()
            self._unsettled = False
        self._connection.execute(statement)

    def _roll_back(self) -> None:
        """End a transaction that is still open: after a fault, or because it only read."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _catch_up(self, head: Head | None) -> None:
        """Read what other processes appended; raise unless the chain still holds what we know."""
        check_one_name(self._path)
        if _identity(self._path) != self._file:
            raise LedgerError(
                "ledger_rolled_back",
                f"the file of the ledger {self._path.name} has been replaced",
                "restart; the ledger is checked anew when it is opened",
            )
        known = self.books.head
        if known.sequence and self._hash_at(known.sequence) != known.hash:
            raise damaged(known.sequence, "is not the record that had been written")
        if self._has_records():
            rows = self._connection.execute(_READ, (known.sequence,))
            self._unsettled = True
            for record in linked(rows, known):
                self.books.apply(record)
            self._unsettled = False
        at_head = None if head is None else self._hash_at(head.sequence)
        check_head(head, self.books.head, at_head)

    def _has_records(self) -> bool:
        query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'record'"
        return self._connection.execute(query).fetchone() is not None

    def _hash_at(self, sequence: int) -> str | None:
        if not self._has_records():
            return None
        query = "SELECT hash FROM record WHERE sequence = ?"
        row = self._connection.execute(query, (sequence,)).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn faults of the disk into LedgerError; after one that may have lost a write, stop."""
        if os.getpid() != self._process:
            raise LedgerError(
                "ledger_forked",
                "this ledger was opened by the process that this one was forked from",
                "open the ledger again in each process: SQLite's locks do not survive a fork",
            )
        if self._stopped is not None:
            raise self._stopped
        try:
            yield
        except sqlite3.Error as fault:
            error = _ledger_error(fault, self.books.head.sequence + 1, self._path)
            if error.code != "ledger_busy":
                self._stopped = error
            raise error from fault
        except UnicodeError as fault:  # of SQLite's own message, which quotes the damage
            self._stopped = damaged(self.books.head.sequence + 1, "cannot be read")
            raise self._stopped from fault
        except OSError as fault:
            self._stopped = _unwritable(self._path, *self._pinned)
            raise self._stopped from fault


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
        # Created here, not by SQLite, so that only the owner's user can read what was answered.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(
            path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as fault:
        raise _unwritable(path) from fault
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
    connection.execute("PRAGMA synchronous = FULL")
    (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    if mode != "wal" or synchronous != 2:
        raise _unwritable(path)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_busy(fault: sqlite3.Error) -> bool:
    return _code(fault) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _code(fault: sqlite3.Error) -> int:
    """Return SQLite's primary code; errors of the Python module itself have none."""
    code: int = getattr(fault, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _ledger_error(fault: sqlite3.Error, sequence: int, path: Path) -> LedgerError:
    match _code(fault):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LedgerError("ledger_busy", "the ledger is in use by others", "try again")
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN:
            return _unwritable(path)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return _unwritable(path)
        case _:
            return damaged(sequence, "cannot be read")


def _closed(path: Path) -> LedgerError:
    return LedgerError(
        "account_retired",
        f"the account kept in {path.name} has been closed by its owner; nothing more is charged to it",
        "see `sanql account show` for why; identical questions stay free",
    )


def _unwritable(*files: Path) -> LedgerError:
    found = next((seen for file in files if (seen := hindrance(file)) is not None), None)
    what, remedy = found or ("", "see to the disk and the rights of the ledger's folder")
    return LedgerError(
        "ledger_unwritable",
        f"the ledger {str(files[0])!r} could not be written to disk; nothing more is answered"
        + (f": {what}" if what else ""),
        f"{remedy}, then restart",
    )
