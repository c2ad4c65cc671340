"""What one account has spent, kept up to date by the records and summed when somebody asks.

Whoever opens a ledger asks once for what thousands of charges come to, which are then summed in one
go. Where a charge is counted (paid by itself, or by the odometer) is decided as it comes, from claims
alone; divergences are dear and wait.
"""

from __future__ import annotations

from sanql.account.charge import Charge
from sanql.account.filter import CONVERSION_SHARE, Filter, Odometer, Spent, together_upper
from sanql.account.numbers import exact_sum
from sanql.account.totals import Losses, Totals
from sanql.policy.model import Budget


class Standing:
    """One account as the records so far leave it; `rule` is the filter in force."""

    def __init__(self, rule: Filter, spent: Spent) -> None:
        self.rule = rule
        self._spent = spent  # what has been summed
        self._paid = spent.paid
        self._odometer = spent.odometer
        self._waiting: list[Charge] = []  # counted by the odometer and not summed yet

    @classmethod
    def of_format_1(cls, rule: Filter, totals: Totals) -> Standing:
        """Return an account as format 1 sees it: the whole history, by the limits in force."""
        if rule.accounting == "pure":
            return cls(rule, Spent(Budget(totals.epsilon, totals.delta)))
        odometer = Odometer(rule.budget.epsilon, rule.budget.delta / 2)
        return cls(rule, Spent(odometer=odometer, metered=totals))

    def under(self, rule: Filter) -> Standing:
        """Return the same account under other limits: what was fixed at its opening stays."""
        return Standing(rule, self.spent)

    def take(self, charge: Charge) -> None:
        """Count one more charge."""
        found = self.rule.odometer_for(self._paid, self._odometer, charge.epsilon, charge.delta)
        if found is None:
            self._paid = Budget(
                self._paid.epsilon + charge.epsilon, self._paid.delta + charge.delta
            )
        else:
            self._odometer = found
            self._waiting.append(charge)

    @property
    def spent(self) -> Spent:
        """What the account has spent."""
        if self._odometer is None:
            return Spent(self._paid)
        if self._waiting or self._spent.paid != self._paid:
            # Replaced before what waited is let go: an interrupt in between counts charges twice,
            # the other way round not at all.
            metered = self._spent.metered.merge(_totals(self._waiting))
            self._spent = Spent(self._paid, self._odometer, metered)
            self._waiting = []
        return self._spent


def _totals(charges: list[Charge]) -> Totals:
    return Totals(
        exact_sum(charge.epsilon for charge in charges),
        exact_sum(charge.delta for charge in charges),
        Losses.of_many(event for charge in charges for event in charge.events),
    )


def spent_before(rule: Filter, totals: Totals) -> Budget:
    """Return what an account that is declared now begins with: what its members have been charged."""
    if rule.accounting == "pure":
        return Budget(totals.epsilon, totals.delta)
    odometer = Odometer(rule.budget.epsilon, CONVERSION_SHARE * rule.budget.delta)
    return Budget(*together_upper(totals, odometer, rule.budget.delta))
