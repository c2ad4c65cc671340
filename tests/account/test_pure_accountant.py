"""The pure accountant keeps what every accountant promises, and adds up exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from account.accountant_contract import (
    BUDGETS,
    CHARGES,
    AccountantContract,
    examples,
    laplace,
    several,
)
from sanql.account.accountants.filter import Spent
from sanql.account.accountants.totals import ChargeHistory
from sanql.account.charge import Charge
from sanql.policy.model import Budget


@pytest.mark.slow
class TestPureAccountant(AccountantContract):
    accounting = "pure"

    @given(BUDGETS, st.lists(CHARGES, max_size=8))
    @examples
    def test_spent_and_left_are_the_plain_sums(self, budget: Budget, charges: list[Charge]) -> None:
        accountant, claimed = self.accountant(budget), several(charges)
        spent = accountant.take_all(Spent(), charges)
        assert accountant.spent_upper(spent) == Budget(claimed.epsilon, claimed.delta)
        left = accountant.remaining_lower(spent)
        if claimed.epsilon <= budget.epsilon and claimed.delta <= budget.delta:
            assert left.epsilon == budget.epsilon - claimed.epsilon
            assert left.delta == budget.delta - claimed.delta
        assert accountant.spent_before([ChargeHistory(charges=charges)]) == Budget(
            claimed.epsilon, claimed.delta
        )

    @given(st.permutations([*range(6)]), st.lists(CHARGES, min_size=6, max_size=6))
    @examples
    def test_no_order_matters(self, order: list[int], charges: list[Charge]) -> None:
        accountant = self.accountant(Budget(Fraction(5), Fraction(1, 10**6)))
        shuffled = [charges[position] for position in order]
        assert accountant.take_all(Spent(), charges) == accountant.take_all(Spent(), shuffled)

    def test_the_largest_epsilon_is_exact(self) -> None:
        accountant = self.accountant(Budget(Fraction(1), Fraction(0)))
        spent = accountant.take(Spent(), laplace(Fraction(2, 3)))
        assert accountant.largest(spent, laplace(Fraction(1, 2))) == Fraction(1, 3)
