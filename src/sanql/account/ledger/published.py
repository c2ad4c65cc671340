"""What a dataset tells all its analysts: answers that were asked for in its own name.

They are charged like any answer, to the dataset's account and to nobody's own. What was asked lies beside
the chain as always: where its text is erased, the answer stays, and nobody can tell any more what it is.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from sanql.account.ledger.answers import recorded_answer
from sanql.account.ledger.asked import ASKED, AskedNote, note_key
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.state import DATASET


@dataclass(frozen=True)
class PublishedAnswer:
    """An answer to the dataset's own question, by its digest, with what was asked.

    `asked_before` is how many questions of analysts were charged before it.
    """

    question: str
    note: AskedNote
    content: bytes
    asked_before: int


class Published:
    """The answers of one ledger that all its analysts may read."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def revision(self) -> int:
        """Return a number that grows whenever there may be something else to read; 0 for nothing.

        One that another process has changed within the last moment may not be found.
        """
        settled = self._journal.settled(recently=True)
        if settled is not None:
            return settled.published
        with self._journal.reading():
            return self._journal.books.published

    def answers(self) -> list[PublishedAnswer]:
        """Return everything that is on record, oldest first, of which it is known what was asked."""
        with self._journal.reading():
            books = self._journal.books
            of_others = sorted(
                sequence
                for analyst, own in books.asked.items()
                if analyst != DATASET
                for sequence in own
            )
            found = []
            for sequence in books.asked.get(DATASET, []):
                kept = self._journal.note(ASKED, note_key(DATASET, sequence))
                spent = books.spent.get(sequence)
                if kept is not None and spent is not None:
                    content = recorded_answer(self._journal, spent)
                    note = AskedNote.from_bytes(kept)
                    before = bisect_left(of_others, sequence)
                    found.append(PublishedAnswer(spent.question, note, content, before))
            return [each for each in found if each.note.asked is not None]
