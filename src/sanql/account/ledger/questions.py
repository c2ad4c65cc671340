"""The questions of a ledger: who asked what, and what became of it.

An analyst's questions are numbered by themselves, from 1: the sequences of their records would tell how
much others have asked meanwhile, which can depend on the others' answers.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sanql.account.charge import Charge
from sanql.account.ledger.answers import recorded_answer
from sanql.account.ledger.asked import (
    ASKED,
    CERTIFICATE,
    Asked,
    AskedNote,
    fresh_salt,
    note_key,
    unpacked,
)
from sanql.account.ledger.chain import Kind, LedgerRecord
from sanql.account.ledger.idempotency import (
    IdempotencyKey,
    bind,
    bound_to,
    check_free,
)
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.moments import Clock, record_time

Outcome = Literal["answered", "unanswered", "running"]
"""What became of a question, as whoever asked it is told: never why there is no answer."""


@dataclass(frozen=True)
class AskedQuestion:
    """One question that was charged; `note` is None where nothing is kept of it beside the chain."""

    number: int
    sequence: int
    outcome: Outcome
    question: str
    note: AskedNote | None


@dataclass(frozen=True)
class ChargedUnderKey:
    """The question that was charged under an idempotency key, and the hash of its request if kept."""

    asked: AskedQuestion
    request: str | None


class Questions:
    """What was asked of one ledger, beside its chain."""

    def __init__(self, journal: Journal, clock: Clock, running_max: timedelta) -> None:
        self._journal = journal
        self._clock = clock
        self._running_max = running_max

    def append(
        self, kind: Kind, analyst: str, content: dict[str, object], asked: Asked, charge: Charge
    ) -> LedgerRecord:
        """Add the record of a charge and, beside it, what was asked; call it while writing."""
        check_free(self._journal, asked.idempotency)
        time, salt = record_time(self._clock), fresh_salt()
        said: dict[str, object] = {"analyst": analyst, "time": time, "asked": asked.said_hash(salt)}
        record = self._journal.append(kind, content | said)
        note = AskedNote.of(asked, salt, charge, time)
        self._journal.write_note(ASKED, note_key(analyst, record.sequence), note.to_bytes())
        if asked.idempotency is not None:
            bind(self._journal, asked.idempotency, record.sequence)
        return record

    def under(self, key: IdempotencyKey, analyst: str) -> ChargedUnderKey | None:
        """Return the question that was charged under a key, or None."""
        with self._journal.reading():
            bound = bound_to(self._journal, key.name)
            number = None if bound is None else self._number(analyst, bound.reservation)
            if bound is None or number is None:
                return None
            asked = self._read(analyst, number, bound.reservation)
            return ChargedUnderKey(asked, bound.request)

    def again(self, analyst: str, asked: AskedQuestion) -> AskedQuestion:
        """Return an analyst's question as it is by now."""
        with self._journal.reading():
            return self._read(analyst, asked.number, asked.sequence)

    def keep_certificate(self, analyst: str, sequence: int, certificate: bytes) -> None:
        """Keep the guarantee of an answer beside its question; call it while writing."""
        self._journal.write_note(CERTIFICATE, note_key(analyst, sequence), certificate)

    def count(self, analyst: str) -> int:
        """Return how many questions of an analyst were charged."""
        with self._journal.reading():
            return len(self._journal.books.asked.get(analyst, []))

    def of(self, analyst: str, after: int = 0, limit: int = 100) -> list[AskedQuestion]:
        """Return what an analyst asked after a number, oldest first, at most so many."""
        first = max(0, after)
        with self._journal.reading():
            own = self._journal.books.asked.get(analyst, [])[first : first + max(0, limit)]
            return [self._read(analyst, place, seq) for place, seq in enumerate(own, first + 1)]

    def numbered(self, analyst: str, number: int) -> AskedQuestion | None:
        """Return an analyst's question by its number, or None."""
        found = self.of(analyst, number - 1, 1) if number > 0 else []
        return found[0] if found else None

    def answer(self, asked: AskedQuestion) -> bytes | None:
        """Return what was recorded for a question, unharmed; None where it has no answer."""
        with self._journal.reading():
            recorded = self._journal.books.spent.get(asked.sequence)
            return None if recorded is None else recorded_answer(self._journal, recorded)

    def certificate(self, analyst: str, asked: AskedQuestion) -> dict[str, object] | None:
        """Return the guarantee that was given with the answer to an analyst's question, or None."""
        with self._journal.reading():
            kept = self._journal.note(CERTIFICATE, note_key(analyst, asked.sequence))
            return None if kept is None else unpacked(kept)

    def is_running(self, sequence: int) -> bool:
        """Return whether a question is being answered; call it while reading or writing."""
        begun = self._journal.books.open_since(sequence)
        return begun is not None and self._is_recent(begun)

    def _number(self, analyst: str, sequence: int) -> int | None:
        """Return the number of an analyst's question by the sequence of its record, or None."""
        own = self._journal.books.asked.get(analyst, [])
        place = bisect_left(own, sequence)
        return place + 1 if own[place : place + 1] == [sequence] else None

    def _read(self, analyst: str, number: int, sequence: int) -> AskedQuestion:
        books = self._journal.books
        kept = self._journal.note(ASKED, note_key(analyst, sequence))
        note = None if kept is None else AskedNote.from_bytes(kept)
        spent = books.spent.get(sequence)
        if spent is not None:
            return AskedQuestion(number, sequence, "answered", spent.question, note)
        outcome: Outcome = "running" if self.is_running(sequence) else "unanswered"
        pending = books.pending.get(sequence)
        question = "" if pending is None else pending.question
        return AskedQuestion(number, sequence, outcome, question, note)

    def _is_recent(self, moment: datetime) -> bool:
        return moment > self._clock() - self._running_max
