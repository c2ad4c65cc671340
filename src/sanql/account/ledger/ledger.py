"""The durable account of everything spent: reserve before a row is read, then spend or void.

A charge is checked against every account and appended in one transaction; it is on disk, and its
head pinned, before `reserve` returns; charges and answers that come at the same moment share that
(`group_commit`). Nothing ever takes a charge back: not an error, not a crash,
not a void.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

from sanql.account.charge import Charge
from sanql.account.claims.owner import Owner
from sanql.account.ledger.answers import recorded_answer
from sanql.account.ledger.asked import NOTHING_SAID, Asked
from sanql.account.ledger.balances import (
    balances_after,
    balances_of,
    check_fits,
    spent_without_budget,
)
from sanql.account.ledger.chain import BEGINNING, Head, LedgerRecord
from sanql.account.ledger.data_versions import DataVersions
from sanql.account.ledger.erasing import Texts
from sanql.account.ledger.exact_releases import ExactReleases
from sanql.account.ledger.failures import ORPHAN_GRACE, Failures
from sanql.account.ledger.group_commit import WaitingWrite
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.moments import Clock
from sanql.account.ledger.opening import Opening
from sanql.account.ledger.preconditions import Preconditions
from sanql.account.ledger.published import Published
from sanql.account.ledger.questions import Questions
from sanql.account.ledger.tranches import Tranches
from sanql.account.ledger.versions import Version
from sanql.account.ledger.void_reasons import VoidReason, reason_of
from sanql.account.stores.opening import open_store, own_heads
from sanql.account.stores.protocol import Store
from sanql.errors import LedgerError
from sanql.policy import Budget, Policy
from sanql.results import Balance

_LOOKED_UP_MAX = 1_000
_DIGEST = re.compile(r"[0-9a-f]{16,128}")


@dataclass(frozen=True)
class Reservation:
    """A charge that is on disk; the query it is for may now be run."""

    sequence: int
    analyst: str
    question: str
    charge: Charge


@dataclass(frozen=True)
class RecordedNow:
    """What the ledger knows of a question: the newest version of the data, its answer, what is left."""

    version: Version | None
    answer: bytes | None
    remaining: tuple[Balance, ...]


class Ledger:
    """The account of one dataset, shared by all processes that answer from it."""

    def __init__(
        self,
        policy: Policy,
        terms: Mapping[str, str],
        store: Store,
        clock: Clock,
        author: str | None = None,
    ) -> None:
        self.scratch = policy.scratch
        """Whether this is a scratch account, which never answers; checked when it was opened."""
        self._policy = policy
        self._journal = Journal(store)
        self._opening = Opening(self._journal, policy, terms, clock, author)
        self.owner = Owner(self._journal, clock)
        self.versions = DataVersions(self._journal, clock)
        self.tranches = Tranches(self._journal, clock, author)
        self.failures = Failures(self._journal, policy, clock)
        self._preconditions = Preconditions(policy, self._opening, self.failures)
        self.questions = Questions(self._journal, clock, self._running_max)
        self.published = Published(self._journal)
        self.texts = Texts(self._journal, self.questions, clock)
        self.exact = ExactReleases(self._journal, self._preconditions, self.questions)
        # what repeats were found to rest on, while this was the newest record
        self._looked_up: tuple[Head, dict[tuple[str, str], RecordedNow]] = BEGINNING, {}

    @classmethod
    def open(
        cls,
        policy: Policy,
        terms: Mapping[str, str],
        *,
        clock: Clock = lambda: datetime.now(UTC),
        head_lost: bool = False,
        store: Store | None = None,
        author: str | None = None,
    ) -> Ledger:
        """Open the policy's ledger, or create it when neither it nor its head exists.

        `terms` say what the numbers mean (neighbours, units) and can never change, but a private table
        more may join them with the next charge. Limits can change: a policy with other budgets appends a
        record of them. `head_lost` is the owner's word that the second head is gone for good. The ledger
        is kept where the policy says, or in the store that is given. `author` is who declares the limits.
        """
        ledger = cls(policy, terms, store or open_store(policy), clock, author)
        shared = policy.ledger_database is not None
        try:
            for place in own_heads(policy) if shared else ():
                ledger.owner.check_pinned(place)  # first: nothing is appended to an older one
            ledger._opening.start()
            ledger.owner.pin_at(None if shared else policy.head, lost=head_lost)
            for place in own_heads(policy) if shared else ():
                ledger.owner.pin_here(place)
        except BaseException:
            ledger.close()
            raise
        return ledger

    @classmethod
    def approve(
        cls,
        policy: Policy,
        terms: Mapping[str, str],
        officer: str,
        *,
        clock: Clock = lambda: datetime.now(UTC),
        store: Store | None = None,
    ) -> list[str]:
        """Record an officer's signature under a policy's limits, which are not in force before.

        Returns, each in words, what they give more. Who the officer is must have been seen to.
        """
        with cls(policy, terms, store or open_store(policy), clock) as ledger:
            for place in own_heads(policy):
                ledger.owner.check_pinned(place)
            return ledger._opening.approve(officer)

    def close(self) -> None:
        """Let go of the store; nothing is left to be written."""
        self._journal.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call_before_charges(self, act: Callable[[], None]) -> None:
        """Have something done before anything is charged: the data must be known to be this account's."""
        self._preconditions.before_charge = act

    def check_analyst(self, analyst: str) -> None:
        """Refuse whom the policy does not declare, where it declares any."""
        self._preconditions.check_analyst(analyst)

    def find(
        self, analyst: str, question: str, *older: str, recently: bool = False
    ) -> bytes | None:
        """Return the answer recorded for this analyst's identical question, or None.

        `older` are names that the question had in earlier versions of the program. Another analyst's
        answer to it is not theirs to read: their own account has not paid for it. `recently`: one that
        another process has recorded within the last moment may not be found.
        """
        self._preconditions.check_analyst(analyst)
        names = (question, *older)
        settled = self._journal.settled(recently=recently)
        if settled is not None and not any((analyst, name) in settled.answers for name in names):
            return None
        with self._journal.reading():
            for name in names:
                recorded = self._journal.books.answers.get((analyst, name))
                if recorded is not None:
                    return recorded_answer(self._journal, recorded)
        return None

    def recorded_now(self, analyst: str, question: str) -> RecordedNow:
        """Return what a repeat of a question rests on, in one view."""
        known = self.recorded_at_hand(analyst, question)
        if known is not None:
            return known
        with self._journal.reading():
            books = self._journal.books
            recorded = books.answers.get((analyst, question))
            now = RecordedNow(
                books.version,
                None if recorded is None else recorded_answer(self._journal, recorded),
                tuple(balances_of(books, books.accounts_shown_to(analyst))),
            )
            head = books.head
        looked_up = self._looked_up
        if looked_up[0] != head or len(looked_up[1]) >= _LOOKED_UP_MAX:
            looked_up = self._looked_up = head, {}
        looked_up[1][analyst, question] = now  # not to what another has put there meanwhile
        return now

    def recorded_at_hand(self, analyst: str, question: str) -> RecordedNow | None:
        """Return it without waiting, where it was read before and no record has come since."""
        self._preconditions.check_analyst(analyst)
        head, found = self._looked_up  # looked at without waiting: it is exchanged as a whole
        settled = self._journal.settled()
        return None if settled is None or settled.head != head else found.get((analyst, question))

    def reserve(
        self, analyst: str, question: str, charge: Charge, asked: Asked = NOTHING_SAID
    ) -> Reservation:
        """Put the charge on disk; it must fit every account that takes this analyst's charges.

        `question` is its digest; what was `asked` in words is kept beside. Raises BudgetExceeded when
        the charge does not fit, Unavailable after too many failures.
        """
        if not _DIGEST.fullmatch(question):
            raise ValueError("a question is named by a hexadecimal digest")
        self._preconditions.prepare(analyst)
        turn = WaitingWrite(partial(self._reserve, analyst, question, charge, asked))
        try:
            record = self._journal.write(turn)
            return Reservation(record.sequence, analyst, question, charge)
        except BaseException as fault:
            if turn.made is not None:  # perhaps it is on disk, and nobody will settle it
                self.give_up(Reservation(turn.made.sequence, analyst, question, charge), fault)
            raise

    def would_fit(self, analyst: str, charge: Charge) -> None:
        """Raise the BudgetExceeded that `reserve` would raise; write nothing."""
        self._preconditions.check_analyst(analyst)
        with self._journal.reading():
            check_fits(self._journal.books, analyst, charge)

    def spend(
        self, reservation: Reservation, answer: bytes, certificate: bytes = b""
    ) -> tuple[Balance, ...]:
        """Record the answer of a reservation, which may leave once this returns.

        Its `certificate`, packed, is kept beside what was asked. Returns the accounts that the analyst is
        shown, as they are then.
        """
        shown: list[Balance] = []

        def deed() -> LedgerRecord:
            record = self._spend(reservation, answer, certificate)
            books = self._journal.books
            shown[:] = balances_of(books, books.accounts_shown_to(reservation.analyst))
            return record

        self._journal.write(WaitingWrite(deed))
        return tuple(shown)

    def void(self, reservation: Reservation, *, reason: VoidReason) -> None:
        """Record that a reservation ended without an answer, and why; its charge stays."""
        self._journal.write(WaitingWrite(partial(self._void, reservation, reason)))

    def give_up(self, reservation: Reservation, fault: BaseException) -> None:
        """Void a reservation that something other than the engine has ended, if it is still open.

        An interrupt is the caller's; what else there is, a full disk say, the operator must see to. The
        ledger itself may have failed: then the reservation stays as it is.
        """
        with suppress(LedgerError):
            self.void(reservation, reason=reason_of(fault))

    def asking(self, analyst: str, question: str) -> AbstractContextManager[None]:
        """Hold a question against all who ask the same at once, so that it is charged once.

        Look for its answer within: whoever was first has left it there. Nobody is waited for much longer
        than an answer may take.
        """
        return self._journal.asking(analyst, question, self._running_max.total_seconds())

    @property
    def _running_max(self) -> timedelta:
        """How long a question may be running; what is open longer has lost its process."""
        return ORPHAN_GRACE + timedelta(seconds=self._policy.engine.deadline_seconds)

    def rehearse(
        self,
        analyst: str,
        charges: Mapping[str, Charge],
        asked: Asked = NOTHING_SAID,
        *,
        afresh: str = "",
    ) -> None:
        """Charge a scratch account for these questions, which nobody will answer.

        One that was rehearsed before is free, as its repetition would be, unless it is asked `afresh`.
        Raises BudgetExceeded, and charges nothing, where they do not all fit.
        """
        self._preconditions.check_analyst(analyst)
        with self._journal.writing():
            if not self._journal.books.scratch:
                raise ValueError("what is charged to an account that answers is answered")
            self._opening.keep_tables()
            for question, charge in charges.items():
                if (analyst, question) not in self._journal.books.rehearsed or question == afresh:
                    check_fits(self._journal.books, analyst, charge)
                    record = self._append_charge(analyst, question, charge, asked)
                    ended: dict[str, object] = {"reason": "rehearsed"}
                    self._journal.append("void", ended | {"reservation": record.sequence})
        self._journal.pin()

    def is_rehearsed(self, analyst: str, question: str) -> bool:
        """Return whether a scratch account has been charged for this question."""
        with self._journal.reading():
            return (analyst, question) in self._journal.books.rehearsed

    @property
    def used(self) -> bool:
        """Whether anything has ever been charged or released exactly."""
        with self._journal.reading():
            return bool(self._journal.books.charges or self._journal.books.exact.entries)

    @property
    def begun(self) -> int:
        """The format in which the ledger was begun."""
        with self._journal.reading():
            return cast(int, self._journal.books.opening["format"])

    @property
    def length(self) -> int:
        """How many records there are."""
        with self._journal.reading():
            return self._journal.books.head.sequence

    def balances(self) -> list[Balance]:
        """Return every account: the dataset's, the analysts', the coalitions'."""
        with self._journal.reading():
            books = self._journal.books
            return balances_of(books, books.current_limits.accounts)

    def balances_of(self, analyst: str) -> tuple[Balance, ...]:
        """Return the accounts that an analyst is shown: their own, or else those they share."""
        with self._journal.reading():
            books = self._journal.books
            return tuple(balances_of(books, books.accounts_shown_to(analyst)))

    def balances_after(self, analyst: str, charge: Charge) -> tuple[Balance, ...] | None:
        """Return what an analyst is shown as a charge would leave it; None if it does not fit."""
        with self._journal.reading():
            after = balances_after(self._journal.books, analyst, charge)
            return None if after is None else tuple(after)

    def spent_without_budget(self) -> list[tuple[str, Budget]]:
        """Return what each analyst without a budget of their own has spent at most, by name."""
        with self._journal.reading():
            return spent_without_budget(self._journal.books)

    def records(self) -> Iterator[LedgerRecord]:
        """Return every record, checked, oldest first."""
        return self._journal.records()

    def _reserve(self, analyst: str, question: str, charge: Charge, asked: Asked) -> LedgerRecord:
        """Append a charge that fits; call it while writing."""
        self._preconditions.settle(analyst)
        check_fits(self._journal.books, analyst, charge)
        return self._append_charge(analyst, question, charge, asked)

    def _spend(self, reservation: Reservation, answer: bytes, certificate: bytes) -> LedgerRecord:
        """Append the answer of an open reservation; call it while writing."""
        self._check_pending(reservation)
        self._journal.keep(reservation.sequence, answer)
        if certificate:
            self.questions.keep_certificate(reservation.analyst, reservation.sequence, certificate)
        spent: dict[str, object] = {"reservation": reservation.sequence}
        return self._journal.append("spend", spent | {"sha256": hashlib.sha256(answer).hexdigest()})

    def _void(self, reservation: Reservation, reason: VoidReason) -> LedgerRecord:
        """Append the end of an open reservation; call it while writing."""
        self._check_pending(reservation)
        return self._journal.append("void", {"reason": reason, "reservation": reservation.sequence})

    def _append_charge(
        self, analyst: str, question: str, charge: Charge, asked: Asked
    ) -> LedgerRecord:
        content: dict[str, object] = {"question": question, "charge": charge.to_dict()}
        return self.questions.append("reserve", analyst, content, asked, charge)

    def _check_pending(self, reservation: Reservation) -> None:
        pending = self._journal.books.pending.get(reservation.sequence)
        asked = reservation.analyst, reservation.question
        if pending is None or (pending.analyst, pending.question) != asked:
            raise LedgerError(
                "reservation_closed",
                f"reservation {reservation.sequence} is not open (spent, voided or never made)",
                "reserve again; the charge stays",
            )
