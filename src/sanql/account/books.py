"""What the ledger's records add up to: limits, totals, open reservations, recorded answers.

A pure state machine: it sees records in order and nothing else, so every balance is derived and
none is stored. Each account in force has its standing; totals are kept besides for each analyst and
for everybody, so that an account declared late still counts what its members have already spent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, assert_never, cast

from sanql.account.chain import (
    BEGINNING,
    SCRATCH_KINDS,
    EndedBy,
    Head,
    OwnershipKind,
    Record,
    check_format,
    damaged,
)
from sanql.account.charge import Charge
from sanql.account.events import rational, rational_text
from sanql.account.exact_book import ExactBook
from sanql.account.filter import Filter, Spent
from sanql.account.ownership import Ownership
from sanql.account.standing import Standing, spent_before
from sanql.account.tally import Tally
from sanql.account.terms import Terms
from sanql.account.totals import Totals
from sanql.account.versions import Version, version_after
from sanql.policy.model import Accounting, Budget, Policy

AccountKind = Literal["dataset", "analyst", "coalition"]
Identity = tuple[AccountKind, str, frozenset[str] | None]


@dataclass(frozen=True)
class Account:
    """A budget and the analysts whose charges it takes; the dataset's takes everybody's."""

    kind: AccountKind
    name: str
    members: frozenset[str] | None
    budget: Budget

    @property
    def identity(self) -> Identity:
        """What stays the same when limits change; other members make another account."""
        return self.kind, self.name, self.members

    def takes(self, analyst: str) -> bool:
        """Return whether this analyst's charges count here."""
        return self.members is None or analyst in self.members


@dataclass(frozen=True)
class Limits:
    """All the accounts of a ledger and the way they are counted."""

    accounting: Accounting
    accounts: tuple[Account, ...]

    @classmethod
    def of(cls, policy: Policy) -> Limits:
        """Return the limits a policy declares: dataset first, then analysts, then coalitions."""
        dataset = Account("dataset", policy.name, None, policy.budget)
        analysts = [
            Account("analyst", analyst.name, frozenset({analyst.name}), analyst.budget)
            for _, analyst in sorted(policy.analysts.items())
            if analyst.budget is not None
        ]
        coalitions = [
            Account("coalition", coalition.name, coalition.members, coalition.budget)
            for _, coalition in sorted(policy.coalitions.items())
        ]
        return cls(policy.accounting, (dataset, *analysts, *coalitions))

    def filter_of(self, account: Account) -> Filter:
        """Return the rule of one account."""
        return Filter(account.budget, self.accounting)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits in the ledger's words."""
        return {
            "accounting": self.accounting,
            "accounts": [
                {
                    "kind": account.kind,
                    "name": account.name,
                    "members": None if account.members is None else sorted(account.members),
                    "epsilon": rational_text(account.budget.epsilon),
                    "delta": rational_text(account.budget.delta),
                }
                for account in self.accounts
            ],
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, object]) -> Limits:
        """Return the limits these words describe; anything else is a ValueError."""
        match dict(shape):
            case {"accounting": "pure" | "renyi" as accounting, "accounts": list(accounts)}:
                parsed = tuple(_account(account) for account in accounts)
                return cls(accounting, parsed)
            case _:
                raise ValueError("not the limits of a ledger")


@dataclass(frozen=True)
class Pending:
    """A reservation that has neither been spent nor voided."""

    analyst: str
    question: str
    time: datetime


@dataclass(frozen=True)
class Recorded:
    """Where an answer is kept, and the hash it must have."""

    reservation: int
    sha256: str


@dataclass
class Books:
    """The state after the records seen so far."""

    head: Head = BEGINNING
    opening: dict[str, object] = field(default_factory=dict)
    format: int = 0
    limits: Limits | None = None
    tally: Tally = field(default_factory=Tally)
    standings: dict[Identity, Standing] = field(default_factory=dict)
    pending: dict[int, Pending] = field(default_factory=dict)
    answers: dict[tuple[str, str], Recorded] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    failures_seen_until: int = 0
    exact: ExactBook = field(default_factory=ExactBook)
    version: Version | None = None
    ownership: Ownership = field(default_factory=Ownership)
    terms: Terms = field(default_factory=Terms)
    rehearsed: set[tuple[str, str]] = field(default_factory=set)

    @property
    def scratch(self) -> bool:
        """Whether this is a scratch account, which never answers; its first record says so."""
        return "scratch" in self.opening

    def apply(self, record: Record) -> None:
        """Take one more record; LedgerError when it makes no sense after the ones before."""
        try:
            self._apply(record)
        except (ValueError, KeyError, TypeError) as fault:
            raise damaged(record.sequence, "makes no sense after the records before it") from fault
        self.head = Head(record.sequence, record.hash)

    def spent_by(self, account: Account) -> Spent:
        """Return what an account in force has spent."""
        return self.standings[account.identity].spent

    def limits_content(self, limits: Limits) -> dict[str, object]:
        """Return the body of a record of these limits.

        An account that is new, though its members are not, begins with what they have spent.
        """
        shape = limits.to_dict()
        for account, words in zip(limits.accounts, shape["accounts"], strict=True):
            if account.identity not in self.standings:
                before = spent_before(limits.filter_of(account), self._history(account, limits))
                if before.epsilon or before.delta:
                    words["spent_before"] = {
                        "epsilon": rational_text(before.epsilon),
                        "delta": rational_text(before.delta),
                    }
        return shape

    def accounts_of(self, analyst: str) -> list[Account]:
        """Return every account that a charge of this analyst must fit."""
        limits = self.current_limits
        return [account for account in limits.accounts if account.takes(analyst)]

    def accounts_shown_to(self, analyst: str) -> list[Account]:
        """Return the accounts whose state an analyst may see: their own, if they have one.

        What is left in a shared account tells what others have spent, which can depend on the
        others' answers; somebody with an account of their own is promised not to be told.
        """
        charged = self.accounts_of(analyst)
        return [account for account in charged if account.kind == "analyst"] or charged

    @property
    def current_limits(self) -> Limits:
        """The limits in force."""
        if self.limits is None:
            raise damaged(self.head.sequence + 1, "is missing: no limits are recorded")
        return self.limits

    def _apply(self, record: Record) -> None:
        content = record.content
        if (record.kind == "open") != (record.sequence == 1):
            raise ValueError("a ledger is opened once, by its first record")
        if self.ownership.retired is not None:
            raise ValueError("a record after the account had been closed")
        if self.scratch and record.kind not in SCRATCH_KINDS:
            raise ValueError("a record that no scratch account has")
        match record.kind:
            case "open":
                self.format = check_format(content.get("format"))
                if content.get("scratch", True) is not True or (
                    "scratch" in content and self.format < 2
                ):
                    raise ValueError("an account is a scratch account or says nothing of it")
                self.terms = Terms.opened(content, self.format)
                self.opening = content
            case "format":
                self._set_format(content)
            case "limits":
                self._set_limits(content)
            case "tables":
                self._add_tables(content)
            case "version":
                self._open_version(content)
            case "reserve":
                self._reserve(record.sequence, content)
            case "exact":
                self.exact.reserve(record.sequence, content)
            case "spend" if self.exact.holds(content["reservation"]):
                sequence = cast(int, content["reservation"])
                self.exact.spend(sequence, Recorded(sequence, _text(content["sha256"])))
            case "void" if self.exact.holds(content["reservation"]):
                failed = self.exact.void(cast(int, content["reservation"]), content.get("refusal"))
                if failed is not None:
                    self._count_failure(failed, content)
            case "spend":
                pending, sequence = self._settle(content)
                answer = Recorded(sequence, _text(content["sha256"]))
                self.answers[pending.analyst, pending.question] = answer
            case "void":
                pending, _ = self._settle(content)
                self._count_failure(pending.analyst, content)
            case "failures_reset":
                self._reset_failures(content)
            case "claim" | "move" | "pin" | "merge" | "retire":
                self._own(record.kind, content)
            case _:
                assert_never(record.kind)

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
            case "retire":
                self.ownership.retire(content)

    def _set_format(self, content: Mapping[str, object]) -> None:
        later = check_format(content["format"])
        if later <= self.format or len(content) != 1:
            raise ValueError("a ledger goes on in a later format")
        self.format = later

    def _set_limits(self, content: Mapping[str, object]) -> None:
        limits = Limits.from_dict(content)
        words = cast(list[Mapping[str, object]], content["accounts"])
        self.standings = {
            account.identity: self._standing(account, limits, own)
            for account, own in zip(limits.accounts, words, strict=True)
        }
        if len(self.standings) != len(limits.accounts):
            raise ValueError("an account is declared twice")
        self.limits = limits

    def _standing(self, account: Account, limits: Limits, words: Mapping[str, object]) -> Standing:
        """Return an account under new limits: format 1 judges its whole past by them, format 2 none."""
        rule, earlier = limits.filter_of(account), self.standings.get(account.identity)
        if self.format == 1:
            return Standing.of_format_1(rule, self._history(account, limits))
        if earlier is not None:
            if "spent_before" in words:
                raise ValueError("only a new account begins with what was spent before it")
            return earlier.under(rule)
        match words.get("spent_before"):
            case None:
                return Standing(rule, Spent())
            case {"epsilon": epsilon, "delta": delta, **rest} if not rest:
                return Standing(rule, Spent(Budget(rational(epsilon), rational(delta))))
            case _:
                raise ValueError("not what was spent before")

    def _history(self, account: Account, limits: Limits) -> Totals:
        """Return what the account's members have ever been charged, as far as limits ask for it."""
        if account.members is None:
            return self.tally.totals(None, limits.accounting)
        return self.tally.together(account.members, limits.accounting)

    def _add_tables(self, content: Mapping[str, object]) -> None:
        if self.format < 2 or self.limits is None:
            raise ValueError("a record that this format does not have, or before there were limits")
        self.terms.add(content)

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
        self.pending[sequence] = Pending(analyst, question, moment)
        if self.scratch:
            self.rehearsed.add((analyst, question))
        self._take(analyst, charge)

    def _take(self, analyst: str, charge: Charge) -> None:
        """Count a charge in every account that takes this analyst's."""
        self.tally.take(analyst, charge)
        for account in self.accounts_of(analyst):
            self.standings[account.identity].take(charge)

    def _count_failure(self, analyst: str, content: Mapping[str, object]) -> None:
        if ended_by(content, self.format) == "engine":
            self.failures[analyst] += 1

    def _reset_failures(self, content: Mapping[str, object]) -> None:
        if self.format < 2 or set(content) != {"time"}:
            raise ValueError("failures are reset since format 2, at a time")
        datetime.fromisoformat(_text(content["time"]))
        self.failures = Counter()
        self.failures_seen_until = self.head.sequence + 1

    def _settle(self, content: Mapping[str, object]) -> tuple[Pending, int]:
        sequence = content["reservation"]
        if not isinstance(sequence, int):
            raise ValueError("a reservation is named by its sequence")
        return self.pending.pop(sequence), sequence


def ended_by(content: Mapping[str, object], written_in: int) -> EndedBy:
    """Return who ended a voided reservation; format 1 does not say, and it counts as the engine."""
    match content.get("ended_by"):
        case None if written_in == 1:
            return "engine"
        case "caller" | "operator" | "engine" as who:
            return who
        case _:
            raise ValueError("a void says who ended it")


def pending_of(pending: Iterable[Pending], account: Account) -> int:
    """Return how many open reservations count against the account."""
    return sum(account.takes(reservation.analyst) for reservation in pending)


def _account(shape: object) -> Account:
    match shape:
        case {
            "kind": "dataset" | "analyst" | "coalition" as kind,
            "name": str(name),
            "members": (None | list()) as members,
            "epsilon": epsilon,
            "delta": delta,
        }:
            who = None if members is None else frozenset(map(_text, members))
            if (kind == "dataset") != (who is None):
                raise ValueError("the dataset's account, and no other, takes everybody's charges")
            budget = Budget(rational(epsilon), rational(delta))
            return Account(cast(AccountKind, kind), name, who, budget)
        case _:
            raise ValueError("not an account")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value
