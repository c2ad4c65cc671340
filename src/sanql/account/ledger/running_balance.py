"""What one account has spent, kept up to date by the records and summed when somebody asks.

Whoever opens a ledger asks once for what thousands of charges come to, which are then summed in one
go. A charge is counted under the limits that were in force when it came: new limits sum first.
"""

from __future__ import annotations

from collections.abc import Mapping

from sanql.account.accountants.filter import Spent
from sanql.account.accountants.protocol import Accountant
from sanql.account.charge import Charge
from sanql.numbers import parse_rational
from sanql.policy import Budget


def spent_before_in(words: Mapping[str, object]) -> Spent:
    """Return what a new account begins with, as limits say it; anything else is a ValueError."""
    match words.get("spent_before"):
        case None:
            return Spent()
        case {"epsilon": epsilon, "delta": delta, **rest} if not rest:
            return Spent(Budget(parse_rational(epsilon), parse_rational(delta)))
        case _:
            raise ValueError("not what was spent before")


class RunningBalance:
    """One account as the records so far leave it."""

    def __init__(self, accountant: Accountant, spent: Spent) -> None:
        self.accountant = accountant
        self._spent = spent  # what has been summed
        self._waiting: list[Charge] = []

    def under(self, accountant: Accountant) -> RunningBalance:
        """Return the same account under other limits: what was fixed at its opening stays."""
        return RunningBalance(accountant, self.spent)

    def take(self, charge: Charge) -> None:
        """Count one more charge."""
        self._waiting.append(charge)

    def pay(self, lost: Budget) -> None:
        """Count what was charged by records that are missing, as their owner states."""
        self._spent = self.spent.pay(lost.epsilon, lost.delta)

    def use_up(self, allowed: Budget) -> None:
        """Count everything that a budget has ever allowed, or more where more was spent, as paid."""
        spent = self.spent
        shown = self.accountant.spent_upper(spent).epsilon
        epsilon = shown if spent.epsilon_upper is None else spent.epsilon_upper
        paid = Budget(max(epsilon, allowed.epsilon), max(spent.delta_upper, allowed.delta))
        self._spent = Spent(paid)

    @property
    def spent(self) -> Spent:
        """What the account has spent."""
        if self._waiting:
            # Replaced before what waited is let go: an interrupt in between counts charges twice,
            # the other way round not at all.
            self._spent = self.accountant.take_all(self._spent, self._waiting)
            self._waiting = []
        return self._spent
