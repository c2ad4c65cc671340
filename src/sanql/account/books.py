"""What the ledger's records add up to: limits, totals, open reservations, recorded answers.

A pure state machine: it sees records in order and nothing else, so every balance is derived and
none is stored. Totals are kept for each analyst and for everybody; those of a coalition are its
members' sums, so one declared late still counts what its members have already spent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, assert_never, cast

from sanql.account.chain import BEGINNING, Head, Record, check_format, damaged
from sanql.account.charge import Charge
from sanql.account.events import rational, rational_text
from sanql.account.exact_book import ExactBook
from sanql.account.filter import Filter
from sanql.account.tally import Tally
from sanql.account.totals import Totals
from sanql.policy.model import Accounting, Budget, Policy

AccountKind = Literal["dataset", "analyst", "coalition"]


@dataclass(frozen=True)
class Account:
    """A budget and the analysts whose charges it takes; the dataset's takes everybody's."""

    kind: AccountKind
    name: str
    members: frozenset[str] | None
    budget: Budget

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

    def to_dict(self) -> dict[str, object]:
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
    pending: dict[int, Pending] = field(default_factory=dict)
    answers: dict[tuple[str, str], Recorded] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    exact: ExactBook = field(default_factory=ExactBook)

    def apply(self, record: Record) -> None:
        """Take one more record; LedgerError when it makes no sense after the ones before."""
        try:
            self._apply(record)
        except (ValueError, KeyError, TypeError) as fault:
            raise damaged(record.sequence, "makes no sense after the records before it") from fault
        self.head = Head(record.sequence, record.hash)

    def totals_of(self, account: Account) -> Totals:
        """Return what the account has taken, as far as the accounting in force needs to know."""
        accounting = self.current_limits.accounting
        if account.members is None:
            return self.tally.totals(None, accounting)
        return self.tally.together(account.members, accounting)

    def accounts_of(self, analyst: str) -> list[Account]:
        """Return every account that a charge of this analyst must fit."""
        limits = self.current_limits
        return [account for account in limits.accounts if account.takes(analyst)]

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
        match record.kind:
            case "open":
                self.format = check_format(content.get("format"))
                self.opening = content
            case "format":
                self._set_format(content)
            case "limits":
                self.limits = Limits.from_dict(content)
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
                    self.failures[failed] += 1
            case "spend":
                pending, sequence = self._settle(content)
                answer = Recorded(sequence, _text(content["sha256"]))
                self.answers[pending.analyst, pending.question] = answer
            case "void":
                pending, _ = self._settle(content)
                self.failures[pending.analyst] += 1
            case _:
                assert_never(record.kind)

    def _set_format(self, content: Mapping[str, object]) -> None:
        later = check_format(content["format"])
        if later <= self.format or len(content) != 1:
            raise ValueError("a ledger goes on in a later format")
        self.format = later

    def _reserve(self, sequence: int, content: Mapping[str, object]) -> None:
        if self.limits is None:
            raise ValueError("reserved before there were limits")
        analyst = _text(content["analyst"])
        charge = Charge.from_dict(cast(Mapping[str, object], content["charge"]))
        moment = datetime.fromisoformat(_text(content["time"]))
        self.pending[sequence] = Pending(analyst, _text(content["question"]), moment)
        self.tally.take(analyst, charge)

    def _settle(self, content: Mapping[str, object]) -> tuple[Pending, int]:
        sequence = content["reservation"]
        if not isinstance(sequence, int):
            raise ValueError("a reservation is named by its sequence")
        return self.pending.pop(sequence), sequence


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
