"""A store in the memory of one process: for tests, with every promise but that of a disk.

Several stores may share what is kept, as processes share a file: each is a handle with a view of its own.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from pathlib import Path

from sanql.account.ledger.chain import Head, LedgerRecord, canonical_json, damaged
from sanql.account.ledger.pinning import LOCK_SECONDS
from sanql.account.ledger.places import unwritable
from sanql.account.stores.protocol import StoredRow
from sanql.errors import LedgerError


class MemoryFault(Exception):
    """Something was added that is there already."""


@dataclass
class MemoryContents:
    """What is kept of one ledger; rows are only ever added."""

    rows: list[StoredRow] = field(default_factory=list)
    answers: dict[int, bytes] = field(default_factory=dict)
    head: Head | None = None
    notes: dict[tuple[str, str], bytes] = field(default_factory=dict)
    writer: threading.Lock = field(default_factory=threading.Lock)
    asking: dict[tuple[str, str], threading.Lock] = field(default_factory=dict)


class MemoryStore:
    """A handle on a ledger in memory."""

    faults: tuple[type[Exception], ...] = (MemoryFault,)
    head_is_at_hand = True

    def __init__(self, place: Path, kept: MemoryContents | None = None) -> None:
        self.place = place
        self.kept = kept or MemoryContents()
        self._rows: list[StoredRow] = []
        self._answers: dict[int, bytes] = {}  # added and not yet kept
        self._notes: dict[tuple[str, str], bytes] = {}

    def explained(self, fault: Exception, sequence: int, besides: Sequence[Path]) -> LedgerError:
        """Return what a fault means."""
        if isinstance(fault, MemoryFault):
            return damaged(sequence, "is there already")
        return unwritable(self.place, *besides)

    def identity(self) -> str:
        """Return which contents these are."""
        return f"memory:{id(self.kept)}"

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one view."""
        self._rows, self._notes = self.kept.rows[:], dict(self.kept.notes)
        yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the one right to write; keep what was added unless something is raised."""
        if not self.kept.writer.acquire(timeout=LOCK_SECONDS):
            raise LedgerError("ledger_busy", "the ledger is in use by others", "try again")
        try:
            self._rows, self._answers = self.kept.rows[:], {}
            self._notes = dict(self.kept.notes)
            yield
            # answers first: a reader who sees that one was spent finds it
            self.kept.answers |= self._answers
            self.kept.rows, self.kept.notes = self._rows[:], dict(self._notes)
        finally:
            self._answers = {}
            self.kept.writer.release()

    def rows(self, after: int) -> Iterable[StoredRow]:
        """Return the records after a sequence, oldest first."""
        return self._rows[after:]

    def hash_at(self, sequence: int) -> str | None:
        """Return the hash of one record, or None."""
        found = self._rows[sequence - 1][-1] if 0 < sequence <= len(self._rows) else None
        return None if found is None else str(found)

    def records_digest(self, after: int, until: int) -> str:
        """Return the hash of some records."""
        text = "".join(f"{part}\n" for row in self._rows[after:until] for part in row)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def append(self, record: LedgerRecord) -> None:
        """Add a record."""
        if record.sequence <= len(self._rows):
            raise MemoryFault
        self._rows.append(astuple(record))

    def answer(self, reservation: int) -> bytes | None:
        """Return the answer kept for a reservation, or None."""
        return self._answers.get(reservation, self.kept.answers.get(reservation))

    def keep(self, reservation: int, answer: bytes) -> None:
        """Add an answer."""
        if self.answer(reservation) is not None:
            raise MemoryFault
        self._answers[reservation] = answer

    def note(self, kind: str, key: str) -> bytes | None:
        """Return a note, or None."""
        return self._notes.get((kind, key))

    def notes(self, kind: str, prefix: str = "", after: str = "") -> Iterable[tuple[str, bytes]]:
        """Return the notes of a kind, in the order of their keys."""
        return [
            (key, note)
            for (own, key), note in sorted(self._notes.items())
            if own == kind and key.startswith(prefix) and key > after
        ]

    def write_note(self, kind: str, key: str, note: bytes | None) -> None:
        """Add, replace or erase a note."""
        if note is None:
            self._notes.pop((kind, key), None)
        else:
            self._notes[kind, key] = note

    def scrub(self) -> str:
        """Return that nothing is left: what is not kept is nowhere."""
        return ""

    def head(self) -> Head | None:
        """Return the head that is pinned."""
        return self.kept.head

    def pin(self, head: Head) -> None:
        """Pin the head."""
        self.kept.head = head

    @contextmanager
    def asking(self, analyst: str, question: str, seconds_max: float) -> Iterator[None]:
        """Hold a question against all who ask the same."""
        lock = self.kept.asking.setdefault((analyst, question), threading.Lock())
        held = lock.acquire(timeout=seconds_max)
        try:
            yield
        finally:
            if held:
                lock.release()

    def close(self) -> None:
        """Let go; what is kept stays with whoever else holds it."""


class MemoryReader:
    """One view of a ledger in memory, for whoever checks it."""

    faults: tuple[type[Exception], ...] = ()

    def __init__(self, kept: MemoryContents) -> None:
        self._head, self._rows = kept.head, kept.rows[:]
        self._answers: dict[object, object] = dict(kept.answers.items())
        self._notes = dict(kept.notes)

    def check_rights(self, fault: Exception) -> None:
        """Raise nothing: whoever has the store may read it."""

    def rows(self, after: int) -> Iterable[StoredRow]:
        """Return the records after a sequence, oldest first."""
        return self._rows[after:]

    def answers(self) -> Mapping[object, object]:
        """Return every answer that is kept, by its reservation."""
        return self._answers

    def note(self, kind: str, key: str) -> bytes | None:
        """Return a note, or None."""
        return self._notes.get((kind, key))

    def notes(self, kind: str) -> Iterable[tuple[str, bytes]]:
        """Return the notes of a kind, in the order of their keys."""
        return [(key, note) for (own, key), note in sorted(self._notes.items()) if own == kind]

    def all_notes(self) -> Iterable[tuple[tuple[str, str], bytes]]:
        """Return every note with its kind and key."""
        return self._notes.items()

    def is_intact(self) -> bool:
        """Return that nothing is damaged: there is no medium that could be."""
        return True

    def head(self) -> Head | None:
        """Return the head that was pinned."""
        return self._head

    def head_text(self) -> str | None:
        """Return the head as it would be written to a file."""
        head = self._head
        return (
            None if head is None else canonical_json({"hash": head.hash, "sequence": head.sequence})
        )
