"""The seam between a ledger and the way charges are counted: one accountant for one account.

An accountant is told what was spent and what is asked for, as data, and says whether it fits; it
remembers nothing. What it promises is held by one suite of tests that every accountant inherits
(tests/account/accountant_contract.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from sanql.account.accountants.filter import Spent
from sanql.account.accountants.totals import ChargeHistory
from sanql.account.charge import Charge
from sanql.policy import Budget


class Accountant(Protocol):
    """The rule of one account under one budget: how charges are counted, and which one more fits.

    What was spent may have been counted by another accountant before: it stays counted as it was.
    """

    @property
    def budget(self) -> Budget:
        """The budget in force."""

    def fits(self, spent: Spent, charge: Charge) -> bool:
        """Return whether the account may take this charge besides what it has spent."""

    def take(self, spent: Spent, charge: Charge) -> Spent:
        """Return what is spent after one more charge, whether or not it fits."""

    def take_all(self, spent: Spent, charges: Sequence[Charge]) -> Spent:
        """Return what is spent after these charges, as if taken one by one, summed in one go."""

    def spent_upper(self, spent: Spent) -> Budget:
        """Return an (epsilon, delta) that the queries so far satisfy, for showing.

        It holds for the queries as if they had been fixed in advance; the promise under adaptive
        questions is the budget itself.
        """

    def remaining_lower(self, spent: Spent) -> Budget:
        """Return what is left, for showing: any purely epsilon-private query up to it still fits.

        The delta left is what leaks may still use.
        """

    def largest(self, spent: Spent, charge: Charge) -> Fraction | None:
        """Return about the largest epsilon at which the same query would fit, or None.

        At most the charge's own. It may be a suggestion: the query planned anew is checked like any
        other.
        """

    def spent_before(self, charged: Sequence[ChargeHistory]) -> Budget:
        """Return what an account that is declared now begins with: what its members were charged."""

    def delta_share(self, epsilon_share: Fraction) -> Fraction:
        """Return the share of delta that lasts as long as this share of epsilon, spent by each query."""
