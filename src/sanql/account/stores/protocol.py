"""The seam between a ledger and where it is kept: rows that are added and never changed, and notes.

Notes lie beside the chain of records and may be changed and erased: people and their verifiers, the texts
of questions. No promise rests on one.

A store knows nothing of what the rows mean. It holds a view, or the one right to write, for as long as
a `with` block lasts; the journal of the ledger (`ledger.journal`) decides inside such a block, on what it
has read there. What a store promises is held by one suite of tests that every store inherits
(tests/account/store_contract.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from sanql.account.ledger.chain import Head, LedgerRecord
from sanql.errors import LedgerError
from sanql.policy import LedgerPlace

StoredRow = tuple[object, ...]
"""A record as it is kept: sequence, kind, body, previous hash and hash, not yet checked."""


class Store(Protocol):
    """Where one ledger is kept: its records, its recorded answers and its pinned head."""

    @property
    def place(self) -> LedgerPlace:
        """Where that is, for messages."""

    def identity(self) -> str:
        """Return which place that is, whatever name or address leads to it; OSError where it is gone.

        A copy has another one.
        """

    @property
    def faults(self) -> tuple[type[Exception], ...]:
        """What is raised when the place itself fails; `explained` says what that means."""

    def explained(self, fault: Exception, sequence: int, besides: Sequence[Path]) -> LedgerError:
        """Return what a fault means, met when record `sequence` was to be read or written.

        `besides` are the files where the head is pinned as well: they may have failed instead.
        """

    def reading(self) -> AbstractContextManager[None]:
        """Hold one view of what is kept, whatever others write meanwhile."""

    def writing(self) -> AbstractContextManager[None]:
        """Hold the one right to write, and see the newest state.

        What is added inside is kept as a whole, durably, when the block ends, and not at all when
        something is raised in it.
        """

    def rows(self, after: int) -> Iterable[StoredRow]:
        """Return the records after a sequence, oldest first; call it while reading or writing."""

    def hash_at(self, sequence: int) -> str | None:
        """Return the hash of one record, or None; call it while reading or writing."""

    def records_digest(self, after: int, until: int) -> str:
        """Return the hash of the records after a sequence, up to another, as `RecordsDigest` has it.

        It is computed from what is kept at the moment; call it while reading or writing.
        """

    def append(self, record: LedgerRecord) -> None:
        """Add a record; call it while writing. One of a sequence that is there is a fault."""

    def answer(self, reservation: int) -> bytes | None:
        """Return the answer kept for a reservation, or None; call it while reading or writing."""

    def keep(self, reservation: int, answer: bytes) -> None:
        """Add an answer; call it while writing. A second one for a reservation is a fault."""

    def note(self, kind: str, key: str) -> bytes | None:
        """Return the note of a kind under a key, or None; call it while reading or writing."""

    def notes(self, kind: str, prefix: str = "", after: str = "") -> Iterable[tuple[str, bytes]]:
        """Return keys and notes of a kind, in the order of keys: those with a prefix, after a key.

        Keys are compared by their code points. Call it while reading or writing.
        """

    def write_note(self, kind: str, key: str, note: bytes | None) -> None:
        """Add or replace a note, or erase it (None); call it while writing."""

    @property
    def head_is_at_hand(self) -> bool:
        """Whether any thread may ask for the head at any time, and it costs next to nothing."""

    def scrub(self) -> str:
        """See that no byte of an erased note is left; return in words what may still have some.

        Call it neither while reading nor while writing.
        """

    def head(self) -> Head | None:
        """Return the head that is pinned, apart from the records; None when there is none."""

    def pin(self, head: Head) -> None:
        """Pin the head, durably; call it while writing."""

    def asking(
        self, analyst: str, question: str, seconds_max: float
    ) -> AbstractContextManager[None]:
        """Hold a question against all who ask the same; wait for them at most so long, then go on."""

    def close(self) -> None:
        """Let go of the place; nothing is left to be written."""


class LedgerReader(Protocol):
    """A ledger as whoever checks it sees it: one view, and nothing is made, changed or locked."""

    @property
    def faults(self) -> tuple[type[Exception], ...]:
        """What is raised when the place cannot be read any further."""

    def check_rights(self, fault: Exception) -> None:
        """Raise LedgerUnreadable where a fault is only that this user may not read the place."""

    def rows(self, after: int) -> Iterable[StoredRow]:
        """Return the records after a sequence, oldest first."""

    def answers(self) -> Mapping[object, object]:
        """Return every answer that is kept, by its reservation."""

    def note(self, kind: str, key: str) -> bytes | None:
        """Return the note of a kind under a key, or None."""

    def notes(self, kind: str) -> Iterable[tuple[str, bytes]]:
        """Return keys and notes of a kind, in the order of keys."""

    def all_notes(self) -> Iterable[tuple[tuple[str, str], bytes]]:
        """Return every note with its kind and key."""

    def is_intact(self) -> bool:
        """Return whether the place itself finds nothing damaged."""

    def head(self) -> Head | None:
        """Return the head that is pinned, or None; LedgerError where it is none."""

    def head_text(self) -> str | None:
        """Return what is pinned as the head, or None; ValueError where it is not even a text."""
