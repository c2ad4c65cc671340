"""The durable account of everything spent: reserve before a row is read, then spend or void.

A charge is checked against every account and appended in one transaction; it is on disk, and its
head pinned, before `reserve` returns. Nothing ever takes a charge back: not an error, not a crash,
not a void.

A failure is a void that the engine caused, or a reservation that is still open when the engine's
deadline is long over (its process died); younger ones are taken to be running. What the caller broke
off or the operator stopped is none. An analyst with `failures_max` failures is refused, and everybody
once there are `failures_total_max` in all, until the owner has looked and had them counted anew.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from sanql.account.asking import asking_alone
from sanql.account.books import Account, AccountKind, Limits, Recorded, pending_of
from sanql.account.chain import FORMAT, EndedBy, Record, check_readable
from sanql.account.charge import Charge
from sanql.account.data_versions import DataVersions
from sanql.account.exact_book import ExactClaim, ExactEntry
from sanql.account.filter import Filter, Spent
from sanql.account.owner import Owner
from sanql.account.refusals import (
    check_exact_open,
    check_never_pinned,
    check_terms,
    exceeded,
    exceeded_together,
    failed_too_often,
)
from sanql.account.scratch import check_scratch
from sanql.account.standing import spent_before
from sanql.account.store import Store
from sanql.account.terms import Declared
from sanql.account.versions import number_of
from sanql.errors import LedgerError, Refused
from sanql.policy.model import Budget, Policy

ORPHAN_GRACE = timedelta(seconds=60)

_DIGEST = re.compile(r"[0-9a-f]{16,128}")


@dataclass(frozen=True)
class Reservation:
    """A charge that is on disk; the query it is for may now be run."""

    sequence: int
    analyst: str
    question: str
    charge: Charge


@dataclass(frozen=True)
class Balance:
    """One account as it stands; `reserved` counts its open reservations."""

    account: str
    kind: AccountKind
    budget: Budget
    spent_upper: Budget
    remaining_lower: Budget
    reserved: int


class Ledger:
    """The account of one dataset, shared by all processes that answer from it."""

    def __init__(
        self, policy: Policy, terms: Mapping[str, str], store: Store, clock: Callable[[], datetime]
    ) -> None:
        self._policy = policy
        self._declared = Declared.of(policy, terms)
        self._store = store
        self._clock = clock
        self.owner = Owner(store, clock)
        self.versions = DataVersions(store, clock)
        self.before_charge: Callable[[], None] = lambda: None
        """Called before anything is charged: the data must be known to belong to this account."""

    @classmethod
    def open(
        cls,
        policy: Policy,
        terms: Mapping[str, str],
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        head_lost: bool = False,
    ) -> Ledger:
        """Open the policy's ledger, or create it when neither it nor its head exists.

        `terms` say what the numbers mean (neighbours, units) and can never change, but a private table
        more may join them with the next charge. Limits can change: a policy with other budgets or
        accounting appends a record of them. `head_lost` is the owner's
        word that the second head, where it was pinned until now, is gone for good.
        """
        if policy.head is not None and not check_readable(policy.ledger):
            check_never_pinned(policy.head)
        ledger = cls(policy, terms, Store(policy.ledger), clock)
        try:
            ledger._start()
            ledger.owner.pin_at(policy.head, lost=head_lost)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def close(self) -> None:
        """Let go of the file; nothing is left to be written."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, analyst: str, question: str, *older: str) -> bytes | None:
        """Return the answer recorded for this analyst's identical question, or None.

        `older` are names that the question had in earlier versions of the program. Another analyst's
        answer to it is not theirs to read: their own account has not paid for it.
        """
        self._check_analyst(analyst)
        with self._store.reading():
            for name in (question, *older):
                recorded = self._store.books.answers.get((analyst, name))
                if recorded is not None:
                    return self._kept(recorded)
        return None

    def reserve(self, analyst: str, question: str, charge: Charge) -> Reservation:
        """Put the charge on disk; it must fit every account that takes this analyst's charges.

        Raises BudgetExceeded when it does not, Unavailable after too many failures.
        """
        self._check_analyst(analyst)
        if not _DIGEST.fullmatch(question):
            raise ValueError("a question is named by a hexadecimal digest")
        self.before_charge()
        record = None
        try:
            with self._store.writing():
                self._check_failures(analyst)
                self._keep_tables()
                self._check_fits(analyst, charge)
                record = self._append_charge(analyst, question, charge)
            self._store.pin()
            return Reservation(record.sequence, analyst, question, charge)
        except BaseException as fault:
            if record is not None:  # perhaps it is on disk, and nobody will settle it
                self.give_up(Reservation(record.sequence, analyst, question, charge), fault)
            raise

    @property
    def scratch(self) -> bool:
        """Whether this is a scratch account, which never answers; checked when it was opened."""
        return self._policy.scratch

    def rehearse(self, analyst: str, charges: Mapping[str, Charge], *, afresh: str = "") -> None:
        """Charge a scratch account for these questions, which nobody will answer.

        One that was rehearsed before is free, as its repetition would be, unless it is asked `afresh`.
        Raises BudgetExceeded, and charges nothing, where they do not all fit.
        """
        self._check_analyst(analyst)
        with self._store.writing():
            if not self._store.books.scratch:
                raise ValueError("what is charged to an account that answers is answered")
            self._keep_tables()
            for question, charge in charges.items():
                if (analyst, question) not in self._store.books.rehearsed or question == afresh:
                    self._check_fits(analyst, charge)
                    record = self._append_charge(analyst, question, charge)
                    ended: dict[str, object] = {"ended_by": "caller"}
                    self._store.append("void", ended | {"reservation": record.sequence})
        self._store.pin()

    def is_rehearsed(self, analyst: str, question: str) -> bool:
        """Return whether a scratch account has been charged for this question."""
        with self._store.reading():
            return (analyst, question) in self._store.books.rehearsed

    def would_fit(self, analyst: str, charge: Charge) -> None:
        """Raise the BudgetExceeded that `reserve` would raise; write nothing."""
        self._check_analyst(analyst)
        with self._store.reading():
            self._check_fits(analyst, charge)

    def spend(self, reservation: Reservation, answer: bytes) -> None:
        """Record the answer of a reservation; it may leave once this returns."""
        with self._store.writing():
            self._check_pending(reservation)
            self._store.keep(reservation.sequence, answer)
            digest = hashlib.sha256(answer).hexdigest()
            self._store.append("spend", {"reservation": reservation.sequence, "sha256": digest})
        self._store.pin()

    def void(self, reservation: Reservation, *, ended_by: EndedBy) -> None:
        """Record that a reservation ended without an answer, and who ended it; its charge stays."""
        with self._store.writing():
            self._check_pending(reservation)
            content: dict[str, object] = {"ended_by": ended_by, "reservation": reservation.sequence}
            self._store.append("void", content)
        self._store.pin()

    def give_up(self, reservation: Reservation, fault: BaseException) -> None:
        """Void a reservation that something other than the engine has ended, if it is still open.

        An interrupt is the caller's; what else there is, a full disk say, the operator must see to. The
        ledger itself may have failed: then the reservation stays as it is.
        """
        with suppress(LedgerError):
            self.void(
                reservation, ended_by="operator" if isinstance(fault, Exception) else "caller"
            )

    def asking(self, analyst: str, question: str) -> AbstractContextManager[None]:
        """Hold a question against all who ask the same at once, so that it is charged once.

        Look for its answer within: whoever was first has left it there. Nobody is waited for much longer
        than an answer may take.
        """
        seconds = self._policy.engine.deadline_seconds + ORPHAN_GRACE.total_seconds()
        return asking_alone(self._policy.ledger, analyst, question, seconds)

    @property
    def used(self) -> bool:
        """Whether anything has ever been charged or released exactly."""
        with self._store.reading():
            return bool(self._store.books.tally.analysts or self._store.books.exact.entries)

    @property
    def begun(self) -> int:
        """The format in which the ledger was begun."""
        with self._store.reading():
            return cast(int, self._store.books.opening["format"])

    def failures(self) -> int:
        """Return how many failures count at present, orphans among them."""
        with self._store.reading():
            return sum(self._failures().values())

    def reset_failures(self) -> int:
        """Record that the owner has looked: failures so far count no more. Return how many did."""
        with self._store.writing():
            counted = sum(self._failures().values())
            self._store.append("failures_reset", {"time": self._now()})
        self._store.pin()
        return counted

    def find_exact(self, analyst: str, claim: ExactClaim) -> ExactEntry | None:
        """Return the release that this claim repeats; None when it may be reserved.

        Unlike a noisy answer it is everybody's: nobody's account paid for it. Raises Refused when
        the claim would be a second release of records that have left.
        """
        self._check_analyst(analyst)
        with self._store.reading():
            entry = self._store.books.exact.check(claim)
            if entry is None:
                check_exact_open(self._store.books.ownership)
            return entry

    def answer_of(self, entry: ExactEntry) -> bytes | None:
        """Return the cells recorded for an exact release, or None where there are none yet."""
        if entry.answer is None:
            return None
        with self._store.reading():
            return self._kept(entry.answer)

    def version_of(self, entry: ExactEntry) -> int | None:
        """Return the version of the data that an exact release was made from, where it is known."""
        with self._store.reading():
            return number_of(self._store.books.exact.source_of(entry.claim))

    def reserve_exact(self, analyst: str, claim: ExactClaim) -> ExactEntry:
        """Put on disk that these cells are released; after a crash, the reservation that is there.

        The entry that is returned may have been settled by another process meanwhile.
        """
        self._check_analyst(analyst)
        self.before_charge()
        with self._store.writing():
            earlier = self._store.books.exact.check(claim)
            if earlier is not None and not earlier.failed:
                return earlier
            check_exact_open(self._store.books.ownership)
            if earlier is not None:
                claim = claim.repeating(earlier.claim)
            self._check_failures(analyst)
            self._keep_tables()
            time = self._now()
            asked: dict[str, object] = {"analyst": analyst, "time": time}
            self._store.append("exact", claim.to_dict() | asked)
            entry = self._store.books.exact.entries[claim.name]
        self._store.pin()
        return entry

    def spend_exact(self, entry: ExactEntry, answer: bytes) -> None:
        """Record the cells of an exact release; they may leave once this returns.

        Where another process was first, its cells must be the same: the release is one.
        """
        digest = hashlib.sha256(answer).hexdigest()
        with self._store.writing():
            now = self._store.books.exact.entries[entry.claim.name]
            if now.answer is None:
                self._store.keep(entry.sequence, answer)
                spent: dict[str, object] = {"reservation": entry.sequence, "sha256": digest}
                self._store.append("spend", spent)
            elif now.answer.sha256 != digest:
                raise LedgerError(
                    "exact_cells_differ",
                    f"the exact cells of record {entry.sequence} were computed twice, with "
                    "different results: the source changes while it is read",
                    "let nobody write to the source; the cells recorded first stay the release",
                )
        self._store.pin()

    def void_exact(self, entry: ExactEntry, refusal: str | None, *, ended_by: EndedBy) -> None:
        """Record that an exact release ended without cells: refused for a reason, or failed."""
        with self._store.writing():
            if self._store.books.exact.holds(entry.sequence):
                content: dict[str, object] = {"reservation": entry.sequence, "ended_by": ended_by}
                if refusal is not None:
                    content["refusal"] = refusal
                self._store.append("void", content)
        self._store.pin()

    def exact_releases(self) -> list[ExactEntry]:
        """Return the book of exact releases, oldest first."""
        with self._store.reading():
            entries = self._store.books.exact.entries.values()
            return sorted(entries, key=lambda entry: entry.sequence)

    def balances(self) -> list[Balance]:
        """Return every account: the dataset's, the analysts', the coalitions'."""
        with self._store.reading():
            books = self._store.books
            return [
                self._balance(account, books.spent_by(account))
                for account in books.current_limits.accounts
            ]

    def balances_of(self, analyst: str) -> tuple[Balance, ...]:
        """Return the accounts that an analyst is shown: their own, or else those they share."""
        with self._store.reading():
            books = self._store.books
            return tuple(
                self._balance(account, books.spent_by(account))
                for account in books.accounts_shown_to(analyst)
            )

    def balances_after(self, analyst: str, charge: Charge) -> tuple[Balance, ...] | None:
        """Return what an analyst is shown as a charge would leave it; None if it does not fit."""
        with self._store.reading():
            books = self._store.books
            accounts = books.accounts_of(analyst)
            rules = [books.current_limits.filter_of(account) for account in accounts]
            after = [
                rule.take(books.spent_by(account), charge)
                for rule, account in zip(rules, accounts, strict=True)
            ]
            if not all(map(Filter.within, rules, after)):
                return None
            shown = books.accounts_shown_to(analyst)
            return tuple(
                self._balance(account, spent)
                for account, spent in zip(accounts, after, strict=True)
                if account in shown
            )

    def spent_without_budget(self) -> list[tuple[str, Budget]]:
        """Return what each analyst without a budget of their own has spent at most, by name.

        It is counted as the dataset's account counts it.
        """
        with self._store.reading():
            books = self._store.books
            limits = books.current_limits
            own = {account.name for account in limits.accounts if account.kind == "analyst"}
            rule = limits.filter_of(limits.accounts[0])
            return [
                (name, spent_before(rule, books.tally.totals(name, limits.accounting)))
                for name in books.tally.analysts
                if name not in own
            ]

    def records(self) -> Iterator[Record]:
        """Return every record, checked, oldest first."""
        return self._store.records()

    def _append_charge(self, analyst: str, question: str, charge: Charge) -> Record:
        asked: dict[str, object] = {"analyst": analyst, "question": question, "time": self._now()}
        return self._store.append("reserve", asked | {"charge": charge.to_dict()})

    def _kept(self, recorded: Recorded) -> bytes:
        """Return a recorded answer, unharmed; call it while reading."""
        answer = self._store.answer(recorded.reservation)
        if answer is None or hashlib.sha256(answer).hexdigest() != recorded.sha256:
            raise LedgerError(
                "ledger_damaged",
                f"the answer recorded for record {recorded.reservation} of the ledger is damaged",
                "restore the ledger file from the newest good copy",
            )
        return answer

    def _start(self) -> None:
        limits = Limits.of(self._policy)
        with self._store.reading():
            settled = self._store.books.limits == limits
            if self._store.books.opening:
                settled = self._goes_on() and settled
        if not settled:
            with self._store.writing():
                if self._store.books.head.sequence == 0:
                    marks: dict[str, object] = {"scratch": True} if self._policy.scratch else {}
                    opening = self._declared.opening() | {"format": FORMAT} | marks
                    self._store.append("open", opening)
                known = self._goes_on()
                if self._store.books.limits != limits:
                    self._store.append("limits", self._store.books.limits_content(limits))
                if not known:
                    self._append_tables({}, self._store.books.terms.lacking(self._declared)[1])
        self._store.pin()

    def _goes_on(self) -> bool:
        """Return whether all public tables are on record; raise where the account cannot go on."""
        self._check_scratch()
        books = self._store.books
        check_terms(books.terms, self._declared)
        closed = books.ownership.retired is not None  # nothing joins it any more
        return closed or not books.terms.lacking(self._declared)[1]

    def _keep_tables(self) -> None:
        """Put tables on record that the policy has and the account lacks; call it while writing.

        Private ones join with a charge, not before: nothing holds an owner to what was only tried.
        """
        check_terms(self._store.books.terms, self._declared)
        private, public = self._store.books.terms.lacking(self._declared)
        if private or public:
            self._append_tables(private, public)

    def _append_tables(self, private: dict[str, str], public: list[str]) -> None:
        tables: dict[str, object] = {"private": private, "public": public}
        self._store.append("tables", tables | {"time": self._now()})

    def _check_scratch(self) -> None:
        recorded, wanted = self._store.books.scratch, self._policy.scratch
        check_scratch(self._policy.ledger, recorded=recorded, wanted=wanted)

    def _check_analyst(self, analyst: str) -> None:
        if self._policy.analysts and analyst not in self._policy.analysts:
            raise Refused(
                "analyst_unknown",
                f"analyst {analyst[:60]!r} is not declared in the policy",
                "ask under a declared name, or have the data owner add this one",
            )

    def _check_failures(self, analyst: str) -> None:
        failed, policy = self._failures(), self._policy
        total_max = policy.failures_max
        if policy.failures_total_max is not None:
            total_max = policy.failures_total_max
        # Names are told apart only where the owner declares them; else failures count together.
        if policy.analysts and failed[analyst] >= policy.failures_max:
            raise failed_too_often(f"{failed[analyst]} queries of this analyst", "failures_max")
        if sum(failed.values()) >= total_max:
            raise failed_too_often(
                f"{sum(failed.values())} queries of all analysts", "failures_total_max"
            )

    def _failures(self) -> Counter[str]:
        """Return the failures that count, by analyst; call it while reading."""
        books, deadline = self._store.books, self._policy.engine.deadline_seconds
        oldest = self._clock() - ORPHAN_GRACE - timedelta(seconds=deadline)
        orphans = Counter(
            pending.analyst
            for sequence, pending in books.pending.items()
            if pending.time < oldest and sequence > books.failures_seen_until
        )
        return books.failures + orphans

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")

    def _check_fits(self, analyst: str, charge: Charge) -> None:
        books = self._store.books
        limits, shown = books.current_limits, books.accounts_shown_to(analyst)
        states = [
            (account, limits.filter_of(account), books.spent_by(account))
            for account in books.accounts_of(analyst)
        ]
        full = [state for state in states if not state[1].fits(state[2], charge)]
        known = [state for state in full if state[0] in shown]
        if known:
            binding = min(known, key=lambda state: state[1].remaining_lower(state[2]).epsilon)
            told = [state[1:] for state in states if state[0] in shown]
            raise exceeded(*binding, charge, told)
        if full:
            raise exceeded_together(full[0][0], charge)

    def _check_pending(self, reservation: Reservation) -> None:
        pending = self._store.books.pending.get(reservation.sequence)
        if pending is None or pending.question != reservation.question:
            raise LedgerError(
                "reservation_closed",
                f"reservation {reservation.sequence} is not open (spent, voided or never made)",
                "reserve again; the charge stays",
            )

    def _balance(self, account: Account, spent: Spent) -> Balance:
        rule = self._store.books.current_limits.filter_of(account)
        return Balance(
            account.name,
            account.kind,
            account.budget,
            Budget(*rule.spent_upper(spent)),
            rule.remaining_lower(spent),
            pending_of(self._store.books.pending.values(), account),
        )
