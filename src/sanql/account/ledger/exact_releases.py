"""Exact releases as the ledger records them: reserved before a cell is computed, then spent or voided.

Which claims are one release, and which a second one that is refused, the book decides (`exact_book`).
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

from sanql.account.charge import Charge
from sanql.account.ledger.answers import recorded_answer
from sanql.account.ledger.asked import NOTHING_SAID, Asked
from sanql.account.ledger.exact_book import ExactClaim, ExactEntry
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.preconditions import Preconditions
from sanql.account.ledger.questions import Questions
from sanql.account.ledger.refusals import check_exact_open
from sanql.account.ledger.versions import number_of
from sanql.account.ledger.void_reasons import VoidReason
from sanql.errors import LedgerError

NO_CHARGE = Charge((), Fraction(0), Fraction(0))
"""What an exact release costs: its guarantee is another one, and no budget pays for it."""


class ExactReleases:
    """The exact releases of one ledger."""

    def __init__(
        self, journal: Journal, preconditions: Preconditions, questions: Questions
    ) -> None:
        self._journal = journal
        self._preconditions = preconditions
        self._questions = questions

    def find(self, analyst: str, claim: ExactClaim) -> ExactEntry | None:
        """Return the release that this claim repeats; None when it may be reserved.

        Unlike a noisy answer it is everybody's: nobody's account paid for it. Raises Refused when
        the claim would be a second release of records that have left.
        """
        self._preconditions.check_analyst(analyst)
        with self._journal.reading():
            entry = self._journal.books.exact.check(claim)
            if entry is None:
                check_exact_open(self._journal.books.ownership)
            return entry

    def check_together(self, claim: ExactClaim) -> None:
        """Refuse a certified claim that is not in the book and would exceed the owner's cap on all."""
        with self._journal.reading():
            entry = self._journal.books.exact.check(claim)
            if entry is None or entry.failed:
                self._preconditions.check_together(claim, self._made())

    def answer_of(self, entry: ExactEntry) -> bytes | None:
        """Return the cells recorded for an exact release, or None where there are none yet."""
        if entry.answer is None:
            return None
        with self._journal.reading():
            return recorded_answer(self._journal, entry.answer)

    def version_of(self, entry: ExactEntry) -> int | None:
        """Return the version of the data that an exact release was made from, where it is known."""
        with self._journal.reading():
            return number_of(self._journal.books.exact.source_of(entry.claim))

    def reserve(self, analyst: str, claim: ExactClaim, asked: Asked = NOTHING_SAID) -> ExactEntry:
        """Put on disk that these cells are released; after a crash, the reservation that is there.

        The entry that is returned may have been settled by another process meanwhile.
        """
        self._preconditions.prepare(analyst)
        with self._journal.writing():
            books = self._journal.books
            earlier = books.exact.check(claim)
            if earlier is not None and not earlier.failed:
                return earlier
            check_exact_open(books.ownership)
            self._preconditions.check_together(claim, self._made())
            if earlier is not None:
                claim = claim.repeating(earlier.claim)
            self._preconditions.settle(analyst)
            self._questions.append("exact", analyst, claim.to_dict(), asked, NO_CHARGE)
            entry = books.exact.entries[claim.name]
        self._journal.pin()
        return entry

    def spend(self, entry: ExactEntry, answer: bytes) -> None:
        """Record the cells of an exact release; they may leave once this returns.

        Where another process was first, its cells must be the same: the release is one.
        """
        digest = hashlib.sha256(answer).hexdigest()
        with self._journal.writing():
            now = self._journal.books.exact.entries[entry.claim.name]
            if now.answer is None:
                self._journal.keep(entry.sequence, answer)
                spent: dict[str, object] = {"reservation": entry.sequence, "sha256": digest}
                self._journal.append("spend", spent)
            elif now.answer.sha256 != digest:
                raise LedgerError(
                    "exact_cells_differ",
                    f"the exact cells of [exact.{entry.claim.name}] were computed twice, with "
                    "different results: the source changes while it is read",
                    "let nobody write to the source; the cells recorded first stay the release",
                )
        self._journal.pin()

    def void(self, entry: ExactEntry, refusal: str | None, *, reason: VoidReason) -> None:
        """Record that an exact release ended without cells: refused for a reason, or failed."""
        with self._journal.writing():
            if self._journal.books.exact.holds(entry.sequence):
                content: dict[str, object] = {"reservation": entry.sequence, "reason": reason}
                if refusal is not None:
                    content["refusal"] = refusal
                self._journal.append("void", content)
        self._journal.pin()

    def entries(self) -> list[ExactEntry]:
        """Return the book of exact releases, oldest first."""
        with self._journal.reading():
            entries = self._journal.books.exact.entries.values()
            return sorted(entries, key=lambda entry: entry.sequence)

    def _made(self) -> list[ExactClaim]:
        """Return what has been released or reserved; call it while the journal is held."""
        return [entry.claim for entry in self._journal.books.exact.entries.values()]
