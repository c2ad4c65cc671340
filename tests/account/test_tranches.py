"""Budgets that are opened by and by: what is open, who opens it, and that the auditor finds the same."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from account.forging import forge
from sanql.account.charge import Charge
from sanql.account.ledger import journal
from sanql.account.ledger.chain import FORMAT_OF_TRANCHES
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy import PERIODS, PacedBudget
from sanql.policy.model import Analyst, Budget, Policy
from sanql.policy.periods import first_day, period_after, period_of
from sanql.results import alerts_of

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TERMS = {"neighbours": "add-remove"}
DELTA = Fraction(1, 10**6)
NOVEMBER = datetime(2026, 11, 19, 12, tzinfo=UTC)


def paced(total: str = "3", tranche: str = "1", per: str = "month") -> PacedBudget:
    return PacedBudget(Fraction(total), DELTA, Fraction(tranche), per)


def opened(policy: Policy, now: datetime = NOVEMBER) -> Ledger:
    return Ledger.open(policy, TERMS, clock=lambda: now)


def ask(ledger: Ledger, number: int, charge: Charge) -> None:
    ledger.void(ledger.reserve("bob", f"{number:064x}", charge), reason="cancelled")


@pytest.fixture(params=["pure", "renyi"])
def policy(request: pytest.FixtureRequest, make_policy: MakePolicy) -> Policy:
    return make_policy(accounting=request.param, budget=paced(), coalitions={})


def test_nothing_is_spent_before_a_tranche_is_open_and_no_more_than_is_open(
    policy: Policy, laplace: Laplace
) -> None:
    with opened(policy) as ledger:
        with pytest.raises(BudgetExceeded) as refused:
            ask(ledger, 0, laplace("0.1"))
        assert "0 that is open, of 3 in all" in refused.value.message
        assert "next tranche" in refused.value.remedy
        (tranche,) = ledger.tranches.open()
        assert (tranche.per, tranche.period) == ("month", "2026-11")
        ask(ledger, 1, laplace("0.75"))
        with pytest.raises(BudgetExceeded):
            ask(ledger, 2, laplace("0.75"))
        assert ledger.balances()[0].remaining_lower.epsilon >= Fraction(1, 4)
        ask(ledger, 3, laplace("0.25"))
        assert ledger.balances_after("bob", laplace("1")) is None
    assert verify(policy.ledger).sound


def test_what_is_left_of_a_tranche_stays_open_and_all_of_them_come_to_the_total(
    policy: Policy, laplace: Laplace
) -> None:
    for month in (10, 11, 12):
        with opened(policy, datetime(2026, month, 1, tzinfo=UTC)) as ledger:
            ledger.tranches.open()
            assert ledger.balances()[0].open == month - 9
    with opened(policy, datetime(2027, 1, 1, tzinfo=UTC)) as ledger:
        with pytest.raises(LedgerError) as nothing:
            ledger.tranches.open()
        assert nothing.value.code == "tranche_none"
        ask(ledger, 1, laplace("3"))
        with pytest.raises(BudgetExceeded):
            ask(ledger, 2, laplace("0.1"))
    assert verify(policy.ledger).sound


def test_the_last_tranche_is_what_is_left_of_the_total(make_policy: MakePolicy) -> None:
    policy = make_policy(budget=paced("2.5", "1"), coalitions={})
    for month in (10, 11, 12):
        with opened(policy, datetime(2026, month, 1, tzinfo=UTC)) as ledger:
            ledger.tranches.open()
            found = ledger.balances()[0].open
    assert found == Fraction(5, 2)


@pytest.mark.parametrize("now", [datetime(1970, 1, 1, tzinfo=UTC), NOVEMBER])
def test_a_period_has_one_tranche_and_a_clock_that_is_behind_opens_none(
    now: datetime, policy: Policy
) -> None:
    with opened(policy) as ledger:
        ledger.tranches.open()
    with opened(policy, now) as ledger:
        for period in (None, "2026-11", "2026-10", "2026-W48", "november"):
            with pytest.raises(LedgerError) as refused:
                ledger.tranches.open(period)
            assert refused.value.code == "tranche_none"
        assert ledger.balances()[0].open == 1


def test_a_clock_that_is_far_ahead_opens_nothing_unless_the_owner_names_the_period(
    policy: Policy, laplace: Laplace
) -> None:
    with opened(policy) as ledger:
        ledger.tranches.open()
    with opened(policy, datetime(2099, 1, 1, tzinfo=UTC)) as ledger:
        ask(ledger, 1, laplace("1"))
        with pytest.raises(BudgetExceeded):
            ask(ledger, 2, laplace("0.1"))
        with pytest.raises(LedgerError) as refused:
            ledger.tranches.open()
        assert refused.value.code == "tranche_skips"
        assert "sanql budget open 2099-01" in refused.value.remedy
        ledger.tranches.open("2027-02")
        assert ledger.balances()[0].open == 2


def _open_in_a_process(policy: Policy) -> int:
    try:
        with opened(policy) as ledger:
            return len(ledger.tranches.open())
    except LedgerError as refused:
        assert refused.code == "tranche_none"
        return 0


@pytest.mark.slow
def test_processes_that_open_the_same_tranche_open_it_once(policy: Policy) -> None:
    opened(policy).close()
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        found = pool.map(_open_in_a_process, [policy] * 8)
    assert sorted(found) == [0] * 7 + [1]
    with opened(policy) as ledger:
        assert ledger.balances()[0].open == 1
        assert sum(record.kind == "tranche" for record in ledger.records()) == 1


def test_accounts_are_paced_each_by_their_own_periods(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    bob = Analyst("bob", paced("2", "0.25", "week"))
    policy = make_policy(budget=paced(), analysts={"bob": bob}, coalitions={})
    with opened(policy) as ledger:
        assert [each.per for each in ledger.tranches.open()] == ["month", "week"]
        ask(ledger, 1, laplace("0.25"))
        with pytest.raises(BudgetExceeded, match="analyst account"):
            ask(ledger, 2, laplace("0.25"))
    with opened(policy, NOVEMBER + timedelta(days=7)) as ledger:
        (week,) = ledger.tranches.open()
        assert (week.period, week.accounts) == ("2026-W48", ("the analyst account 'bob'",))
        ask(ledger, 2, laplace("0.25"))
    assert verify(policy.ledger).sound


def test_an_account_that_begins_to_be_paced_has_open_what_it_has_spent(
    policy: Policy, laplace: Laplace
) -> None:
    before = replace(policy, budget=all_at_once(policy.budget))
    with opened(before) as ledger:
        ask(ledger, 1, laplace("1.5"))
        assert next(iter(ledger.records())).content["format"] != FORMAT_OF_TRANCHES
    with opened(policy) as ledger:
        assert ledger.balances()[0].open == Fraction(3, 2)
        ledger.tranches.open()
        ask(ledger, 2, laplace("1"))
        with pytest.raises(BudgetExceeded):
            ask(ledger, 3, laplace("0.1"))
        kinds = [record.kind for record in ledger.records()]
    begun = ["open", "limits", "reserve", "void"]
    assert kinds == [*begun, "format", "limits", "tranche", "reserve", "void"]
    assert verify(policy.ledger).sound
    with opened(before) as ledger:  # and goes on without
        ask(ledger, 4, laplace("0.5"))
    assert verify(policy.ledger).sound


def all_at_once(budget: Budget) -> Budget:
    return Budget(budget.epsilon, budget.delta)


@pytest.mark.parametrize(
    ("changes", "sound"),
    [
        ({}, True),
        ({"period": "2026-11"}, False),
        ({"period": "2026-10"}, False),
        ({"period": "2026-13"}, False),
        ({"period": "2026-W49"}, False),
        ({"per": "week", "period": "2026-W49"}, False),
        ({"more": "words"}, False),
        ({"author": None}, False),
    ],
)
def test_books_and_auditor_refuse_the_same_forged_tranches(
    changes: dict[str, object], sound: bool, policy: Policy
) -> None:
    with opened(policy) as ledger:
        ledger.tranches.open()
    said = {"author": "owner", "per": "month", "period": "2026-12", "time": NOVEMBER.isoformat()}
    forge(policy, "tranche", said | changes)
    assert verify(policy.ledger).sound == sound
    if sound:
        opened(policy).close()
    else:
        with pytest.raises(LedgerError):
            opened(policy)


def test_the_auditor_finds_a_charge_beyond_what_is_open(policy: Policy, laplace: Laplace) -> None:
    with opened(policy) as ledger:
        ledger.tranches.open()
        ask(ledger, 1, laplace("1"))
        body = next(r for r in ledger.records() if r.kind == "reserve").content
    forge(policy, "reserve", body | {"question": "a" * 64})
    fault = verify(policy.ledger).fault
    assert fault is not None and "exceeds its budget" in fault.message


def test_tranches_survive_a_checkpoint(
    policy: Policy, laplace: Laplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "CHECKPOINT_RECORDS", 4)
    with opened(policy) as ledger:
        ledger.tranches.open()
        for number in range(8):
            ask(ledger, number, laplace("0.1"))
        before = [each.to_dict() for each in ledger.balances()]
        assert any(record.kind == "checkpoint" for record in ledger.records())
    with opened(policy) as ledger:
        assert [each.to_dict() for each in ledger.balances()] == before
        with pytest.raises(BudgetExceeded):
            ask(ledger, 99, laplace("0.3"))
    assert verify(policy.ledger).sound


def test_opening_sooner_needs_the_officer_where_the_record_asks_for_one(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy(budget=paced(), coalitions={}, second_signature=True)
    opened(policy).close()
    for sooner in (paced("3", "2"), paced("3", "1", "week"), all_at_once(policy.budget)):
        with pytest.raises(LedgerError) as refused:
            opened(replace(policy, budget=sooner))
        assert refused.value.code == "limits_unsigned"
        assert "opens sooner" in refused.value.message
    opened(replace(policy, budget=paced("3", "0.5"))).close()
    assert verify(policy.ledger).sound


@pytest.mark.parametrize("per", PERIODS)
def test_periods_follow_each_other_as_days_do(per: str) -> None:
    """Each of 4,000 days is in the period of the day before, or in the one after that."""
    day, name = date(2019, 12, 25), period_of(per, date(2019, 12, 25))
    for _ in range(4_000):
        day += timedelta(days=1)
        found = period_of(per, day)
        if found != name:
            assert found == period_after(per, name) and found > name
            assert first_day(per, found) == day
        name = found


def test_alerts_tell_of_shares_spent_of_budget_and_tranche(
    policy: Policy, laplace: Laplace
) -> None:
    levels = (Fraction(1, 2), Fraction(4, 5))
    with opened(policy) as ledger:
        assert alerts_of(ledger.balances(), levels) == []
        ledger.tranches.open()
        ask(ledger, 1, laplace("0.25"))
        assert alerts_of(ledger.balances(), levels) == []
        ask(ledger, 2, laplace("0.5"))
        assert alerts_of(ledger.balances(), levels) == [
            "dataset hospital: 75 % of its newest tranche is spent"
        ]
        ledger.tranches.open("2026-12")
        ask(ledger, 3, laplace("1"))
        assert alerts_of(ledger.balances(), levels) == [
            "dataset hospital: 59 % of its budget is spent",
            "dataset hospital: 75 % of its newest tranche is spent",
        ]


def test_a_ledger_is_of_the_same_length_however_often_it_is_opened(policy: Policy) -> None:
    for _ in range(3):
        with opened(policy) as ledger:
            assert ledger.length == 2
    assert Path(policy.ledger).exists()
