"""A ledger copied into one file: every record, answer and note as of one moment, and a hash of it all.

The file is an SQLite database that only its owner may read. It is no ledger: nothing is ever asked from
it, and it is put back only by `sanql ledger restore`. It appears complete or not at all.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from sanql.account.claims.losses import heads_given_up
from sanql.account.ledger.chain import (
    BEGINNING,
    Head,
    LedgerRecord,
    canonical_json,
    check_head,
    damaged,
    linked,
)
from sanql.account.stores.protocol import LedgerReader
from sanql.errors import LedgerError

_SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE record (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL,
        previous TEXT NOT NULL, hash TEXT NOT NULL) STRICT""",
    "CREATE TABLE answer (reservation INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT",
    """CREATE TABLE note (kind TEXT NOT NULL, key TEXT NOT NULL, content BLOB NOT NULL,
        PRIMARY KEY (kind, key)) STRICT, WITHOUT ROWID""",
)
_FORM = "sanql-backup-1"


@dataclass(frozen=True)
class LedgerCopy:
    """Everything that is kept of one ledger; `taken` is when it was copied, empty where it was not."""

    records: tuple[LedgerRecord, ...]
    answers: Mapping[int, bytes]
    notes: Mapping[tuple[str, str], bytes]
    taken: str = ""

    @property
    def head(self) -> Head:
        """The newest record."""
        return self.head_at(len(self.records))

    def head_at(self, sequence: int) -> Head:
        """Return one record as a head; the beginning for none."""
        if not 0 < sequence <= len(self.records):
            return BEGINNING
        record = self.records[sequence - 1]
        return Head(record.sequence, record.hash)

    def has(self, head: Head) -> bool:
        """Return whether a record is in the chain."""
        return head == BEGINNING or self.head_at(head.sequence) == head

    def digest(self) -> str:
        """Return one hash of everything; that of the newest record stands for the chain."""
        answers = [[n, _hashed(self.answers[n])] for n in sorted(self.answers)]
        notes = [[*key, _hashed(self.notes[key])] for key in sorted(self.notes)]
        shape = [_FORM, self.taken, self.head.sequence, self.head.hash, answers, notes]
        return _hashed(canonical_json(shape).encode())


def copy_of(reader: LedgerReader) -> LedgerCopy:
    """Return what a reader sees, in one view; LedgerError where a record is damaged.

    Whether it is the newest is not looked at.
    """
    try:
        records = tuple(linked(reader.rows(0), BEGINNING))
        answers = {_number(n): _content(found) for n, found in reader.answers().items()}
        return LedgerCopy(records, answers, dict(reader.all_notes()))
    except reader.faults as fault:
        reader.check_rights(fault)
        raise damaged(1, "cannot be read") from None


def back_up(reader: LedgerReader, file: Path, taken: str) -> LedgerCopy:
    """Return what was copied into a new file, durably; one that is there is never replaced."""
    head = reader.head()  # first: whoever pins it next has written the record before
    found = copy_of(reader)
    if head not in heads_given_up(found.records):
        check_head(head, found.head, None if head is None else found.head_at(head.sequence).hash)
    copied = LedgerCopy(found.records, found.answers, found.notes, taken)
    with _new_file(file) as draft, closing(sqlite3.connect(draft)) as connection, connection:
        _fill(connection, copied)
    return copied


def read_backup(file: Path) -> LedgerCopy:
    """Return what a file holds; LedgerError unless it is a backup, whole and unchanged."""
    if not file.exists():
        raise LedgerError(
            "backup_missing", f"there is no backup {str(file)!r}", "name another file"
        )
    try:
        uri = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            about = dict(connection.execute("SELECT key, value FROM about"))
            rows = connection.execute("SELECT * FROM record ORDER BY sequence").fetchall()
            answers = dict(connection.execute("SELECT reservation, content FROM answer"))
            notes = {(kind, key): n for kind, key, n in connection.execute("SELECT * FROM note")}
        found = LedgerCopy(tuple(linked(rows, BEGINNING)), answers, notes, about["taken"])
        whole = about["form"] == _FORM and about["digest"] == found.digest()
    except (sqlite3.Error, KeyError, LedgerError, UnicodeError, TypeError):
        whole = False
    if not whole:
        raise LedgerError(
            "backup_damaged",
            f"the file {str(file)!r} is no backup of a ledger, or it has been damaged or changed",
            "name another backup, as `sanql ledger backup` wrote it",
        )
    return found


@contextmanager
def _new_file(file: Path) -> Iterator[Path]:
    """Hold a draft beside a file; it takes the file's name when all is written."""
    if file.exists():
        raise _unwritable(file, "is there already", "name a new file: a backup is never replaced")
    draft = file.with_name(f".{file.name}.writing")
    try:
        draft.unlink(missing_ok=True)  # of somebody who was killed
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        try:
            yield draft
            _sync(draft)
            file.hardlink_to(draft)  # never over another one
        finally:
            draft.unlink(missing_ok=True)
        _sync(file.parent)
    except (OSError, sqlite3.Error):
        raise _unwritable(
            file, "cannot be written", "see to the folder, its rights and the room on its disk"
        ) from None


def _fill(connection: sqlite3.Connection, copied: LedgerCopy) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)
    records = [astuple(record) for record in copied.records]
    connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?)", records)
    connection.executemany("INSERT INTO answer VALUES (?, ?)", copied.answers.items())
    notes = [(*key, note) for key, note in copied.notes.items()]
    connection.executemany("INSERT INTO note VALUES (?, ?, ?)", notes)
    about = {"form": _FORM, "taken": copied.taken, "digest": copied.digest()}
    connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())


def _unwritable(file: Path, what: str, remedy: str) -> LedgerError:
    return LedgerError("backup_unwritable", f"the backup {str(file)!r} {what}", remedy)


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise damaged(1, "has an answer without a number")
    return value


def _content(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise damaged(1, "has an answer that is none")
    return value


def _hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
