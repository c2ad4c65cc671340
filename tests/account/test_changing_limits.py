"""Limits that change after answers are seen, against adversaries solved exactly.

An adversary picks each question after each answer, and the owner, who has seen the answers too, picks
the limits in force. The value of the game is the largest E(1 - exp(E - L))₊ over all strategies of both;
the guarantee is that it is at most the greatest delta in force.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from account.forging import forge
from sanql.account.accountants.choice import accountant_for
from sanql.account.accountants.divergences import ORDERS
from sanql.account.accountants.filter import Spent
from sanql.account.accountants.protocol import Accountant
from sanql.account.accountants.pure import PureAccountant
from sanql.account.accountants.renyi import (
    Odometer,
    RenyiAccountant,
    RenyiComposition,
    order_weights,
)
from sanql.account.charge import Charge
from sanql.account.events import FailureEvent, SelectionEvent
from sanql.account.ledger.format_1 import spent_in_format_1
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded
from sanql.policy.model import Accounting, Analyst, Budget, Coalition, Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]
Gaussian = Callable[[str, str], Charge]

TERMS = {"neighbours": "add-remove"}
NOTHING = Spent()


def rule(text: str) -> Accountant:
    epsilon, delta, accounting = text.split()
    return accountant_for(accounting, Budget(Fraction(epsilon), Fraction(delta)))  # type: ignore[arg-type]


def digest(number: int) -> str:
    return f"{number:064x}"


@dataclass(frozen=True)
class AsFormat2:
    """An account that goes on from what it has spent, whatever the limits are now."""

    spent: Spent = NOTHING

    def take(self, rule: Accountant, charge: Charge) -> AsFormat2:
        return AsFormat2(rule.take(self.spent, charge))


@dataclass(frozen=True)
class AsFormat1:
    """The construction of before: all charges in one sum, judged by the limits in force."""

    spent: Spent = NOTHING
    everything: tuple[Charge, ...] = ()

    def take(self, rule: Accountant, charge: Charge) -> AsFormat1:
        everything = tuple(sorted((*self.everything, charge), key=lambda each: each.epsilon))
        accounting: Accounting = "renyi" if isinstance(rule, RenyiAccountant) else "pure"
        return AsFormat1(spent_in_format_1(accounting, rule.budget, everything), everything)


def game(limits: list[str], step: str, leaks: int, start: AsFormat1 | AsFormat2) -> float:
    """The value of the game over the greatest delta; each answer is a randomised response or a leak."""
    rules = [rule(text) for text in limits]
    epsilon = float(max(rule.budget.epsilon for rule in rules))
    delta = max(rule.budget.delta for rule in rules)
    move, part = Fraction(step), delta / leaks
    response = Charge((SelectionEvent(move, Fraction(0), 1),), move, Fraction(0))
    leaky = Charge((FailureEvent(part),), Fraction(0), part)
    truth = 1 / (1 + math.exp(-float(move)))

    states = {start: 0}  # numbered: a number is hashed faster

    @cache
    def after(state: int, charge: Charge) -> list[int]:
        """What one more answer may leave, under whichever limits the owner sets before it."""
        account = list(states)[state]
        taken = [(rule.budget, account.take(rule, charge)) for rule in rules]
        return [
            states.setdefault(now, len(states)) for budget, now in taken if now.spent.within(budget)
        ]

    @cache
    def value(spent: int, steps: int, asked: int) -> float:
        best = max(0.0, 1 - math.exp(epsilon - steps * float(move)))
        if asked == 24:
            return best
        for then in after(spent, response):
            rises, falls = value(then, steps + 1, asked + 1), value(then, steps - 1, asked + 1)
            best = max(best, truth * rises + (1 - truth) * falls)
        for then in after(spent, leaky):
            best = max(best, float(part) + (1 - float(part)) * value(then, steps, asked))
        return best

    return value(0, 0, 0) / float(delta)


GAMES = [
    pytest.param(["1 0.1 pure", "1 0.1 renyi"], "1/4", 1, id="accounting"),
    pytest.param(["1/2 0.05 pure", "1/2 0.05 renyi"], "1/10", 2, id="accounting_small_steps"),
    pytest.param(["2 0.05 renyi", "2 0.05 pure"], "1/4", 2, id="accounting_in_parts"),
    pytest.param(["1 0.1 pure", "3/2 0.1 renyi"], "1/4", 1, id="raised_with_the_accounting"),
]


@pytest.mark.parametrize(("limits", "step", "leaks"), GAMES)
def test_an_owner_who_changes_the_accounting_after_seeing_answers_never_exceeds_delta(
    limits: list[str], step: str, leaks: int
) -> None:
    assert game(limits, step, leaks, AsFormat2()) <= 1 + 1e-12


@pytest.mark.parametrize(("limits", "step", "leaks"), GAMES[:3])
def test_one_sum_judged_by_the_limits_in_force_did_exceed_delta(
    limits: list[str], step: str, leaks: int
) -> None:
    """The oracle sees the fault of the construction of before."""
    assert game(limits, step, leaks, AsFormat1()) > 1.01


@pytest.mark.parametrize(
    "limits",
    [
        ["1/2 0.1 renyi", "1 0.1 renyi"],
        ["1 0.02 renyi", "1 0.1 renyi"],
        ["1/2 0.02 pure", "1/2 0.1 renyi", "1 0.02 renyi"],
        ["1 0.1 renyi", "1/4 0.01 renyi", "1/4 0.1 pure"],
    ],
)
def test_an_owner_who_raises_and_lowers_after_seeing_answers_never_exceeds_the_greatest_budget(
    limits: list[str],
) -> None:
    value = game(limits, "1/4", 2, AsFormat2())
    assert 0.4 < value <= 1 + 1e-12


def odometer_of(spent: Spent) -> Odometer:
    assert isinstance(spent.together, RenyiComposition)
    return spent.together.odometer


def pledged(odometers: list[Odometer]) -> mpf:
    """What orders may convert, over their delta, when a path may end under any of the odometers.

    An order a that is within its limit is charged w_a of the delta; which limits are in force at the
    end depends on the path, so each order counts with its largest share, all seen from the greatest
    epsilon.
    """
    mpmath.mp.dps = 30
    top, whole = (
        max(pick) for pick in zip(*((o.epsilon, o.delta) for o in odometers), strict=True)
    )
    total = mpf(0)
    for position, order in enumerate(ORDERS):
        shares = []
        for odometer in odometers:
            weight = order_weights(odometer)[position] * odometer.delta / whole
            shares.append(
                mpf(weight.numerator)
                / weight.denominator
                * mpmath.exp((1 - mpf(order)) * float(top - odometer.epsilon))
            )
        total += max(shares)
    return total


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (("3.6", "1e-6"), ("3.61", "1e-6")),
        (("1.36", "1e-6"), ("1.37", "1e-6")),
        (("0.5", "1e-6"), ("0.51", "1e-6")),
        (("1", "2.5e-6"), ("1", "2.6e-6")),
    ],
)
def test_weights_that_followed_a_raise_pledged_more_than_all_of_delta_and_those_kept_do_not(
    first: tuple[str, str], later: tuple[str, str]
) -> None:
    before, after = (RenyiAccountant(Budget(*map(Fraction, words))) for words in (first, later))
    charge = Charge((SelectionEvent(Fraction(1, 8), Fraction(0), 1),), Fraction(1, 8), Fraction(0))
    old = [spent_in_format_1("renyi", rule.budget, []) for rule in (before, after)]
    factor = pledged([odometer_of(spent) for spent in old])
    spent = before.take(Spent(), charge)
    raised = after.take(spent, charge)
    assert odometer_of(raised) == odometer_of(spent)
    assert pledged([odometer_of(spent), odometer_of(raised)]) == pytest.approx(1)
    assert factor > 1.25


def test_a_raise_of_epsilon_keeps_what_was_counted_and_adds_no_more_than_the_difference(
    make_policy: MakePolicy, gaussian: Gaussian
) -> None:
    policy = make_policy(accounting="renyi", analysts={}, coalitions={})
    charge = gaussian("0.9", "1e-9")
    for epsilon in ("4", "6", "5", "6"):
        raised = replace(policy, budget=Budget(Fraction(epsilon), Fraction(1, 10**6)))
        with Ledger.open(raised, TERMS) as ledger:
            before = ledger.balances()[0].spent_upper
            with pytest.raises(BudgetExceeded):
                for number in range(1000):
                    ledger.reserve("ana", digest(number), charge)
            balance = ledger.balances()[0]
            assert before.epsilon <= balance.spent_upper.epsilon
            if epsilon != "5":
                assert float(epsilon) - 0.9 < balance.spent_upper.epsilon <= float(epsilon)
            else:
                assert balance.remaining_lower.epsilon == 0
    found = verify(policy.ledger)
    assert found.sound
    assert float(found.accounts[0].epsilon_spent_upper) == pytest.approx(
        float(balance.spent_upper.epsilon), rel=1e-9
    )


def test_a_lowered_budget_stops_at_the_lower_one_and_the_higher_comes_back_as_it_was(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(accounting="renyi", analysts={}, coalitions={})
    lower = replace(policy, budget=Budget(Fraction(1), Fraction(1, 10**7)))
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("ana", digest(0), laplace("0.5"))
        full = ledger.balances()[0].remaining_lower
    with Ledger.open(lower, TERMS) as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve("ana", digest(1), laplace("0.5"))  # an eighth of the delta was promised
    with Ledger.open(policy, TERMS) as ledger:
        assert ledger.balances()[0].remaining_lower == full
        ledger.reserve("ana", digest(1), laplace("0.5"))
    assert verify(policy.ledger).sound


def test_charges_made_while_accounting_was_pure_stay_paid_one_by_one(
    make_policy: MakePolicy, gaussian: Gaussian
) -> None:
    policy = make_policy(accounting="pure", analysts={}, coalitions={})
    with Ledger.open(policy, TERMS) as ledger:
        for number in range(5):
            ledger.reserve("ana", digest(number), gaussian("0.3", "1e-8"))
    with Ledger.open(replace(policy, accounting="renyi"), TERMS) as ledger:
        assert ledger.balances()[0].spent_upper == Budget(Fraction(3, 2), Fraction(5, 10**8))
        for number in range(5, 25):
            ledger.reserve("ana", digest(number), gaussian("0.3", "1e-8"))
        metered = ledger.balances()[0].spent_upper
        assert Fraction(3, 2) < metered.epsilon < 4
        assert metered.delta == Fraction(5, 10**8) + Fraction(95, 8 * 10**8)
    with Ledger.open(replace(policy, accounting="pure"), TERMS) as ledger:
        assert ledger.balances()[0].spent_upper == metered
        ledger.reserve("ana", digest(25), gaussian("0.3", "1e-8"))
        assert ledger.balances()[0].spent_upper == Budget(
            metered.epsilon + Fraction(3, 10), metered.delta + Fraction(1, 10**8)
        )
    assert verify(policy.ledger).sound


def test_an_account_declared_late_begins_with_what_its_members_had_spent(
    make_policy: MakePolicy, gaussian: Gaussian
) -> None:
    policy = make_policy(accounting="renyi", coalitions={}, analysts={
        "ana": Analyst("ana", None), "bob": Analyst("bob", None),
    })  # fmt: skip
    with Ledger.open(policy, TERMS) as ledger:
        for number in range(8):
            ledger.reserve("ana", digest(number), gaussian("0.2", "1e-9"))
    both = Coalition("both", frozenset({"ana", "bob"}), Budget(Fraction(2), Fraction(1, 10**6)))
    with Ledger.open(replace(policy, coalitions={"both": both}), TERMS) as ledger:
        (words,) = [r.content for r in ledger.records() if r.sequence == 11]
        begins = words["accounts"][1]["spent_before"]  # type: ignore[index]
        balance = ledger.balances()[1]
        assert balance.account == "both"
        assert balance.spent_upper.epsilon == Fraction(begins["epsilon"]) < Fraction(8, 5)
        ledger.reserve("bob", digest(9), gaussian("0.2", "1e-9"))
    assert verify(policy.ledger).sound


@pytest.mark.parametrize("begins", [None, {"epsilon": "1/100", "delta": "1/1000000"}])
def test_an_account_that_forgets_what_its_members_had_spent_is_found(
    begins: dict[str, str] | None, make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(coalitions={})
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("bob", digest(0), laplace("0.5"))
        (limits,) = [r.content for r in ledger.records() if r.kind == "limits"]
    late = {"kind": "analyst", "name": "bob", "members": ["bob"], "epsilon": "1/1", "delta": "0/1"}
    forged = late | ({} if begins is None else {"spent_before": begins})
    accounts = [*limits["accounts"], forged]  # type: ignore[misc]
    sequence = forge(policy, "limits", limits | {"accounts": accounts})
    fault = verify(policy.ledger).fault
    assert fault is not None
    assert (fault.sequence, fault.message) == (
        sequence,
        "the analyst account 'bob' forgets what was spent before",
    )


@settings(max_examples=30, deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 100), max_value=4, max_denominator=100),
    st.integers(1, 60),
    st.sampled_from([Fraction(4), Fraction(1, 2)]),
)
def test_equal_selections_fit_renyi_accounting_whenever_they_fit_pure_accounting(
    epsilon: Fraction, parts: int, whole: Fraction
) -> None:
    budget = Budget(whole, Fraction(1, 10**6))
    delta = budget.delta / parts
    selection = Charge((SelectionEvent(epsilon, delta, 1),), epsilon, delta)
    pure, renyi = PureAccountant(budget), RenyiAccountant(budget)
    one, other = Spent(), Spent()
    while pure.fits(one, selection):
        assert renyi.fits(other, selection)
        one, other = pure.take(one, selection), renyi.take(other, selection)
