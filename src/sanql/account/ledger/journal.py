"""The ledger's records in a store, checked as they are read, and what they add up to.

Whoever writes first catches up with what others appended and checks it, so what is decided inside is
decided on the newest state; whoever opens a ledger starts from its newest checkpoint (`checkpoints`). A
commit is durable before its head is pinned, and pinned before the call returns; threads that write at the
same moment share both (`group_commit`). Every place where it is pinned is read first: a head that is not
on this chain is another's, which a copy of this ledger has written, and then nothing more is appended.
After a fault that may have lost a write nothing more is done through the same object.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sanql.account.ledger.chain import (
    BEGINNING,
    LEDGER_FORMAT,
    SCRATCH_KINDS,
    Head,
    Kind,
    LedgerRecord,
    check_head,
    damaged,
    linked,
    read_pinned,
    record_after,
    write_pinned,
)
from sanql.account.ledger.checkpoints import NEWEST_CHECKPOINT, books_at_checkpoint, state_after
from sanql.account.ledger.group_commit import GroupCommit, WaitingWrite
from sanql.account.ledger.pinning import LOCK_SECONDS, holding, second_head_missing
from sanql.account.ledger.scratch import never_releases
from sanql.account.ledger.segments import (
    CHECKPOINT,
    CHECKPOINT_FORM,
    RecordedAnswer,
    segment_key,
)
from sanql.account.ledger.state import Books
from sanql.account.ledger.versions import Version
from sanql.account.stores.protocol import Store
from sanql.errors import LedgerError
from sanql.policy import LedgerPlace

CHECKPOINT_RECORDS = 2_000
"""After so many records there is a checkpoint; reading them takes a tenth of a second."""

_MOMENT_SECONDS = 0.005
_PASSING = {"ledger_busy", "ledger_unavailable"}
"""Faults after which a store has all of a write or nothing, and books that are read anew are right."""


@dataclass(frozen=True)
class SettledView:
    """What records that are durable add up to, for who need not wait until another has been written.

    `answers` may have one that is not durable yet: whoever finds one there looks again, reading.
    """

    head: Head
    version: Version | None
    answers: Mapping[tuple[str, str], RecordedAnswer]
    published: int


class Journal:
    """The chained records and recorded answers of one ledger, and the books they add up to."""

    def __init__(self, store: Store) -> None:
        self.books = Books()
        self._store = store
        self._process = os.getpid()
        self._unsettled = False  # whether the books may hold what is not kept, or half a record
        self.mutex = threading.RLock()
        """Held by the one thread that reads or writes here."""
        self.additions = 0
        """How often something was to be added, whether or not it has been kept."""
        self._together = GroupCommit(self)
        self._stopped: LedgerError | None = None
        self._kept = BEGINNING  # the newest head that was read or committed
        self._pinned: dict[Path, Head] = {}  # where the head is pinned besides, and which it was
        self._durable: set[Path] = set()
        self._settled: tuple[SettledView, ...] = ()  # the newest, and the one before it
        self._last_look: tuple[float, SettledView | None] = -math.inf, None  # at what is pinned

    @property
    def place(self) -> LedgerPlace:
        """Where the ledger is kept."""
        return self._store.place

    def identity(self) -> str:
        """Return which place that is, whatever it is called; OSError where it is gone."""
        return self._store.identity()

    def close(self) -> None:
        """Let go of the store; nothing is left to be written."""
        self._store.close()

    def asking(
        self, analyst: str, question: str, seconds_max: float
    ) -> AbstractContextManager[None]:
        """Hold a question against all who ask the same; wait for them at most so long, then go on."""
        return self._store.asking(analyst, question, seconds_max)

    def records(self) -> Iterator[LedgerRecord]:
        """Yield every record, checked, oldest first."""
        with self.reading():
            rows = [*self._store.rows(0)]
        yield from linked(rows, BEGINNING)

    def answer(self, reservation: int) -> bytes | None:
        """Return the answer kept for a reservation, or None; call it while reading."""
        return self._store.answer(reservation)

    @property
    def faults(self) -> tuple[type[Exception], ...]:
        """What is raised when the store itself fails."""
        return (OSError, *self._store.faults)

    @property
    def waiting(self) -> int:
        """How many threads wait until what they write is durable and pinned."""
        return self._together.waiting

    def write(self, turn: WaitingWrite) -> LedgerRecord:
        """Return the record that a deed appends, durable and pinned; with all who write at the moment.

        The deed is done while writing, perhaps by another thread, and again where it was not kept.
        """
        return self._together.write(turn)

    def has(self, head: Head) -> bool:
        """Return whether a record is in the chain; call it while reading."""
        return self._store.hash_at(head.sequence) == head.hash

    def append(self, kind: Kind, content: dict[str, object]) -> LedgerRecord:
        """Add a record to the chain; call it while writing. A closed account takes none.

        A scratch account takes none that would be, or lead to, an answer.
        """
        if self.books.ownership.retired is not None:
            raise _closed(self._store.place)
        if self.books.scratch and kind not in SCRATCH_KINDS:
            raise never_releases()
        record = record_after(self.books.head, kind, content)
        self.additions += 1
        self._store.append(record)
        self._unsettled = True
        self.books.apply(record)
        return record

    def keep(self, reservation: int, answer: bytes) -> None:
        """Add an answer; call it while writing."""
        self.additions += 1
        self._store.keep(reservation, answer)

    def note(self, kind: str, key: str) -> bytes | None:
        """Return a note beside the chain, or None; call it while reading or writing."""
        return self._store.note(kind, key)

    def write_note(self, kind: str, key: str, note: bytes | None) -> None:
        """Add, replace or erase (None) a note beside the chain; call it while writing."""
        self.additions += 1
        self._store.write_note(kind, key, note)

    def settled(self, *, recently: bool = False) -> SettledView | None:
        """Return what is known without waiting for who writes; None where more may be pinned by now.

        `recently`: also what was known a moment ago, for who will look again before it matters.
        """
        known, (looked, seen) = self._settled, self._last_look
        if not known or self._stopped or os.getpid() != self._process:
            return None
        now = time.monotonic()
        if recently and seen is known[0] and now - looked < _MOMENT_SECONDS:
            return seen
        pinned = self._store.head()
        found = next((view for view in known if view.head == pinned), None)
        self._last_look = now, found
        return found

    def scrub(self) -> str:
        """See that erased notes are gone from the store; return in words what may still have them."""
        with self._held():
            return self._store.scrub()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one view of the ledger, caught up and checked."""
        with self._held():
            head = self._store.head()  # first: whoever pins it next has written the record before
            with self._store.reading():
                self._catch_up(head)
                yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the right to write, caught up and checked; commit unless something is raised.

        A ledger of an earlier format goes on in this version's: what is decided and appended inside
        is of the format that the record before it names.
        """
        with self._held():
            with self._store.writing():
                head = self._store.head()
                self._catch_up(head)
                if head is None and self.books.head.sequence:
                    # whoever has begun the ledger has not pinned it yet: nothing is added to it before
                    self._store.pin(self.books.head)
                for place in self._pinned:
                    self._check_besides(place)
                if 0 < self.books.format < LEDGER_FORMAT:
                    self.append("format", {"format": LEDGER_FORMAT})
                yield
                if (
                    head is not None and self._checkpoint_is_due()
                ):  # which a pinned head vouches for
                    self._keep_checkpoint()
            self._unsettled, self._kept = False, self.books.head

    def pin(self) -> None:
        """Pin the newest record, while nobody else writes so that the head never moves back."""
        with self._held(), self._store.writing():
            head = self._store.head()
            self._catch_up(head)
            if head != self.books.head:
                self._store.pin(self.books.head)
            self._pin_besides()

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
        if head is None or any(head == view.head for view in self._settled):
            return  # what was read of this chain, which has been seen to go on from there
        if head not in (self.books.head, *self.books.ownership.given_up):
            check_head(head, self.books.head, self._store.hash_at(head.sequence))

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

    def _catch_up(self, head: Head | None) -> None:
        """Read what others appended; raise unless the chain still holds what we know."""
        anew = self.books.head == BEGINNING
        if anew:
            self.books = books_at_checkpoint(self._store, head) or self.books
        known = self.books.head
        rows = iter(self._store.rows(max(0, known.sequence - 1)))  # what we know first
        if known.sequence and next(rows, (None,))[-1] != known.hash:
            raise damaged(known.sequence, "is not the record that had been written")
        self._unsettled = True
        for record in linked(rows, known):
            self.books.apply(record)
        if anew and self._kept != BEGINNING:  # all was read anew: what was known must be in it
            self.check_pinned(self._kept)
        self._unsettled, self._kept = False, self.books.head
        if head is None:
            check_head(head, self.books.head, None)
        self.check_pinned(head)
        if self._store.head_is_at_hand:
            self._publish()

    def _checkpoint_is_due(self) -> bool:
        books = self.books
        enough = books.segments.open.count >= CHECKPOINT_RECORDS and books.format >= LEDGER_FORMAT
        return enough and not books.scratch and books.ownership.retired is None

    def _keep_checkpoint(self) -> None:
        """Put the books beside the chain, and their hash in it; in the transaction of who writes."""
        state = state_after(self.books)
        digest = hashlib.sha256(state).hexdigest()
        self.append(CHECKPOINT, {"form": CHECKPOINT_FORM, "sha256": digest})
        for until, segment in self.books.segments.unkept.items():
            self.write_note(CHECKPOINT, segment_key(until), segment)
        self.write_note(CHECKPOINT, NEWEST_CHECKPOINT, state)
        self.books.segments.unkept = {}

    def _publish(self) -> None:
        """Let others see what has been read; also the view before it, while this one is being pinned."""
        head = self.books.head
        if not self._settled or self._settled[0].head != head:
            view = SettledView(head, self.books.version, self.books.answers, self.books.published)
            self._settled = (view, *self._settled[:1])

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold this object against other threads; books that a fault left unsettled are read anew.

        Faults of the store become a LedgerError; after one that may have lost a write, stop.
        """
        with self.mutex:
            if os.getpid() != self._process:
                raise _forked()
            if self._stopped is not None:
                raise self._stopped
            if self._unsettled:
                self.books = Books()
                self._settled = ()  # what was seen is on this chain only if it is found there again
                self._unsettled = False
            try:
                yield
            except self.faults as fault:
                besides = [*self._pinned]
                error = self._store.explained(fault, self.books.head.sequence + 1, besides)
                if error.code not in _PASSING:
                    self._stopped = error
                raise error from fault


def _forked() -> LedgerError:
    return LedgerError(
        "ledger_forked",
        "this ledger was opened by the process that this one was forked from",
        "open the ledger again in each process: the locks of a store do not survive a fork",
    )


def _closed(place: LedgerPlace) -> LedgerError:
    return LedgerError(
        "account_retired",
        f"the account kept in {place.name} has been closed by its owner; nothing more is charged to it",
        "see `sanql account show` for why; identical questions stay free",
    )
