"""What records that are missing for good cost each account; the reasons are in `claims.losses`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce

from sanql.account.claims.losses import Loss
from sanql.account.ledger.budget_limits import Account, BudgetLimits, Identity
from sanql.account.ledger.running_balance import RunningBalance
from sanql.policy import Budget

_NOTHING = Budget(Fraction(0), Fraction(0))


@dataclass
class LostRecords:
    """The greatest budget that each account ever had, and what was lost by whoever it was."""

    allowed: dict[Identity, Budget] = field(default_factory=dict)
    lost: Budget = _NOTHING

    def allow(self, accounts: Iterable[Account]) -> None:
        """Take budgets that are in force from now on, or may have been."""
        for account in accounts:
            earlier = self.allowed.get(account.identity, _NOTHING)
            self.allowed[account.identity] = greater(earlier, account.budget)

    def take(
        self, loss: Loss, limits: BudgetLimits, balances: Mapping[Identity, RunningBalance]
    ) -> None:
        """Count a loss in every account, since nobody knows who was answered."""
        self.allow(loss.declares)
        whole = [self.allowed[a.identity] for a in limits.accounts if a.kind == "dataset"]
        for identity, balance in balances.items():
            if loss.spent is None:
                balance.use_up(self.allowed[identity])
            else:
                balance.pay(loss.spent)
        self.lost = added(self.lost, reduce(greater, whole) if loss.spent is None else loss.spent)

    def before(self, spent: Budget) -> Budget:
        """Return what an account that is declared now begins with: charges of its own, and losses."""
        return added(spent, self.lost)


def greater(one: Budget, other: Budget) -> Budget:
    """Return a budget that is at least each of two."""
    return Budget(max(one.epsilon, other.epsilon), max(one.delta, other.delta))


def added(one: Budget, other: Budget) -> Budget:
    """Return what two come to."""
    return Budget(one.epsilon + other.epsilon, one.delta + other.delta)
