"""What every accountant promises: one suite, inherited by one small test file for each of them.

Two oracles are used that share nothing with the accountants: the ledger's auditor, which recomputes
what an account has spent in 40-digit decimals, and Google's privacy-loss distributions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple
from fractions import Fraction
from typing import ClassVar

import pytest
from dp_accounting import dp_event
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanql.account.accountants.choice import ACCOUNTANTS
from sanql.account.accountants.conversion import gaussian_rho_lower
from sanql.account.accountants.filter import Spent
from sanql.account.accountants.protocol import Accountant
from sanql.account.accountants.totals import ChargeHistory
from sanql.account.charge import Charge
from sanql.account.events import (
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    event_from_dict,
)
from sanql.audit.ledger.accounts import AuditedAccount, AuditedCharge, under_limits
from sanql.numbers import EPSILON_MIN
from sanql.policy.model import Accounting, Budget

ZERO = Fraction(0)
NOTHING = Spent()
WHOSE = ("dataset", "town", None)

examples = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)
"""For suites that several classes inherit: each accountant has examples of its own."""


def laplace(epsilon: Fraction) -> Charge:
    return Charge((LaplaceEvent(1 / epsilon, 1, 1),), epsilon, ZERO)


def gaussian(epsilon: Fraction, delta: Fraction) -> Charge:
    rho = gaussian_rho_lower(epsilon, delta)
    return Charge((GaussianEvent(1 / (2 * rho), Fraction(1)),), epsilon, delta)


def selection(epsilon: Fraction, delta: Fraction, cells: int) -> Charge:
    event = SelectionEvent(epsilon / cells, delta / cells, cells)
    return Charge((event,), epsilon, delta)


def failure(delta: Fraction) -> Charge:
    return Charge((FailureEvent(delta),), ZERO, delta)


def several(charges: Iterable[Charge]) -> Charge:
    """Return all of them as one charge, with their claims added."""
    parts = list(charges)
    events: tuple[Event, ...] = tuple(event for part in parts for event in part.events)
    return Charge(
        events, sum((p.epsilon for p in parts), ZERO), sum((p.delta for p in parts), ZERO)
    )


def audited_charge(charge: Charge) -> AuditedCharge:
    """Return a charge in the ledger's words, as the auditor reads it."""
    words = charge.to_dict()["events"]
    assert isinstance(words, list)
    return AuditedCharge("ana", words, charge.epsilon, charge.delta)


EPSILONS = st.fractions(Fraction(1, 100), Fraction(1), max_denominator=100)
DELTAS = st.sampled_from([Fraction(1, 10**9), Fraction(1, 10**8), Fraction(3, 10**8)])
PURE = st.builds(laplace, EPSILONS)
SINGLE = st.one_of(
    PURE,
    st.builds(gaussian, EPSILONS, DELTAS),
    st.builds(selection, EPSILONS, DELTAS, st.integers(1, 4)),
    st.builds(failure, DELTAS),
)
CHARGES = st.one_of(SINGLE, st.builds(several, st.lists(SINGLE, min_size=2, max_size=3)))
BUDGETS = st.builds(
    Budget,
    st.fractions(Fraction(1, 10), Fraction(5), max_denominator=20),
    st.sampled_from([Fraction(1, 10**6), Fraction(1, 10**7)]),
)


class AccountantContract:
    """The promises; a subclass says which accountant is held to them."""

    accounting: ClassVar[Accounting]

    def accountant(self, budget: Budget) -> Accountant:
        """Return the accountant of an account with this budget."""
        return ACCOUNTANTS[self.accounting](budget)

    def accepted(self, accountant: Accountant, charges: Iterable[Charge]) -> list[Charge]:
        """Return the charges that are taken when each is taken if it fits."""
        spent, taken = NOTHING, []
        for charge in charges:
            if accountant.fits(spent, charge):
                spent, taken = accountant.take(spent, charge), [*taken, charge]
        return taken

    def spent_after(self, accountant: Accountant, charges: Iterable[Charge]) -> Spent:
        spent = NOTHING
        for charge in charges:
            spent = accountant.take(spent, charge)
        return spent

    def audited(self, budget: Budget, charges: Iterable[Charge]) -> AuditedAccount:
        """Return what the auditor finds of an account with these charges."""
        account = AuditedAccount(*WHOSE, *astuple(budget))
        for charge in charges:
            account.take(audited_charge(charge), self.accounting)
        return account

    # ---- nothing, and a charge of nothing

    @given(BUDGETS)
    @examples
    def test_a_new_account_has_spent_nothing_and_has_no_more_than_its_budget_left(
        self, budget: Budget
    ) -> None:
        accountant = self.accountant(budget)
        left = accountant.remaining_lower(NOTHING)
        assert accountant.budget == budget
        assert accountant.spent_upper(NOTHING) == Budget(ZERO, ZERO)
        assert 0 < left.delta <= budget.delta
        assert (
            accountant.fits(NOTHING, laplace(left.epsilon)) and left.epsilon >= budget.epsilon / 2
        )

    @given(BUDGETS, st.lists(CHARGES, max_size=6))
    @examples
    def test_a_charge_of_nothing_changes_nothing_and_fits_whatever_kept_to_the_budget(
        self, budget: Budget, charges: list[Charge]
    ) -> None:
        accountant, nothing = self.accountant(budget), Charge((), ZERO, ZERO)
        spent = self.spent_after(accountant, self.accepted(accountant, charges))
        after = accountant.take(spent, nothing)
        assert accountant.fits(spent, nothing)
        assert accountant.spent_upper(after) == accountant.spent_upper(spent)
        assert accountant.remaining_lower(after) == accountant.remaining_lower(spent)
        assert accountant.largest(spent, nothing) is None

    # ---- more is never less

    @given(BUDGETS, st.lists(CHARGES, max_size=8))
    @examples
    def test_every_charge_leaves_as_much_spent_or_more_and_as_much_left_or_less(
        self, budget: Budget, charges: list[Charge]
    ) -> None:
        accountant, spent = self.accountant(budget), NOTHING
        for charge in self.accepted(accountant, charges):
            after = accountant.take(spent, charge)
            was, now = accountant.spent_upper(spent), accountant.spent_upper(after)
            assert now.epsilon >= was.epsilon
            assert after.delta_upper >= spent.delta_upper + (charge.delta if was == now else 0)
            had, has = accountant.remaining_lower(spent), accountant.remaining_lower(after)
            assert has.delta <= had.delta
            assert has.epsilon <= had.epsilon + budget.epsilon / 10**6, "found by bisection"
            spent = after

    @given(BUDGETS, st.lists(CHARGES, max_size=8))
    @examples
    def test_nothing_that_is_shown_is_ever_negative_even_of_an_account_that_was_overspent(
        self, budget: Budget, charges: list[Charge]
    ) -> None:
        accountant = self.accountant(budget)
        spent = self.spent_after(
            accountant, [*charges, laplace(Fraction(9)), failure(budget.delta)]
        )
        assert not spent.within(budget)
        used, left = accountant.spent_upper(spent), accountant.remaining_lower(spent)
        assert left.epsilon == 0 <= left.delta
        assert used.epsilon >= 0 and used.delta >= 0
        assert not accountant.fits(spent, laplace(EPSILON_MIN))
        assert accountant.largest(spent, laplace(Fraction(1))) is None

    # ---- the budget holds

    @given(BUDGETS, st.lists(CHARGES, max_size=12))
    @examples
    def test_whatever_was_accepted_keeps_to_the_budget_by_the_auditors_arithmetic_too(
        self, budget: Budget, charges: list[Charge]
    ) -> None:
        accountant = self.accountant(budget)
        taken = self.accepted(accountant, charges)
        spent = self.spent_after(accountant, taken)
        shown, audited = accountant.spent_upper(spent), self.audited(budget, taken)
        assert spent.within(budget)
        assert shown.epsilon <= budget.epsilon and shown.delta <= budget.delta
        assert audited.keeps_to_its_budget()
        assert audited.spent()[0] <= shown.epsilon * (1 + Fraction(1, 10**12))
        for charge in [charge for charge in charges if not accountant.fits(spent, charge)]:
            refused = self.audited(budget, [*taken, charge])
            refused.epsilon *= 1 - Fraction(1, 10**9)  # the auditor's digits are others
            assert not refused.keeps_to_its_budget()

    @pytest.mark.parametrize(("count", "epsilon"), [(3, "1/10"), (40, "1/50")])
    def test_what_is_shown_as_spent_is_no_less_than_the_truth(
        self, count: int, epsilon: str
    ) -> None:
        """The truth is a privacy-loss distribution; discretised pessimistically by 1e-4 a charge."""
        accountant = self.accountant(Budget(Fraction(5), Fraction(1, 10**6)))
        normal = gaussian(Fraction(epsilon), Fraction(1, 10**9))
        counts = laplace(Fraction(epsilon))
        spent = self.spent_after(accountant, [normal, counts] * count)
        shown = accountant.spent_upper(spent)
        (event,) = normal.events
        assert isinstance(event, GaussianEvent)
        truth = PLDAccountant(value_discretization_interval=1e-4)
        truth.compose(dp_event.GaussianDpEvent(float(event.sigma2) ** 0.5), count)
        truth.compose(dp_event.DiscreteLaplaceDpEvent(float(counts.epsilon), 1), count)
        assert truth.get_epsilon(float(shown.delta)) - 2e-4 * count <= float(shown.epsilon)

    # ---- what is left

    @given(BUDGETS, st.lists(CHARGES, max_size=8))
    @examples
    def test_a_purely_private_query_of_what_is_left_fits_and_so_does_a_leak_of_the_delta_left(
        self, budget: Budget, charges: list[Charge]
    ) -> None:
        accountant = self.accountant(budget)
        spent = self.spent_after(accountant, self.accepted(accountant, charges))
        left = accountant.remaining_lower(spent)
        if left.epsilon > 0:
            assert accountant.fits(spent, laplace(left.epsilon))
        if left.delta > 0:
            assert accountant.fits(spent, failure(left.delta))
        if left.delta > 0 and left.epsilon > 0:
            asked = accountant.take(spent, laplace(left.epsilon / 2))
            assert accountant.fits(asked, failure(left.delta)), "whatever else is asked before"
        assert not accountant.fits(
            spent, failure(budget.delta - spent.delta_upper + Fraction(1, 10**12))
        )

    @given(BUDGETS, st.lists(CHARGES, max_size=8), EPSILONS)
    @examples
    def test_the_largest_epsilon_fits_and_a_fiftieth_more_does_not(
        self, budget: Budget, charges: list[Charge], epsilon: Fraction
    ) -> None:
        accountant = self.accountant(budget)
        spent = self.spent_after(accountant, self.accepted(accountant, charges))
        found = accountant.largest(spent, laplace(epsilon))
        if found is None:
            assert not accountant.fits(spent, laplace(EPSILON_MIN * Fraction(51, 50)))
            return
        assert EPSILON_MIN <= found <= epsilon
        assert accountant.fits(spent, laplace(found))
        if accountant.fits(spent, laplace(epsilon)):
            assert found == epsilon or found >= epsilon * Fraction(99, 100)
        else:
            assert not accountant.fits(spent, laplace(found * Fraction(51, 50)))

    def test_a_budget_that_is_used_up_to_the_last_takes_nothing_more(self) -> None:
        accountant = self.accountant(Budget(Fraction(1), ZERO))
        spent = self.spent_after(accountant, [laplace(Fraction(1, 4))] * 4)
        assert spent.within(accountant.budget)
        assert accountant.remaining_lower(spent) == Budget(ZERO, ZERO)
        assert not accountant.fits(spent, laplace(EPSILON_MIN))
        assert not accountant.fits(spent, failure(Fraction(1, 10**12)))
        assert accountant.largest(spent, laplace(Fraction(1, 4))) is None

    # ---- delta

    @given(BUDGETS, EPSILONS)
    @examples
    def test_delta_is_a_budget_of_its_own(self, budget: Budget, epsilon: Fraction) -> None:
        accountant = self.accountant(budget)
        more = budget.delta + Fraction(1, 10**12)
        assert accountant.fits(NOTHING, failure(budget.delta))
        assert not accountant.fits(NOTHING, failure(more))
        assert not accountant.fits(NOTHING, selection(epsilon, more, 1))
        assert accountant.largest(NOTHING, selection(epsilon, more, 1)) is None

    def test_an_account_without_a_delta_takes_no_charge_that_may_leak(self) -> None:
        accountant = self.accountant(Budget(Fraction(10), ZERO))
        assert accountant.fits(NOTHING, laplace(Fraction(1)))
        for charge in (
            gaussian(Fraction(1, 10), Fraction(1, 10**9)),
            selection(Fraction(1, 10), Fraction(1, 10**12), 1),
            failure(Fraction(1, 10**12)),
        ):
            assert not accountant.fits(NOTHING, charge)

    @given(st.fractions(0, 1), st.fractions(0, 1))
    @examples
    def test_the_share_of_delta_grows_with_that_of_epsilon_and_is_never_greater(
        self, one: Fraction, other: Fraction
    ) -> None:
        accountant = self.accountant(Budget(Fraction(1), Fraction(1, 10**6)))
        low, high = sorted((one, other))
        assert 0 <= accountant.delta_share(low) <= accountant.delta_share(high) <= high

    # ---- how charges come

    @given(BUDGETS, st.lists(CHARGES, max_size=8))
    @examples
    def test_charges_taken_in_one_go_are_charges_taken_one_by_one(
        self, budget: Budget, charges: list[Charge]
    ) -> None:
        accountant = self.accountant(budget)
        assert accountant.take_all(NOTHING, charges) == self.spent_after(accountant, charges)
        half = accountant.take_all(NOTHING, charges[:3])
        assert accountant.take_all(half, charges[3:]) == self.spent_after(accountant, charges)

    @given(BUDGETS, st.data(), st.lists(PURE, min_size=1, max_size=8))
    @examples
    def test_the_order_of_charges_that_cannot_leak_does_not_matter(
        self, budget: Budget, data: st.DataObject, charges: list[Charge]
    ) -> None:
        accountant = self.accountant(budget)
        shuffled = data.draw(st.permutations(charges))
        one, other = (self.spent_after(accountant, each) for each in (charges, shuffled))
        assert accountant.spent_upper(one) == accountant.spent_upper(other)
        assert accountant.remaining_lower(one) == accountant.remaining_lower(other)

    @given(BUDGETS, st.sampled_from(sorted(ACCOUNTANTS)), st.lists(CHARGES, max_size=5), CHARGES)
    @examples
    def test_what_another_accountant_counted_stays_counted_and_the_budget_holds_for_both(
        self, budget: Budget, before: Accounting, charges: list[Charge], charge: Charge
    ) -> None:
        other, accountant = ACCOUNTANTS[before](budget), self.accountant(budget)
        first = self.accepted(other, charges)
        spent, audited = self.spent_after(other, first), AuditedAccount(*WHOSE, *astuple(budget))
        for taken in first:
            audited.take(audited_charge(taken), before)
        for more in [charge, laplace(budget.epsilon / 2), laplace(budget.epsilon / 5)] * 2:
            if accountant.fits(spent, more):
                after = accountant.take(spent, more)
                audited.take(audited_charge(more), self.accounting)
                assert after.within(budget) and audited.keeps_to_its_budget()
                shown = accountant.spent_upper(after).epsilon
                assert shown >= accountant.spent_upper(spent).epsilon
                assert after.delta_upper >= spent.delta_upper
                spent = after

    @given(BUDGETS, st.lists(CHARGES, max_size=6))
    @examples
    def test_the_auditor_grants_what_an_account_declared_late_begins_with_and_not_a_hundredth_less(
        self, budget: Budget, charges: list[Charge]
    ) -> None:
        before = self.accountant(budget).spent_before([ChargeHistory(charges=charges)])
        assert self.granted(budget, before, charges)
        if before.epsilon > 0 and before.delta <= budget.delta:
            less = Budget(before.epsilon * Fraction(99, 100), before.delta)
            assert not self.granted(budget, less, charges)

    def granted(self, budget: Budget, before: Budget, charges: Iterable[Charge]) -> bool:
        """Return whether the auditor lets a new account begin with this, given its members' past."""
        words = {
            "kind": "dataset",
            "name": "town",
            "members": None,
            "epsilon": str(budget.epsilon),
            "delta": str(budget.delta),
            "spent_before": {"epsilon": str(before.epsilon), "delta": str(before.delta)},
        }
        body = {"accounting": self.accounting, "accounts": [words]}
        history = [audited_charge(charge) for charge in charges]
        _, wrong = under_limits(body, 2, [], history, lost=(Fraction(0), Fraction(0)))
        return wrong is None

    # ---- what nobody knows

    def test_an_event_that_nobody_knows_is_refused_before_it_can_be_counted(self) -> None:
        class UnknownEvent:
            pass

        with pytest.raises((AssertionError, ValueError)):
            Charge((UnknownEvent(),), Fraction(1), ZERO)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="not an event"):
            event_from_dict({"kind": "rumour", "delta": "1/2"})
