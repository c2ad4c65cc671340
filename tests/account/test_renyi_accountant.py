"""The Rényi accountant keeps what every accountant promises, and gets further than adding up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from account.accountant_contract import (
    BUDGETS,
    CHARGES,
    NOTHING,
    AccountantContract,
    examples,
    failure,
    gaussian,
    laplace,
)
from sanql.account.accountants.pure import PureAccountant
from sanql.account.accountants.renyi import CONVERSION_SHARE, RenyiComposition
from sanql.account.charge import Charge
from sanql.policy.model import Budget


@pytest.mark.slow
class TestRenyiAccountant(AccountantContract):
    accounting = "renyi"

    @given(BUDGETS, st.lists(CHARGES, max_size=8))
    @examples
    def test_what_is_shown_is_never_more_than_the_claims(
        self, budget: Budget, charges: list[Charge]
    ) -> None:
        accountant, pure = self.accountant(budget), PureAccountant(budget)
        taken = self.accepted(accountant, charges)
        shown = accountant.spent_upper(accountant.take_all(NOTHING, taken))
        claimed = pure.spent_upper(pure.take_all(NOTHING, taken))
        if (
            claimed.delta <= shown.delta
        ):  # else what is shown is told at a smaller delta than the claims
            assert shown.epsilon <= claimed.epsilon

    def test_many_small_charges_fit_that_would_not_if_they_were_added_up(self) -> None:
        budget = Budget(Fraction(1), Fraction(1, 10**6))
        charges = [gaussian(Fraction(1, 20), Fraction(1, 10**9))] * 60
        assert len(self.accepted(self.accountant(budget), charges)) > 40
        assert len(self.accepted(PureAccountant(budget), charges)) == 20

    def test_an_odometer_is_opened_by_the_first_charge_that_uses_epsilon_and_stays_what_it_was(
        self,
    ) -> None:
        budget = Budget(Fraction(1), Fraction(1, 10**6))
        accountant = self.accountant(budget)
        leaked = accountant.take(NOTHING, failure(Fraction(2, 10**7)))
        assert leaked.together is None and leaked.paid.delta == Fraction(2, 10**7)
        opened = accountant.take(leaked, laplace(Fraction(1, 10)))
        assert isinstance(opened.together, RenyiComposition)
        assert opened.together.odometer.delta == CONVERSION_SHARE * Fraction(8, 10**7)
        later = accountant.take(opened, failure(Fraction(1, 10**7)))
        assert isinstance(later.together, RenyiComposition)
        assert later.together.odometer == opened.together.odometer
