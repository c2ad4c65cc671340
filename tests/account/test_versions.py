"""Versions of the data: one after another, tables added once, and the exact book of 0.1.0 kept shut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from account.forging import forge, forge_opening
from sanql.account.ledger.exact_book import ExactClaim
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.state import BudgetLimits
from sanql.audit.ledger import verify
from sanql.errors import LedgerError, Refused
from sanql.policy.exact.footprint import Footprint
from sanql.policy.model import Policy

MakePolicy = Callable[..., Policy]
TERMS = {"neighbours": "add-remove"}
A, B = {"people": "a" * 64}, {"people": "b" * 64}
TOWNS = {"towns": "c" * 64}
WHOLE = {".": "d" * 64}
FORMERLY = "0123456789" * 4
TIME = "2026-01-01T00:00:00+00:00"

RELEASED = ExactClaim(
    Footprint("income", "people", "income", ("age",)),
    declaration="d1",
    source=FORMERLY,
    partition=("region",),
    cells=4,
    epsilon=Fraction(1, 10),
    delta=Fraction(1, 10**9),
    certificate={},
)
LATER = replace(
    RELEASED,
    footprint=Footprint("age", "people", "age", ("income",)),
    declaration="d2",
    source="version 1",
)


def opened(number: int, stamps: dict[str, str], **more: str) -> dict[str, Any]:
    return {"version": number, "stamps": stamps, "time": TIME, **more}


def begin(policy: Policy, form: int) -> None:
    forge_opening(policy, {"dataset": policy.name, "format": form, "terms": TERMS})
    limits = BudgetLimits.of(policy).to_dict()
    del limits["second_signature"]  # a word that these formats do not have
    forge(policy, "limits", limits)
    if form == 1:
        forge(policy, "exact", RELEASED.to_dict() | {"analyst": "ana", "time": TIME})
        forge(policy, "format", {"format": 2})


SOUND = [
    (2, [opened(1, A)]),
    (2, [opened(1, A), opened(2, A), opened(3, B)]),
    (2, [opened(1, A), opened(1, TOWNS), opened(2, A | TOWNS)]),
    (2, [opened(1, WHOLE), opened(2, A)]),
    (1, [opened(1, A, formerly=FORMERLY), opened(2, B)]),
    (1, [opened(2, B)]),
]
WRONG = [
    (2, [opened(2, A)]),
    (2, [opened(1, A), opened(3, A)]),
    (2, [opened(1, A), opened(1, B)]),
    (2, [opened(1, A), opened(1, WHOLE)]),
    (2, [opened(1, WHOLE), opened(1, A)]),
    (2, [opened(1, WHOLE | A)]),
    (2, [opened(1, {})]),
    (2, [opened(1, {"people": "a"})]),
    (2, [opened(1, A, formerly=FORMERLY)]),
    (2, [opened(1, A, more="x")]),
    (2, [opened(2, A), opened(1, A)]),
    (1, [opened(3, A)]),
]


@pytest.mark.parametrize(("form", "records"), SOUND)
def test_versions_are_opened_one_after_another(
    make_policy: MakePolicy, form: int, records: list[dict[str, Any]]
) -> None:
    policy = make_policy()
    begin(policy, form)
    for record in records:
        forge(policy, "version", record)
    assert verify(policy.ledger).sound
    with Ledger.open(policy, TERMS) as ledger:
        version = ledger.versions.newest()
        assert version is not None and version.number == records[-1]["version"]


@pytest.mark.parametrize(("form", "records"), WRONG)
def test_anything_else_is_found_by_the_accounts_and_by_the_auditor(
    make_policy: MakePolicy, form: int, records: list[dict[str, Any]]
) -> None:
    policy = make_policy()
    begin(policy, form)
    for record in records:
        forge(policy, "version", record)
    assert not verify(policy.ledger).sound
    with pytest.raises(LedgerError), Ledger.open(policy, TERMS) as ledger:
        ledger.versions.newest()


def test_a_source_with_other_stamps_is_refused_until_the_next_version(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        assert ledger.versions.check(A, "") is None
        assert ledger.versions.keep(A, "").number == 1
        assert ledger.versions.keep(A | TOWNS, "").number == 1
        for changed in (B, A | {"towns": "e" * 64}, WHOLE):
            for ask in (ledger.versions.check, ledger.versions.keep):
                with pytest.raises(Refused) as caught:
                    ask(changed, "")
                assert caught.value.code == "source_changed"
        assert ledger.versions.open(B).number == 2
        assert ledger.versions.keep(B, "").number == 2
    assert verify(policy.ledger).sound


def test_an_exact_release_of_0_1_0_whose_source_still_matches_is_of_version_1(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy()
    begin(policy, 1)
    with Ledger.open(policy, TERMS) as ledger:
        assert ledger.versions.keep(A, FORMERLY).formerly == FORMERLY
        ledger.exact.spend(ledger.exact.reserve("ana", LATER), b"ages")
        ledger.versions.open(A)
        with pytest.raises(Refused) as caught:
            ledger.exact.reserve("ana", replace(RELEASED, source="version 2"))
        assert caught.value.code == "exact_source_changed"
    assert verify(policy.ledger).sound


def test_an_exact_release_of_0_1_0_from_another_source_stays_the_only_one(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy()
    begin(policy, 1)
    with Ledger.open(policy, TERMS) as ledger:
        with pytest.raises(Refused) as caught:
            ledger.versions.keep(A, "9876543210" * 4)
        assert caught.value.code == "source_changed"
        assert ledger.versions.open(A).number == 2
        with pytest.raises(Refused) as caught:
            ledger.exact.reserve("ana", replace(LATER, source="version 2"))
        assert caught.value.code == "exact_source_changed"
    assert verify(policy.ledger).sound
