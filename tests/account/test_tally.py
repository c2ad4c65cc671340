"""Totals summed late and all at once, against charges added one by one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.account import (
    Charge,
    Event,
    FailureEvent,
    Filter,
    GaussianEvent,
    LaplaceEvent,
    Ledger,
    SelectionEvent,
    Spent,
    Totals,
    verify,
)
from sanql.account.filter import Odometer
from sanql.account.renyi import ORDERS, curve, renyi_units_upper
from sanql.account.tally import Tally
from sanql.account.totals import Losses
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


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from(["ana", "bob", "eve"]), CHARGES, st.booleans()), max_size=8)
)
@settings(max_examples=60, deadline=None)
def test_whenever_it_is_asked_a_tally_knows_what_adding_one_by_one_gives(
    charges: list[tuple[str, Charge, bool]],
) -> None:
    tally = Tally()
    expected: dict[str | None, Totals] = {}
    for analyst, charge, asked in charges:
        tally.take(analyst, charge)
        for whose in (None, analyst):
            expected[whose] = expected.get(whose, Totals()).add(charge)
        if asked:
            assert tally.totals(analyst, "renyi") == expected[analyst]
    for whose, totals in expected.items():
        assert tally.totals(whose, "renyi") == totals
        assert tally.totals(whose, "pure") == Totals(totals.epsilon, totals.delta, None)
    assert tally.together(["ana", "bob", "eve", "never charged"], "renyi") == expected.get(
        None, Totals()
    )


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
    """Pure, Rényi, pure, Rényi: against the filter, told the charges one by one."""
    charges = [laplace("0.1"), gaussian("0.1", "1e-9"), laplace("0.2"), gaussian("0.2", "1e-9")]
    turns: list[Accounting] = ["pure", "renyi", "pure", "renyi"]
    expected = Spent()
    for number, (accounting, charge) in enumerate(zip(turns, charges, strict=True)):
        policy = make_policy(accounting=accounting)
        expected = Filter(policy.budget, accounting).take(expected, charge)
        with Ledger.open(policy, TERMS) as ledger:
            ledger.reserve("ana", digest(number), charge)
    assert expected.paid.epsilon == Fraction(3, 10) and expected.metered.epsilon == Fraction(3, 10)
    rule = Filter(make_policy().budget, "renyi")
    with Ledger.open(make_policy(accounting="renyi"), TERMS) as ledger:
        balance = ledger.balances()[0]
        assert balance.spent_upper == Budget(*rule.spent_upper(expected))
        assert balance.remaining_lower == rule.remaining_lower(expected)
    assert verify(policy.ledger).sound


def test_totals_that_count_claims_only_are_never_taken_for_no_loss() -> None:
    rule = Filter(Budget(Fraction(4), MILLIONTH), "renyi")
    claims = Totals(Fraction(1), Fraction(0), None)
    spent = Spent(odometer=Odometer(Fraction(4), MILLIONTH / 8), metered=claims)
    for asked in (rule.within, rule.spent_upper, rule.remaining_lower):
        with pytest.raises(ValueError, match="claims only"):
            asked(spent)
    assert claims.merge(Totals()).kept is None
    assert Totals().merge(claims).kept is None
