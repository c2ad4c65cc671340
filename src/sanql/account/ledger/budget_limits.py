"""The accounts of a ledger: whose charges each takes, how much it may spend, and how that is counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sanql.account.accountants.choice import accountant_for, known_accounting
from sanql.account.accountants.protocol import Accountant
from sanql.account.ledger.chain import FORMAT_OF_TRANCHES
from sanql.computed_once import computed_once
from sanql.numbers import parse_rational, rational_text
from sanql.policy import PERIODS, Accounting, Budget, PacedBudget, Policy
from sanql.results import AccountKind

Identity = tuple[AccountKind, str, frozenset[str] | None, str | None]


@dataclass(frozen=True)
class Account:
    """A budget and the analysts whose charges it takes; the dataset's takes everybody's.

    In a dataset with several kinds of privacy unit each account is of one of them, which it `protects`.
    """

    kind: AccountKind
    name: str
    members: frozenset[str] | None
    budget: Budget
    protects: str | None = None

    @property
    def named(self) -> str:
        """What account it is, in words."""
        whom = "" if self.protects is None else f" of {self.protects} units"
        return f"the {self.kind} account {self.name!r}{whom}"

    @computed_once
    def identity(self) -> Identity:
        """What stays the same when limits change; other members make another account."""
        return self.kind, self.name, self.members, self.protects

    def takes(self, analyst: str) -> bool:
        """Return whether this analyst's charges count here."""
        return self.members is None or analyst in self.members

    def to_dict(self) -> dict[str, Any]:
        """Return the account in the ledger's words."""
        whom = {} if self.protects is None else {"protects": self.protects}
        paced: dict[str, Any] = {}
        if isinstance(self.budget, PacedBudget):
            tranche = {"epsilon": rational_text(self.budget.tranche), "per": self.budget.per}
            paced = {"tranche": tranche}
        return (
            whom
            | paced
            | {
                "kind": self.kind,
                "name": self.name,
                "members": None if self.members is None else sorted(self.members),
                "epsilon": rational_text(self.budget.epsilon),
                "delta": rational_text(self.budget.delta),
            }
        )


@dataclass(frozen=True)
class BudgetLimits:
    """All the accounts of a ledger, how they are counted, and whether what gives more is signed."""

    accounting: Accounting
    accounts: tuple[Account, ...]
    second_signature: bool = False

    @classmethod
    def of(cls, policy: Policy) -> BudgetLimits:
        """Return the limits a policy declares: dataset first, then analysts, then coalitions."""
        budgets: dict[str | None, Budget] = {None: policy.budget}
        if policy.kinds:
            budgets = {name: policy.kinds[name].budget for name in sorted(policy.kinds)}
        accounts = tuple(
            account
            for kind, budget in budgets.items()
            for account in _accounts(policy, kind, budget)
        )
        signed = policy.second_signature and not policy.scratch  # which promises nothing
        return cls(policy.accounting, accounts, signed)

    @computed_once
    def paced(self) -> bool:
        """Whether some budget is opened by and by."""
        return any(isinstance(account.budget, PacedBudget) for account in self.accounts)

    @computed_once
    def kinds(self) -> frozenset[str]:
        """The kinds of privacy unit that have accounts of their own; none where there is one only."""
        return frozenset(a.protects for a in self.accounts if a.protects is not None)

    def check_goes_on(self, before: BudgetLimits | None) -> None:
        """Raise ValueError where limits are of other kinds of unit than charges were made for."""
        if before is not None and before.kinds != self.kinds:
            raise ValueError("an account goes on with the kinds of unit that it has")

    def whom(self, protects: tuple[str, ...]) -> tuple[str | None, ...]:
        """Return the kinds of unit that a charge is of, as accounts have them.

        What does not say so, or names a kind that nobody knows here, is of everybody.
        """
        if not self.kinds:
            return (None,)
        return protects if protects and self.kinds.issuperset(protects) else (*sorted(self.kinds),)

    def accountant_of(self, account: Account) -> Accountant:
        """Return who counts one account."""
        return accountant_for(self.accounting, account.budget)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits in the ledger's words."""
        return {
            "accounting": self.accounting,
            "second_signature": self.second_signature,
            "accounts": [account.to_dict() for account in self.accounts],
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, object], written_in: int) -> BudgetLimits:
        """Return the limits these words describe; anything else is a ValueError.

        Since format 3 they say when and by whom they were declared, and whether they are signed.
        """
        if (written_in >= 3) != (set(shape) >= _LATER) or (written_in < 3 and _LATER & set(shape)):
            raise ValueError(
                "limits have a time, an author and a word on signatures since format 3"
            )
        match dict(shape):
            case {"accounting": accounting, "accounts": list(accounts), **later}:
                parsed = tuple(account_in(account, written_in) for account in accounts)
                _check_kinds(parsed)
                return cls(known_accounting(accounting), parsed, _read_later(later))
            case _:
                raise ValueError("not the limits of a ledger")


def _accounts(policy: Policy, kind: str | None, budget: Budget) -> Iterator[Account]:
    """Yield the accounts that protect one kind of unit, or all there is."""
    yield Account("dataset", policy.name, None, budget, kind)
    for _, analyst in sorted(policy.analysts.items()):
        if analyst.budget is not None:
            yield Account("analyst", analyst.name, frozenset({analyst.name}), analyst.budget, kind)
    for _, coalition in sorted(policy.coalitions.items()):
        yield Account("coalition", coalition.name, coalition.members, coalition.budget, kind)


_LATER = {"author", "second_signature", "time"}


def _read_later(shape: Mapping[str, object]) -> bool:
    """Return whether limits are signed, after a look at who declared them, and when."""
    match dict(shape):
        case {
            "author": str(),
            "second_signature": bool(signed),
            "time": str(time),
            **rest,
        } if not rest:
            datetime.fromisoformat(time)
            return signed
        case {**rest} if not rest:
            return False
        case _:
            raise ValueError("not the limits of a ledger")


def _check_kinds(accounts: tuple[Account, ...]) -> None:
    """Refuse kinds of unit that do not all have the same accounts: a charge would miss one."""
    by_kind: dict[str | None, set[tuple[object, ...]]] = {}
    for each in accounts:
        by_kind.setdefault(each.protects, set()).add(each.identity[:3])
    if len({frozenset(own) for own in by_kind.values()}) > 1:
        raise ValueError("each kind of unit has the accounts that every other has")


def account_in(shape: object, written_in: int) -> Account:
    """Return the account that these words describe; anything else is a ValueError.

    Since format 5 it may say which kind of unit it protects, since format 6 by what tranches it opens.
    """
    match shape:
        case {
            "kind": "dataset" | "analyst" | "coalition" as kind,
            "name": str(name),
            "members": (None | list()) as members,
            "epsilon": epsilon,
            "delta": delta,
            **rest,
        }:
            protects = rest.get("protects")
            if protects is not None and (written_in < 5 or not isinstance(protects, str)):
                raise ValueError("an account says since format 5 which kind of unit it protects")
            who = None if members is None else frozenset(map(_name, members))
            if (kind == "dataset") != (who is None):
                raise ValueError("the dataset's account, and no other, takes everybody's charges")
            budget = Budget(parse_rational(epsilon), parse_rational(delta))
            if "tranche" in rest:
                budget = _paced(budget, rest["tranche"], written_in)
            return Account(cast(AccountKind, kind), name, who, budget, protects)
        case _:
            raise ValueError("not an account")


def _paced(budget: Budget, shape: object, written_in: int) -> PacedBudget:
    """Return a budget with the tranches by which it is opened."""
    match shape:
        case {"epsilon": epsilon, "per": str(per), **rest} if written_in >= FORMAT_OF_TRANCHES:
            tranche = parse_rational(epsilon)
            if per not in PERIODS or rest.keys() - {"open"} or not 0 < tranche <= budget.epsilon:
                raise ValueError("not the tranches of a budget")
            return PacedBudget(budget.epsilon, budget.delta, tranche, per)
        case _:
            raise ValueError("not the tranches of a budget")


def shown_of(charged: list[Account]) -> list[Account]:
    """Return those of an analyst's accounts that they may see: their own, if they have one."""
    return [account for account in charged if account.kind == "analyst"] or charged


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a name")
    return value
