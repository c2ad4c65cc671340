"""The auditor alone: what it must find under a chain that is valid, and what it must not."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from account.forging import forge
from sanql.account.accountants.conversion import epsilon_upper, gaussian_rho_lower
from sanql.account.charge import Charge
from sanql.account.events import (
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    event_to_dict,
)
from sanql.account.ledger.chain import Head, Kind, record_after
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.audit.ledger.arithmetic import claim_holds
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy.model import Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]
Gaussian = Callable[[str, str], Charge]

TERMS = {"neighbours": "add-remove"}


def question(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def forge_charge(policy: Policy, charge: dict[str, object]) -> int:
    content = {"analyst": "ana", "charge": charge, "question": question("x"), "time": "2030-01-01"}
    return forge(policy, "reserve", content | {"asked": question("x")})


def fault_of(policy: Policy) -> tuple[int, str]:
    fault = verify(policy.ledger).fault
    assert fault is not None
    return fault.sequence, fault.message


@pytest.fixture
def renyi(make_policy: MakePolicy) -> Policy:
    policy = make_policy(accounting="renyi", analysts={}, coalitions={})
    Ledger.open(policy, TERMS).close()
    return policy


def test_gaussians_beyond_the_filters_limit_are_found(renyi: Policy, gaussian: Gaussian) -> None:
    charge = gaussian("0.5", "1e-9")
    with Ledger.open(renyi, TERMS) as ledger, pytest.raises(BudgetExceeded):
        for i in range(1000):
            ledger.reserve("ana", question(str(i)), charge)
    assert verify(renyi.ledger).sound
    sequence = forge_charge(renyi, charge.to_dict())
    assert fault_of(renyi) == (sequence, "the dataset account 'hospital' exceeds its budget")


def test_leaks_beyond_seven_eighths_of_delta_are_found_once_charges_are_counted_together(
    renyi: Policy, laplace: Laplace
) -> None:
    leaky = Charge((FailureEvent(Fraction(45, 10**8)),), Fraction(1, 100), Fraction(45, 10**8))
    forge_charge(renyi, laplace("0.1").to_dict())
    forge_charge(renyi, leaky.to_dict())
    assert verify(renyi.ledger).sound
    sequence = forge_charge(renyi, leaky.to_dict())
    assert fault_of(renyi) == (sequence, "the dataset account 'hospital' exceeds its budget")


def test_a_gaussian_that_claims_too_little_is_found(renyi: Policy, gaussian: Gaussian) -> None:
    shape = gaussian("0.5", "1e-9").to_dict() | {"epsilon": "49999/100000"}
    sequence = forge_charge(renyi, shape)
    assert fault_of(renyi)[0] == sequence
    assert "do not satisfy" in fault_of(renyi)[1]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("spend", {"reservation": 3, "sha256": "0" * 64}),
        ("spend", {"reservation": 99, "sha256": "0" * 64}),
        ("void", {"reservation": 3}),
        ("void", {}),
        ("open", {"dataset": "hospital", "format": 1, "terms": {}}),
        ("limits", {"accounting": "pure"}),
        ("reserve", {"analyst": "ana"}),
        ("reserve", {"analyst": "ana", "charge": {"epsilon": "1/1", "delta": "0/1"}}),
    ],
)
def test_a_record_that_makes_no_sense_is_found_by_auditor_and_ledger(
    kind: Kind, content: dict[str, Any], make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        ledger.spend(ledger.reserve("ana", question("1"), laplace("0.1")), b"answer")
    sequence = forge(policy, kind, content)
    assert fault_of(policy) == (sequence, "makes no sense after the records before it")
    with pytest.raises(LedgerError, match=f"record {sequence} of the ledger makes no sense"):
        Ledger.open(policy, TERMS)


def test_a_record_replaced_with_a_hash_of_its_own_breaks_the_link_after_it(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        for i in range(3):
            ledger.reserve("ana", question(str(i)), laplace("0.1"))
        records = list(ledger.records())
    before, old = records[2], records[3]
    forged = record_after(
        Head(before.sequence, before.hash), "reserve", old.content | {"analyst": "bob"}
    )
    with closing(sqlite3.connect(policy.ledger)) as connection, connection:
        connection.execute("DROP TRIGGER record_UPDATE")
        connection.execute(
            "UPDATE record SET body = ?, hash = ? WHERE sequence = 4", (forged.body, forged.hash)
        )
    assert fault_of(policy) == (5, "does not follow the record before it")
    with pytest.raises(LedgerError, match="record 5 of the ledger does not follow"):
        Ledger.open(policy, TERMS)


EVENTS = st.one_of(
    st.builds(
        LaplaceEvent,
        st.fractions(min_value=Fraction(1, 2), max_value=10**6, max_denominator=1000),
        st.integers(1, 30),
        st.integers(1, 30),
    ),
    st.builds(
        GaussianEvent,
        st.fractions(min_value=Fraction(1, 2), max_value=10**9, max_denominator=1000),
        st.fractions(min_value=Fraction(1), max_value=20, max_denominator=1000),
    ),
    st.builds(
        SelectionEvent,
        st.fractions(min_value=Fraction(1, 1000), max_value=2, max_denominator=1000),
        st.fractions(min_value=0, max_value=Fraction(1, 10**9)),
        st.integers(1, 5),
    ),
    st.builds(FailureEvent, st.fractions(min_value=0, max_value=Fraction(1, 10**9))),
)
DELTAS = st.fractions(min_value=Fraction(1, 10**7), max_value=Fraction(1, 10))


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=4), DELTAS)
def test_whatever_a_charge_may_claim_the_auditor_grants_and_not_a_millionth_less(
    events: list[Event], delta: Fraction
) -> None:
    epsilon = epsilon_upper(events, delta)
    shapes = [event_to_dict(event) for event in events]
    assert claim_holds(shapes, epsilon, delta)
    assert epsilon == 0 or not claim_holds(shapes, epsilon * Fraction(999_999, 10**6), delta)


@settings(max_examples=10, deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=100),
    st.fractions(min_value=Fraction(1, 10**15), max_value=Fraction(1, 10)),
)
def test_a_gaussian_planned_to_the_limit_is_granted_by_the_auditor(
    epsilon: Fraction, delta: Fraction
) -> None:
    rho = gaussian_rho_lower(epsilon, delta)
    charge = Charge((GaussianEvent(1 / (2 * rho), Fraction(1)),), epsilon, delta)
    assert claim_holds([event_to_dict(event) for event in charge.events], epsilon, delta)
