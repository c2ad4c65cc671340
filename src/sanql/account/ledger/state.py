"""What the ledger's records add up to: limits, totals, open reservations, recorded answers.

A pure state machine: it sees records in order and nothing else, so every balance is derived and
none is stored. Each account in force has a running balance; what each analyst was charged is kept
besides, so that an account declared late still counts what its members have already spent. What a
checkpoint needs of the records since the last one is gathered in a segment (`checkpoints`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never, cast

from sanql.account.accountants.protocol import Accountant
from sanql.account.accountants.totals import ChargeHistory
from sanql.account.charge import Charge
from sanql.account.claims.ownership import Ownership
from sanql.account.ledger.asked import asked_hash
from sanql.account.ledger.budget_limits import Account, BudgetLimits, Identity, shown_of
from sanql.account.ledger.chain import (
    BEGINNING,
    FORMAT_OF_KINDS,
    FORMAT_OF_TRANCHES,
    SCRATCH_KINDS,
    Head,
    LedgerRecord,
    OwnershipKind,
    check_format,
    damaged,
)
from sanql.account.ledger.charged import Charged, PendingReservation, history_of, pending_of
from sanql.account.ledger.erasing import erased_by_record
from sanql.account.ledger.exact_book import ExactBook
from sanql.account.ledger.format_1 import spent_in_format_1
from sanql.account.ledger.lost_records import LostRecords
from sanql.account.ledger.raising import digest_of_limits, needs_signature, signed_limits
from sanql.account.ledger.running_balance import RunningBalance, spent_before_in
from sanql.account.ledger.segments import RecordedAnswer, Segments, checkpoint_named
from sanql.account.ledger.terms import AccountTerms
from sanql.account.ledger.tranche_book import TrancheBook
from sanql.account.ledger.versions import Version, version_after
from sanql.account.ledger.void_reasons import who_ended

DATASET = "/dataset"
"""Who asks in the dataset's own name, and is charged to its account alone: nobody's name has a slash."""


@dataclass
class Books:
    """The state after the records seen so far."""

    head: Head = BEGINNING
    opening: dict[str, object] = field(default_factory=dict)
    format: int = 0
    limits: BudgetLimits | None = None
    signed: set[str] = field(default_factory=set)
    charges: dict[Charged, ChargeHistory] = field(default_factory=dict)
    balances: dict[Identity, RunningBalance] = field(default_factory=dict)
    pending: dict[int, PendingReservation] = field(default_factory=dict)
    answers: dict[tuple[str, str], RecordedAnswer] = field(default_factory=dict)
    spent: dict[int, RecordedAnswer] = field(default_factory=dict)
    asked: dict[str, list[int]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    failures_seen_until: int = 0
    exact: ExactBook = field(default_factory=ExactBook)
    version: Version | None = None
    ownership: Ownership = field(default_factory=Ownership)
    tranches: TrancheBook = field(default_factory=TrancheBook)
    terms: AccountTerms = field(default_factory=AccountTerms)
    rehearsed: set[tuple[str, str]] = field(default_factory=set)
    lost: LostRecords = field(default_factory=LostRecords)
    published: int = 0  # how often what the dataset tells in its own name may have changed
    segments: Segments = field(default_factory=Segments)

    @property
    def scratch(self) -> bool:
        """Whether this is a scratch account, which never answers; its first record says so."""
        return "scratch" in self.opening

    def apply(self, record: LedgerRecord) -> None:
        """Take one more record; LedgerError when it makes no sense after the ones before."""
        try:
            declares = not self._take_charge(record)
            if declares:
                self._declare(record)
        except (ValueError, KeyError, TypeError) as fault:
            raise damaged(record.sequence, "makes no sense after the records before it") from fault
        self.head = Head(record.sequence, record.hash)
        self.segments.open.take(record, declares=declares)

    def running(self, account: Account) -> RunningBalance:
        """Return the balance of an account in force, and its accountant with it."""
        return self.balances[account.identity]

    def accountant_of(self, account: Account) -> Accountant:
        """Return who counts an account in force, and keeps what of its budget is not open."""
        return self.tranches.paced(account, self.current_limits.accountant_of(account))

    def accounts_of(self, analyst: str, protects: tuple[str, ...] = ()) -> list[Account]:
        """Return every account that a charge of this analyst must fit.

        Of one that says whom it protects, these are the accounts of those kinds of unit; of others, all.
        """
        limits = self.current_limits
        whom = limits.whom(protects)
        return [a for a in limits.accounts if a.takes(analyst) and a.protects in whom]

    def accounts_shown_to(self, analyst: str) -> list[Account]:
        """Return the accounts whose state an analyst may see: their own, if they have one.

        What is left in a shared account tells what others have spent, which can depend on the
        others' answers; somebody with an account of their own is promised not to be told.
        """
        return shown_of(self.accounts_of(analyst))

    def open_since(self, sequence: int) -> datetime | None:
        """Return when a reservation was made that has neither been spent nor voided; None otherwise."""
        pending = self.pending.get(sequence)
        return self.exact.open_since(sequence) if pending is None else pending.time

    def who_asked(self, sequence: int) -> str | None:
        """Return who asked with a record, where there was something to be told of it; None otherwise."""
        for analyst, own in self.asked.items():
            place = bisect_left(own, sequence)
            if own[place : place + 1] == [sequence]:
                return analyst
        return None

    @property
    def current_limits(self) -> BudgetLimits:
        """The limits in force."""
        if self.limits is None:
            raise damaged(self.head.sequence + 1, "is missing: no limits are recorded")
        return self.limits

    def _take_charge(self, record: LedgerRecord) -> bool:
        """Take a record of a charge or of what became of charges; return whether it is one."""
        self._check_place(record)
        match record.kind:
            case "reserve":
                content = record.content
                self._reserve(record.sequence, content)
                self._ask(record.sequence, content)
            case "spend" | "void":
                content = record.content
                if self.exact.holds(content["reservation"]):
                    return False
                pending, sequence = self._settle(content)
                if record.kind == "void":
                    self._count_failure(pending.analyst, content)
                else:
                    answer = RecordedAnswer(sequence, _text(content["sha256"]), pending.question)
                    self._spend(pending, answer)
            case "failures_reset":
                self._reset_failures(record.content)
            case "erase":
                self._erase(record.content)
            case "checkpoint":
                self._end_segment(record.content)
            case _:
                return False
        return True

    def _declare(self, record: LedgerRecord) -> None:
        """Take a record that is no charge: what the account is, and exact releases."""
        content = record.content
        match record.kind:
            case "open":
                self._open(content)
            case "format":
                self._set_format(content)
            case "limits":
                self._set_limits(content)
            case "approve":
                self._sign(content)
            case "tables":
                self._add_tables(content)
            case "rename":
                self._rename(content)
            case "version":
                self._open_version(content)
            case "tranche":
                self._open_tranche(content)
            case "exact":
                self.exact.reserve(record.sequence, content)
                self._ask(record.sequence, content)
            case "spend":
                sequence = cast(int, content["reservation"])
                answer = RecordedAnswer(sequence, _text(content["sha256"]))
                self.exact.spend(sequence, answer)
                self.spent[sequence] = answer
            case "void":
                who_ended(content, self.format)
                failed = self.exact.void(cast(int, content["reservation"]), content.get("refusal"))
                if failed is not None:
                    self._count_failure(failed, content)
            case "reserve" | "failures_reset" | "erase" | "checkpoint":
                raise ValueError("a record of charges declares nothing")
            case "claim" | "move" | "pin" | "merge" | "restore" | "retire":
                self._own(record.kind, content)
            case _:
                assert_never(record.kind)

    def _check_place(self, record: LedgerRecord) -> None:
        """Refuse a record that no ledger has at this place, whatever it says."""
        if (record.kind == "open") != (record.sequence == 1):
            raise ValueError("a ledger is opened once, by its first record")
        if self.ownership.retired is not None:
            raise ValueError("a record after the account had been closed")
        if self.scratch and record.kind not in SCRATCH_KINDS:
            raise ValueError("a record that no scratch account has")

    def _open(self, content: dict[str, object]) -> None:
        self.format = check_format(content.get("format"))
        marked = "scratch" in content
        if content.get("scratch", True) is not True or (marked and self.format < 2):
            raise ValueError("an account is a scratch account or says nothing of it")
        self.terms = AccountTerms.opened(content, self.format)
        self.opening = content

    def _own(self, kind: OwnershipKind, content: Mapping[str, object]) -> None:
        if self.format < 2 or self.limits is None:
            raise ValueError("a record that this format does not have, or before there were limits")
        match kind:
            case "claim":
                self.ownership.claim(content)
            case "move":
                self.ownership.move(content)
            case "pin":
                self.ownership.pin(content)
            case "merge":
                for analyst, charge in self.ownership.merge(content):
                    self._take(analyst, charge)
                self.terms.forget_public()
            case "restore":
                if self.format < 3:
                    raise ValueError("a record that this format does not have")
                loss = self.ownership.restore(content)
                self.lost.take(loss, self.limits, self.balances)
                self.terms.forget_public()
            case "retire":
                self.ownership.retire(content)

    def _set_format(self, content: Mapping[str, object]) -> None:
        later = check_format(content["format"])
        if later <= self.format or later == FORMAT_OF_KINDS or len(content) != 1:
            raise ValueError("a ledger goes on in a later format")
        self.format = later

    def _set_limits(self, content: Mapping[str, object]) -> None:
        limits = BudgetLimits.from_dict(content, self.format)
        limits.check_goes_on(self.limits)
        if needs_signature(self.limits, limits) and digest_of_limits(limits) not in self.signed:
            raise ValueError("limits that give more, without the signature that they need")
        words = cast(list[Mapping[str, object]], content["accounts"])
        self.tranches.declare(limits.accounts, words)
        self.balances = {
            account.identity: self._balance(account, limits, own)
            for account, own in zip(limits.accounts, words, strict=True)
        }
        if len(self.balances) != len(limits.accounts):
            raise ValueError("an account is declared twice")
        self.limits, self.signed = limits, set()
        self.lost.allow(limits.accounts)

    def _sign(self, content: Mapping[str, object]) -> None:
        if self.format < 3 or self.limits is None:
            raise ValueError("a record that this format does not have, or before there were limits")
        self.signed.add(signed_limits(content))

    def _balance(
        self, account: Account, limits: BudgetLimits, words: Mapping[str, object]
    ) -> RunningBalance:
        """Return an account under new limits: format 1 judges its whole past by them, format 2 none."""
        accountant = self.tranches.paced(account, limits.accountant_of(account))
        earlier = self.balances.get(account.identity)
        if self.format == 1:
            past = [charge for each in self.history(account) for charge in each.charges]
            spent = spent_in_format_1(limits.accounting, account.budget, past)
            return RunningBalance(accountant, spent)
        if earlier is not None:
            if "spent_before" in words:
                raise ValueError("only a new account begins with what was spent before it")
            return earlier.under(accountant)
        return RunningBalance(accountant, spent_before_in(words))

    def history(self, account: Account) -> list[ChargeHistory]:
        """Return what the account's members have ever been charged, of the kind that it protects."""
        return history_of(self.charges, account)

    def _add_tables(self, content: Mapping[str, object]) -> None:
        if self.format < 2 or self.limits is None:
            raise ValueError("a record that this format does not have, or before there were limits")
        self.terms.add(content, self.format)

    def _rename(self, content: Mapping[str, object]) -> None:
        if self.format < 3 or self.limits is None:
            raise ValueError("a record that this format does not have, or before there were limits")
        self.terms.rename(content)
        self.exact.renamed = self.terms.renamed_tables

    def _open_tranche(self, content: Mapping[str, object]) -> None:
        if self.format < FORMAT_OF_TRANCHES:
            raise ValueError("a record that this format does not have")
        for account in self.tranches.take(content, self.current_limits.accounts):
            balance = self.balances[account.identity]
            self.balances[account.identity] = balance.under(self.accountant_of(account))

    def _open_version(self, content: Mapping[str, object]) -> None:
        if self.format < 2:
            raise ValueError("a record that format 1 does not have")
        self.version = version_after(self.version, content, cast(int, self.opening["format"]))
        if self.version.formerly:
            self.exact.call_source(self.version.formerly, self.version.name)

    def _reserve(self, sequence: int, content: Mapping[str, object]) -> None:
        if self.limits is None:
            raise ValueError("reserved before there were limits")
        analyst = _text(content["analyst"])
        charge = Charge.from_dict(cast(Mapping[str, object], content["charge"]))
        moment = datetime.fromisoformat(_text(content["time"]))
        question = _text(content["question"])
        self.pending[sequence] = pending_of(analyst, question, moment, charge, self.format)
        if self.scratch:
            self.rehearsed.add((analyst, question))
        self._take(analyst, charge)

    def _spend(self, pending: PendingReservation, answer: RecordedAnswer) -> None:
        self.answers[pending.analyst, pending.question] = answer
        self.spent[answer.reservation] = answer
        self.segments.open.spend(pending.analyst, answer)
        self.published += pending.analyst == DATASET

    def _end_segment(self, content: Mapping[str, object]) -> None:
        """Take that the records so far have a checkpoint; what it says is judged by who starts there."""
        if self.format < 4 or self.limits is None:
            raise ValueError("a record that this format does not have, or before there were limits")
        checkpoint_named(content)
        self.segments.end()

    def _ask(self, sequence: int, content: Mapping[str, object]) -> None:
        """Remember whose a reservation is, since there is something to be told of it."""
        if asked_hash(content, self.format) is not None:
            analyst = _text(content["analyst"])
            self.asked.setdefault(analyst, []).append(sequence)
            self.segments.open.ask(analyst, sequence)

    def _erase(self, content: Mapping[str, object]) -> None:
        if self.format < 3:
            raise ValueError("a record that this format does not have")
        for sequence in erased_by_record(content):
            analyst = self.who_asked(sequence)
            if analyst is None:
                raise ValueError("a text is erased of what was no question")
            self.published += analyst == DATASET

    def _take(self, analyst: str, charge: Charge) -> None:
        """Count a charge in every account that takes this analyst's and is of whom it protects."""
        for kind in self.current_limits.whom(charge.protects):
            self.charges.setdefault((analyst, kind), ChargeHistory()).take(charge)
        for account in self.accounts_of(analyst, charge.protects):
            self.balances[account.identity].take(charge)

    def _count_failure(self, analyst: str, content: Mapping[str, object]) -> None:
        if who_ended(content, self.format) == "engine":
            self.failures[analyst] += 1

    def _reset_failures(self, content: Mapping[str, object]) -> None:
        if self.format < 2 or set(content) != {"time"}:
            raise ValueError("failures are reset since format 2, at a time")
        datetime.fromisoformat(_text(content["time"]))
        self.failures = Counter()
        self.failures_seen_until = self.head.sequence + 1

    def _settle(self, content: Mapping[str, object]) -> tuple[PendingReservation, int]:
        sequence = content["reservation"]
        if not isinstance(sequence, int):
            raise ValueError("a reservation is named by its sequence")
        return self.pending.pop(sequence), sequence


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("not a text")
