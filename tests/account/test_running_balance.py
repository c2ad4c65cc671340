"""Charges summed late and all at once, against charges counted one by one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.account.accountants.choice import ACCOUNTANTS, accountant_for
from sanql.account.accountants.divergences import ORDERS, curve, renyi_units_upper
from sanql.account.accountants.filter import Spent
from sanql.account.accountants.renyi import RenyiAccountant, RenyiComposition
from sanql.account.accountants.totals import Losses, Totals
from sanql.account.charge import Charge
from sanql.account.events import Event, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.running_balance import RunningBalance
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded
from sanql.policy.model import Accounting, Budget, Policy

TERMS = {"neighbours": "add-remove"}

MILLIONTH = Fraction(1, 10**6)

EVENTS = st.one_of(
    st.builds(
        LaplaceEvent, st.fractions(Fraction(1, 50), 10**6), st.integers(0, 20), st.integers(1, 7)
    ),
    st.builds(GaussianEvent, st.fractions(Fraction(1, 50), 10**6), st.fractions(0, 9)),
    st.builds(
        SelectionEvent, st.fractions(0, 3), st.sampled_from([Fraction(0), MILLIONTH]), st.just(2)
    ),
    st.builds(FailureEvent, st.just(MILLIONTH)),
)


def charge_of(events: tuple[Event, ...]) -> Charge:
    """A charge that claims so much that no event here exceeds it."""
    return Charge(events, Fraction(10**6), Fraction(1, 2))


CHARGES = st.builds(charge_of, st.lists(EVENTS, max_size=3).map(tuple))


def digest(number: int) -> str:
    return f"{number:064x}"


BUDGETS = st.sampled_from(
    [Budget(Fraction(10**7), Fraction(9, 10)), Budget(Fraction(1), MILLIONTH)]
)


@pytest.mark.slow
@given(
    st.sampled_from(sorted(ACCOUNTANTS)),
    BUDGETS,
    st.lists(st.tuples(CHARGES, st.booleans()), max_size=8),
)
@settings(max_examples=100, deadline=None)
def test_whenever_it_is_asked_a_running_balance_knows_what_taking_one_by_one_gives(
    accounting: Accounting, budget: Budget, charges: list[tuple[Charge, bool]]
) -> None:
    accountant = accountant_for(accounting, budget)
    balance, expected = RunningBalance(accountant, Spent()), Spent()
    for charge, asked in charges:
        balance.take(charge)
        expected = accountant.take(expected, charge)
        if asked:
            assert balance.spent == expected
    assert balance.spent == expected
    assert accountant.take_all(Spent(), [charge for charge, _ in charges]) == expected


@pytest.mark.slow
@given(st.lists(CHARGES, max_size=8))
@settings(max_examples=60, deadline=None)
def test_the_totals_of_many_charges_are_what_adding_one_by_one_gives(
    charges: list[Charge],
) -> None:
    one_by_one = Totals()
    for charge in charges:
        one_by_one = one_by_one.add(charge)
    assert Totals.of_many(charges) == one_by_one


def test_limits_that_change_leave_each_charge_counted_as_it_was_when_it_came(
    laplace: Callable[[str], Charge],
) -> None:
    budget = Budget(Fraction(4), MILLIONTH)
    pure, renyi = (accountant_for(accounting, budget) for accounting in ("pure", "renyi"))
    balance = RunningBalance(pure, Spent())
    balance.take(laplace("0.1"))
    balance = balance.under(renyi)
    balance.take(laplace("0.2"))
    spent = balance.spent
    assert spent.paid == Budget(Fraction(1, 10), Fraction(0))
    assert isinstance(spent.together, RenyiComposition)
    assert spent.together.totals.epsilon == Fraction(1, 5)


@pytest.mark.slow
@given(st.lists(EVENTS, max_size=6))
@settings(max_examples=60, deadline=None)
def test_the_curve_of_events_is_the_sum_of_their_divergences_at_each_order(
    events: list[Event],
) -> None:
    twice = [*events, *events[:1]]
    assert curve(twice) == tuple(renyi_units_upper(twice, order) for order in ORDERS)


def test_pure_accounting_computes_no_divergence(
    make_policy: Callable[..., Policy],
    laplace: Callable[[str], Charge],
    gaussian: Callable[[str, str], Charge],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def tripwire(*_: object) -> Losses:
        raise AssertionError("a divergence was asked for")

    monkeypatch.setattr(Losses, "of_charge", tripwire)
    monkeypatch.setattr(Losses, "of_many", tripwire)
    with Ledger.open(make_policy(), TERMS) as ledger:
        ledger.reserve("ana", digest(1), laplace("0.25"))
        ledger.reserve("bob", digest(2), gaussian("0.5", "1e-8"))
        with pytest.raises(BudgetExceeded, match="ask with epsilon"):
            ledger.would_fit("ana", laplace("0.8"))
    with Ledger.open(make_policy(), TERMS) as ledger:
        spent = {balance.account: balance.spent_upper.epsilon for balance in ledger.balances()}
        assert spent == {
            "hospital": Fraction(3, 4),
            "ana": Fraction(1, 4),
            "both": Fraction(3, 4),
        }
        assert ledger.balances_after("bob", laplace("0.1")) is not None
        assert [name for name, _ in ledger.spent_without_budget()] == ["bob"]


def test_a_ledger_whose_accounting_turns_keeps_each_charge_where_it_was_counted(
    make_policy: Callable[..., Policy],
    laplace: Callable[[str], Charge],
    gaussian: Callable[[str, str], Charge],
) -> None:
    """Pure, Rényi, pure, Rényi: against the accountants, told the charges one by one."""
    charges = [laplace("0.1"), gaussian("0.1", "1e-9"), laplace("0.2"), gaussian("0.2", "1e-9")]
    turns: list[Accounting] = ["pure", "renyi", "pure", "renyi"]
    expected = Spent()
    for number, (accounting, charge) in enumerate(zip(turns, charges, strict=True)):
        policy = make_policy(accounting=accounting)
        expected = accountant_for(accounting, policy.budget).take(expected, charge)
        with Ledger.open(policy, TERMS) as ledger:
            ledger.reserve("ana", digest(number), charge)
    assert isinstance(expected.together, RenyiComposition)
    assert expected.paid.epsilon == expected.together.totals.epsilon == Fraction(3, 10)
    rule = RenyiAccountant(make_policy().budget)
    with Ledger.open(make_policy(accounting="renyi"), TERMS) as ledger:
        balance = ledger.balances()[0]
        assert balance.spent_upper == rule.spent_upper(expected)
        assert balance.remaining_lower == rule.remaining_lower(expected)
    assert verify(policy.ledger).sound
