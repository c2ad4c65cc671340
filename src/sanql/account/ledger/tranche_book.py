"""Budgets that are opened by and by: how much of each is open, and the record that opens more.

A budget of `{ epsilon = 1, per = "month", total = 12 }` promises 12, and holds back what the owner has
not opened yet. A `tranche` record names a period, and opens a tranche of every account that is paced by
such periods, until all of its total is open. Periods follow each other as they stand on record, so each
has one tranche at most; no clock is asked when something is charged, and none opens anything. What is not
spent of a tranche stays open: were it to lapse, whoever has questions left would hurry to spend it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from sanql.account.accountants.paced import PacedAccountant
from sanql.account.accountants.protocol import Accountant
from sanql.account.ledger.budget_limits import Account, Identity
from sanql.numbers import parse_rational, round_down_to_digits
from sanql.policy import PacedBudget, first_day

_DIGITS = 12


@dataclass
class TrancheBook:
    """How much epsilon of each paced account is open, and the newest period of each length."""

    open: dict[Identity, Fraction] = field(default_factory=dict)
    newest: dict[str, str] = field(default_factory=dict)

    def declare(self, accounts: Iterable[Account], words: Iterable[Mapping[str, object]]) -> None:
        """Take limits: an account that was paced before has open what it had, another what it says."""
        before, self.open = self.open, {}
        for account, own in zip(accounts, words, strict=True):
            if isinstance(account.budget, PacedBudget):
                said = _said_open(own)
                if (account.identity in before) != (said is None):
                    raise ValueError("an account says how much is open when it begins to be paced")
                self.open[account.identity] = before.get(account.identity, said or Fraction(0))

    def begins_open(self, account: Account, spent: Fraction) -> Fraction | None:
        """Return how much limits say is open of an account that begins to be paced; None of any other.

        That is what was spent before, so that the first tranche is there to be spent.
        """
        if not isinstance(account.budget, PacedBudget) or account.identity in self.open:
            return None
        return min(account.budget.epsilon, -round_down_to_digits(-spent, _DIGITS))

    def take(self, content: Mapping[str, object], accounts: Iterable[Account]) -> list[Account]:
        """Take a tranche; return the accounts of which it opens more."""
        per, period = _opened_by(content)
        if period <= self.newest.get(per, ""):
            raise ValueError("a period has one tranche, and none before it has another")
        opening = self.opening(per, accounts)
        if not opening:
            raise ValueError("a tranche of nothing")
        for account in opening:
            self.open[account.identity] = self._after(account)
        self.newest[per] = period
        return opening

    def opening(self, per: str, accounts: Iterable[Account]) -> list[Account]:
        """Return the accounts of which a tranche for such a period opens more."""
        return [
            account
            for account in accounts
            if isinstance(account.budget, PacedBudget)
            and account.budget.per == per
            and self._after(account) > self.open[account.identity]
        ]

    def paced(self, account: Account, accountant: Accountant) -> Accountant:
        """Return who counts an account: of one that is paced, somebody who keeps what is not open."""
        if not isinstance(account.budget, PacedBudget):
            return accountant
        return PacedAccountant(accountant, self.open[account.identity])

    def _after(self, account: Account) -> Fraction:
        assert isinstance(account.budget, PacedBudget)  # noqa: S101  (only such have tranches)
        opened = self.open[account.identity]
        return max(opened, min(account.budget.epsilon, opened + account.budget.tranche))


def _opened_by(content: Mapping[str, object]) -> tuple[str, str]:
    """Return the period that a record opens a tranche for; anything else is a ValueError."""
    match dict(content):
        case {
            "per": str(per),
            "period": str(period),
            "author": str(),
            "time": str(time),
            **rest,
        } if not rest:
            datetime.fromisoformat(time)
            first_day(per, period)
            return per, period
        case _:
            raise ValueError("not a tranche")


def _said_open(words: Mapping[str, object]) -> Fraction | None:
    """Return how much is open as limits say it, between nothing and all; None where they do not."""
    tranche = words["tranche"]
    assert isinstance(tranche, Mapping)  # noqa: S101  (the account was read from it)
    if "open" not in tranche:
        return None
    said = parse_rational(tranche["open"])
    if not 0 <= said <= parse_rational(words["epsilon"]):
        raise ValueError("more is open than there is, or less than nothing")
    return said
