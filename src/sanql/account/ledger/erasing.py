"""Texts that are erased from beside the chain, which stays as it was and says by whom and when.

What goes: the text, its parameters and options, the salt, the text in one spelling, and the
certificate, which quotes it. What stays is of the charge: who, when, how much, and the noisy cells, so
that a repeat is free. The digest of what was measured is in the chain: whoever guesses a question
entirely can still see that it is the one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sanql.account.ledger.asked import ASKED, CERTIFICATE, AskedNote, note_key
from sanql.account.ledger.moments import Clock, record_time
from sanql.errors import LedgerError, Refused
from sanql.results import Erasure

if TYPE_CHECKING:
    from sanql.account.ledger.journal import Journal
    from sanql.account.ledger.questions import Questions

_NUMBERS_MAX = 10_000  # in one record


@dataclass(frozen=True)
class TextChoice:
    """Which texts are meant: those of some records, or all of an analyst's, or before a time, or both."""

    numbers: tuple[int, ...] = ()
    analyst: str | None = None
    before: datetime | None = None

    def __post_init__(self) -> None:
        filtered = self.analyst is not None or self.before is not None
        if filtered == bool(self.numbers):
            raise Refused(
                "erase_unclear",
                "nothing says whose texts are to be erased, or two things do",
                "name records by their numbers in `sanql ledger list`, or an analyst, a time, or both",
            )


@dataclass(frozen=True)
class _Found:
    """A text that is kept, and what is kept instead of it once it is erased."""

    sequence: int
    key: str
    instead: bytes | None


class Texts:
    """What was typed, beside the chain of one ledger, as its owner erases it."""

    def __init__(self, journal: Journal, questions: Questions, clock: Clock) -> None:
        self._journal = journal
        self._questions = questions
        self._clock = clock

    def erase(self, choice: TextChoice, by: str) -> Erasure:
        """Erase texts, on record, and see that no byte of them is left; answers stay as they are.

        What is being answered is passed over, or refused where it was named. A closed account takes no
        record: its texts are erased all the same.
        """
        with self._journal.reading():
            there = bool(self._chosen(choice))
        numbers, recorded = self._erase(choice, by) if there else ((), False)
        return Erasure(numbers, recorded, self._journal.scrub())

    def _erase(self, choice: TextChoice, by: str) -> tuple[tuple[int, ...], bool]:
        with self._journal.writing():
            found = self._chosen(choice)
            for text in found:
                self._journal.write_note(ASKED, text.key, text.instead)
                self._journal.write_note(CERTIFICATE, text.key, None)
            numbers = tuple(sorted(text.sequence for text in found))
            recorded = bool(numbers) and self._journal.books.ownership.retired is None
            for first in range(0, len(numbers) if recorded else 0, _NUMBERS_MAX):
                listed = list(numbers[first : first + _NUMBERS_MAX])
                time = record_time(self._clock)
                self._journal.append("erase", {"reservations": listed, "by": by, "time": time})
        self._journal.pin()
        return numbers, recorded

    def _chosen(self, choice: TextChoice) -> list[_Found]:
        """Return the texts that are meant and kept; call it while reading or writing."""
        if choice.numbers:
            named = (self._named(number) for number in dict.fromkeys(choice.numbers))
            return [found for found in named if found is not None]
        return [*self._filtered(choice)]

    def _named(self, sequence: int) -> _Found | None:
        analyst = self._journal.books.who_asked(sequence)
        if analyst is None:
            raise Refused(
                "erase_unknown",
                f"record {str(sequence)[:20]} of the ledger is no question that has a text beside it",
                "`sanql ledger list --questions` has the numbers of those that are",
            )
        if self._questions.is_running(sequence):
            raise Refused(
                "erase_running",
                f"the question of record {sequence} is being answered",
                "erase its text when it has ended",
            )
        return self._kept(analyst, sequence, None)

    def _filtered(self, choice: TextChoice) -> Iterator[_Found]:
        for analyst, sequences in self._journal.books.asked.items():
            if choice.analyst not in (None, analyst):
                continue
            for sequence in sequences:
                found = self._kept(analyst, sequence, choice.before)
                if found is not None and not self._questions.is_running(sequence):
                    yield found

    def _kept(self, analyst: str, sequence: int, before: datetime | None) -> _Found | None:
        """Return a text that is there; one that cannot be read is erased with all that is beside it."""
        key = note_key(analyst, sequence)
        kept = self._journal.note(ASKED, key)
        if kept is None:
            return None
        try:
            note = AskedNote.from_bytes(kept)
        except LedgerError:
            return _Found(sequence, key, None) if before is None else None
        if note.asked is None or (before is not None and note.time >= before):
            return None
        return _Found(sequence, key, note.erased().to_bytes())


def erased_by_record(content: Mapping[str, object]) -> list[int]:
    """Return the reservations whose texts a record says were erased; anything else is a ValueError."""
    match dict(content):
        case {"by": str(by), "reservations": [*numbers], "time": str(time), **rest} if (
            not rest and by
        ):
            datetime.fromisoformat(time)
        case _:
            raise ValueError("not a record of texts that were erased")
    listed = [number for number in numbers if type(number) is int]
    if not listed or len(listed) != len(numbers) or sorted(set(listed)) != listed:
        raise ValueError("texts are erased once each, in the order of their records")
    return listed
