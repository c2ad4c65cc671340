"""The accountant of a budget that is opened by and by: another counts, and what is not open yet is kept.

What was spent is counted as if the whole budget were there from the beginning, by the accountant that
the policy names, so the promise and its proof are that one's (`filter`). Besides, a charge must leave
the epsilon spent at most at what is open. That refuses more charges and takes none more, whatever is
opened and when: no event, and no clock, can make this account promise less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account.accountants.filter import Spent
from sanql.account.accountants.protocol import Accountant
from sanql.account.accountants.totals import ChargeHistory
from sanql.account.charge import Charge
from sanql.account.events import SelectionEvent
from sanql.policy import Budget

_BISECTIONS = 24


@dataclass(frozen=True)
class PacedAccountant:
    """An accountant, and how much epsilon of its budget is open."""

    counting: Accountant
    open: Fraction

    @property
    def budget(self) -> Budget:
        """The whole budget, which is what is promised."""
        return self.counting.budget

    def fits(self, spent: Spent, charge: Charge) -> bool:
        """Return whether this charge keeps to the budget, and to what is open of it."""
        return self._keeps(self.take(spent, charge))

    def take(self, spent: Spent, charge: Charge) -> Spent:
        """Return what is spent after one more charge."""
        return self.counting.take(spent, charge)

    def take_all(self, spent: Spent, charges: Sequence[Charge]) -> Spent:
        """Return what is spent after these charges."""
        return self.counting.take_all(spent, charges)

    def spent_upper(self, spent: Spent) -> Budget:
        """Return an (epsilon, delta) that the queries so far satisfy."""
        return self.counting.spent_upper(spent)

    def remaining_lower(self, spent: Spent) -> Budget:
        """Return an epsilon up to which any purely private query fits what is open, and a delta."""
        left = self.counting.remaining_lower(spent)
        added = min(left.epsilon, max(Fraction(0), self.open - (spent.epsilon_upper or 0)))
        if added == left.epsilon or spent.epsilon_upper is None:
            return Budget(added, left.delta)

        def fits(epsilon: Fraction) -> bool:
            event = SelectionEvent(epsilon, Fraction(0), 1)
            return self.fits(spent, Charge((event,), epsilon, Fraction(0)))

        return Budget(_between(added, left.epsilon, fits), left.delta)

    def largest(self, spent: Spent, charge: Charge) -> Fraction | None:
        """Return an epsilon at which the same query would fit, or None."""
        found = self.counting.largest(spent, charge)
        left = self.remaining_lower(spent).epsilon
        return None if found is None or left == 0 else min(found, left)

    def spent_before(self, charged: Sequence[ChargeHistory]) -> Budget:
        """Return what an account that is declared now begins with."""
        return self.counting.spent_before(charged)

    def delta_share(self, epsilon_share: Fraction) -> Fraction:
        """Return the share of delta that lasts as long as this share of epsilon."""
        return self.counting.delta_share(epsilon_share)

    def _keeps(self, spent: Spent) -> bool:
        return spent.within(self.budget) and spent.within(Budget(self.open, self.budget.delta))


def _between(low: Fraction, high: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """Return nearly the largest epsilon that fits, of which `low` is known to."""
    if fits(high):
        return high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
