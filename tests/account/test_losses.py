"""Records that are missing: what they cost each account, by the books and by the auditor."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from account.forging import forge
from sanql.account.charge import Charge
from sanql.account.claims.losses import Loss
from sanql.account.ledger.budget_limits import BudgetLimits
from sanql.account.ledger.chain import Head, read_head
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy.model import Analyst, Budget, Coalition, Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]
Gaussian = Callable[[str, str], Charge]

TERMS = {"neighbours": "add-remove"}
LOST = Head(40, "f" * 64)


def question(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def loss_of(policy: Policy, spent: Budget | None = None, **changes: Any) -> Loss:
    head = read_head(policy.ledger)
    assert head is not None
    declares = BudgetLimits.of(policy).accounts
    return replace(Loss(head, (LOST,), declares, spent, "why", "root", ""), **changes)


def lose(policy: Policy, spent: Budget | None = None, **changes: Any) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        ledger.owner.accept_loss(loss_of(policy, spent, **changes))


def remaining(policy: Policy) -> dict[str, Budget]:
    with Ledger.open(policy, TERMS) as ledger:
        return {each.account: each.remaining_lower for each in ledger.balances()}


def spend(policy: Policy, charge: Charge, *names: str, analyst: str = "ana") -> None:
    with Ledger.open(policy, TERMS) as ledger:
        for name in names:
            ledger.spend(ledger.reserve(analyst, question(name), charge), b"answer")


NOTHING = Budget(Fraction(0), Fraction(0))


@pytest.mark.parametrize("accounting", ["pure", "renyi"])
def test_where_nobody_says_how_much_every_account_has_nothing_left(
    make_policy: MakePolicy, laplace: Laplace, gaussian: Gaussian, accounting: str
) -> None:
    policy = make_policy(accounting=accounting)
    spend(policy, laplace("0.25"), "one")
    spend(policy, gaussian("0.1", "1e-9"), "two", "three", analyst="bob")
    lose(policy)
    assert set(remaining(policy).values()) == {NOTHING}
    with Ledger.open(policy, TERMS) as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve("bob", question("four"), laplace("0.001"))
    found = verify(policy.ledger)
    assert found.sound and found.losses[0].missing == 40 - found.losses[0].kept
    spent = {each.name: each.epsilon_spent_upper for each in found.accounts}
    assert spent == {"hospital": 4, "ana": 1, "both": 2}


def test_what_a_budget_is_raised_by_afterwards_comes_on_top(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(coalitions={})
    lose(policy)
    raised = replace(
        policy,
        budget=Budget(Fraction(5), Fraction(1, 10**6)),
        analysts={"ana": Analyst("ana", Budget(Fraction(2), Fraction(1, 10**7)))},
    )
    assert remaining(raised)["hospital"].epsilon == remaining(raised)["ana"].epsilon == 1
    spend(raised, laplace("1"), "one")
    assert verify(raised.ledger).sound
    with Ledger.open(raised, TERMS) as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve("ana", question("two"), laplace("0.001"))


def test_a_budget_that_was_greater_once_counts_though_it_was_lowered(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy(analysts={}, coalitions={})
    Ledger.open(policy, TERMS).close()
    lower = replace(policy, budget=Budget(Fraction(1), Fraction(0)))
    lose(lower)
    back = replace(policy, budget=Budget(Fraction(6), Fraction(1, 10**6)))
    assert remaining(back)["hospital"].epsilon == 2, "of 6, the 4 that were once allowed are spent"
    assert verify(policy.ledger).sound


def test_what_was_spent_beyond_a_budget_counts_though_no_budget_allowed_it(
    make_policy: MakePolicy,
) -> None:
    """As a merger or an earlier loss leaves it."""
    policy = make_policy(analysts={}, coalitions={})
    lose(policy, Budget(Fraction(5), Fraction(0)))
    lose(policy)
    raised = replace(policy, budget=Budget(Fraction(6), Fraction(1, 10**6)))
    assert remaining(raised)["hospital"].epsilon == 1
    found = verify(raised.ledger)
    assert found.sound and found.accounts[0].epsilon_spent_upper == 5


def test_a_budget_that_only_the_policy_has_counts_too(make_policy: MakePolicy) -> None:
    """Records that are missing may have raised it."""
    policy = make_policy(analysts={}, coalitions={})
    Ledger.open(policy, TERMS).close()
    raised = replace(policy, budget=Budget(Fraction(9), Fraction(1, 10**6)))
    lose(policy, declares=BudgetLimits.of(raised).accounts)
    assert remaining(raised)["hospital"] == NOTHING
    found = verify(policy.ledger)
    assert found.sound and found.accounts[0].epsilon_spent_upper == 9


@pytest.mark.parametrize("accounting", ["pure", "renyi"])
def test_what_the_owner_states_is_paid_in_every_account(
    make_policy: MakePolicy, laplace: Laplace, accounting: str
) -> None:
    policy = make_policy(accounting=accounting)
    spend(policy, laplace("0.25"), "one")
    before = remaining(policy)
    lose(policy, Budget(Fraction(1, 2), Fraction(1, 10**8)))
    after = remaining(policy)
    assert {name: before[name].epsilon - after[name].epsilon for name in before} == dict.fromkeys(
        before, Fraction(1, 2)
    )
    assert all(before[name].delta - after[name].delta >= Fraction(1, 10**8) for name in before)
    assert verify(policy.ledger).sound


@pytest.mark.parametrize("stated", [None, Budget(Fraction(1, 2), Fraction(0))])
def test_an_account_that_is_declared_later_begins_with_what_was_lost(
    make_policy: MakePolicy, laplace: Laplace, stated: Budget | None
) -> None:
    """Whoever it is for may have been the one who asked."""
    policy = make_policy(analysts={}, coalitions={})
    spend(policy, laplace("0.25"), "one")
    lose(policy, stated)
    late = replace(
        policy,
        analysts={"zoe": Analyst("zoe", Budget(Fraction(5), Fraction(1, 10**6)))},
        coalitions={
            "all": Coalition(
                "all", frozenset({"ana", "zoe"}), Budget(Fraction(5), Fraction(1, 10**6))
            )
        },
    )
    left = remaining(late)
    lost = Fraction(4) if stated is None else stated.epsilon
    assert left["zoe"].epsilon == 5 - lost and left["all"].epsilon == 5 - lost - Fraction(1, 4)
    assert verify(late.ledger).sound


def test_a_head_that_was_given_up_is_known_and_any_other_is_still_missed(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy(head=make_policy().ledger.parent / "second.head")
    Ledger.open(policy, TERMS).close()
    policy_head = policy.head
    assert policy_head is not None
    lose(policy)
    for head, known in ((LOST, True), (Head(41, "f" * 64), False), (Head(40, "e" * 64), False)):
        policy_head.write_text(f'{{"hash":"{head.hash}","sequence":{head.sequence}}}\n')
        found = verify(policy.ledger, lambda _: [policy_head])
        assert found.sound is known
        if known:
            Ledger.open(policy, TERMS).close()
        else:
            with pytest.raises(LedgerError) as error:
                Ledger.open(policy, TERMS)
            assert error.value.code == "ledger_rolled_back"


FORGERIES: dict[str, dict[str, object]] = {
    "nothing is missing": {"lost": []},
    "a head that is none": {"lost": [{"hash": "x", "sequence": 40}]},
    "a record that is not of this chain": {"kept": {"hash": "a" * 64, "sequence": 2}},
    "less than nothing": {"spent": {"delta": "0", "epsilon": "-1"}},
    "a word too many": {"more": 1},
    "no reason": {"reason": None},
    "accounts that are none": {"declares": [{"kind": "dataset"}]},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_loss_that_makes_no_sense_is_found(make_policy: MakePolicy, forgery: str) -> None:
    policy = make_policy()
    Ledger.open(policy, TERMS).close()
    content = loss_of(policy).to_dict() | {"time": "2026-01-01T00:00:00+00:00"}
    sequence = forge(policy, "restore", content | FORGERIES[forgery])
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence
    if forgery != "a record that is not of this chain":  # which only the auditor remembers
        with pytest.raises(LedgerError, match=f"record {sequence} "):
            Ledger.open(policy, TERMS)


@pytest.mark.parametrize("begins", [None, {"delta": "0/1", "epsilon": "1/4"}])
def test_an_account_that_forgets_what_was_lost_is_found(
    make_policy: MakePolicy, laplace: Laplace, begins: dict[str, str] | None
) -> None:
    policy = make_policy(analysts={}, coalitions={})
    spend(policy, laplace("0.25"), "one", analyst="zoe")
    lose(policy, Budget(Fraction(1, 2), Fraction(0)))
    late = replace(policy, analysts={"zoe": Analyst("zoe", Budget(Fraction(1), Fraction(0)))})
    words = BudgetLimits.of(late).to_dict() | {"author": "root", "time": "2026-01-01T00:00:00"}
    if begins is not None:
        words["accounts"][1]["spent_before"] = begins
    sequence = forge(policy, "limits", words)
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence and "forgets" in fault.message


def test_a_charge_after_everything_was_lost_is_found(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    lose(policy)
    asked = {"analyst": "ana", "asked": question("x"), "question": question("x")}
    content = asked | {"charge": laplace("0.001").to_dict(), "time": "2026-01-01T00:00:00+00:00"}
    sequence = forge(policy, "reserve", content)
    fault = verify(policy.ledger).fault
    assert fault is not None and (fault.sequence, "exceeds" in fault.message) == (sequence, True)


@pytest.mark.slow
@given(
    steps=st.lists(
        st.one_of(
            st.sampled_from(["1/10", "1/3", "2"]),
            st.none(),
            st.builds(Budget, st.fractions(0, 1, max_denominator=8), st.just(Fraction(0))),
            st.integers(1, 6),
        ),
        max_size=6,
    ),
    accounting=st.sampled_from(["pure", "renyi"]),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_auditor_never_finds_more_left_than_the_books_or_a_fault(
    tmp_path_factory: pytest.TempPathFactory,
    make_policy: MakePolicy,
    laplace: Laplace,
    steps: list[object],
    accounting: str,
) -> None:
    """Charges, losses stated and not, and budgets up and down, in any order."""
    ledger = tmp_path_factory.mktemp("losses") / "hospital.ledger"
    policy = make_policy(ledger=ledger, accounting=accounting, coalitions={})
    Ledger.open(policy, TERMS).close()
    for number, step in enumerate(steps):
        match step:
            case str(epsilon):
                with contextlib.suppress(BudgetExceeded):
                    spend(policy, laplace(epsilon), str(number))
            case int(epsilon):
                policy = replace(policy, budget=Budget(Fraction(epsilon), Fraction(1, 10**6)))
            case Budget() | None as stated:
                lose(policy, stated)
    left = remaining(policy)
    found = verify(policy.ledger)
    assert found.sound, found.fault
    for account in found.accounts:
        budget = {"hospital": policy.budget.epsilon, "ana": Fraction(1)}[account.name]
        assert left[account.name].epsilon <= max(
            0, budget - account.epsilon_spent_upper + Fraction(1, 10**6)
        )
