"""The pure accountant: the epsilons and deltas that charges claim are added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account.accountants.filter import Spent
from sanql.account.accountants.totals import ChargeHistory
from sanql.account.charge import Charge
from sanql.numbers import EPSILON_MIN, exact_sum
from sanql.policy import Budget


@dataclass(frozen=True)
class PureAccountant:
    """The accountant that pays every charge by itself; it never asks for a divergence."""

    budget: Budget

    def fits(self, spent: Spent, charge: Charge) -> bool:
        """Return whether the claims keep to the budget with this charge."""
        return self.take(spent, charge).within(self.budget)

    def take(self, spent: Spent, charge: Charge) -> Spent:
        """Return what is spent after one more charge, paid."""
        return spent.pay(charge.epsilon, charge.delta)

    def take_all(self, spent: Spent, charges: Sequence[Charge]) -> Spent:
        """Return what is spent after these charges, all paid."""
        return spent.pay(
            exact_sum(charge.epsilon for charge in charges),
            exact_sum(charge.delta for charge in charges),
        )

    def spent_upper(self, spent: Spent) -> Budget:
        """Return an (epsilon, delta) that the queries so far satisfy."""
        return spent.proved_upper(self.budget)

    def remaining_lower(self, spent: Spent) -> Budget:
        """Return what is left of the budget, exactly."""
        left = max(Fraction(0), self.budget.delta - spent.delta_upper)
        if not spent.within(self.budget):
            return Budget(Fraction(0), left)
        return Budget(self.budget.epsilon - (spent.epsilon_upper or 0), left)

    def largest(self, spent: Spent, charge: Charge) -> Fraction | None:
        """Return the largest epsilon at which the same query would fit, exactly, or None."""
        used = spent.epsilon_upper
        if charge.epsilon == 0 or used is None:
            return None
        left = min(charge.epsilon, self.budget.epsilon - used)
        fitting = left >= EPSILON_MIN and spent.pay(left, charge.delta).within(self.budget)
        return left if fitting else None

    def spent_before(self, charged: Sequence[ChargeHistory]) -> Budget:
        """Return the sum of what these charges claim."""
        claims = [history.claimed for history in charged]
        return Budget(
            exact_sum(epsilon for epsilon, _ in claims), exact_sum(delta for _, delta in claims)
        )

    def delta_share(self, epsilon_share: Fraction) -> Fraction:
        """Return the same share: after as many queries both are used up."""
        return epsilon_share
