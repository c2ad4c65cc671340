"""What owners do is on record: claims, second heads, moves, mergers and ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from account.forging import forge
from sanql.account.charge import Charge
from sanql.account.ledger.chain import head_path
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy.model import Policy

Laplace = Callable[[str], Charge]
MakePolicy = Callable[..., Policy]
TERMS = {"neighbours": "add-remove"}
TIME = "2026-11-16T12:00:00+00:00"
NAME = "0123456789abcdef" * 2


def opened(policy: Policy) -> Ledger:
    return Ledger.open(policy, TERMS)


def kinds(ledger: Ledger) -> list[str]:
    return [record.kind for record in ledger.records()]


def test_an_account_is_named_by_its_first_claim_and_claims_each_source_once(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy()
    with opened(policy) as ledger:
        assert ledger.owner.state.account is None
        name = ledger.owner.claim(Path("/data"), [])
        assert ledger.owner.claim(Path("/data"), []) == name
        assert ledger.owner.claim(Path("/more"), [NAME]) == name
        assert kinds(ledger) == ["open", "limits", "claim", "claim"]
    with opened(policy) as again:
        assert again.owner.state.account == name
        assert again.owner.state.sources == {"/data", "/more"}
    assert verify(policy.ledger).sound


def test_two_accounts_never_have_one_name(make_policy: MakePolicy, tmp_path: Path) -> None:
    names = set()
    for number in range(8):
        with opened(make_policy(ledger=tmp_path / f"{number}.ledger")) as ledger:
            names.add(ledger.owner.claim(Path("/data"), []))
    assert len(names) == 8


FORGED: dict[str, tuple[str, dict[str, Any]]] = {
    "a claim for another account": (
        "claim",
        {"account": NAME, "after": [], "source": "/data", "time": TIME},
    ),
    "a claim without a source": ("claim", {"account": NAME, "after": [], "time": TIME}),
    "a claim at no time": (
        "claim",
        {"account": NAME, "after": [], "source": "/data", "time": "soon"},
    ),
    "a merger with itself": (
        "merge",
        {"account": "self", "charges": [], "hash": "0" * 64, "sequence": 1, "time": TIME},
    ),
    "a merger whose charges are no charges": (
        "merge",
        {
            "account": NAME,
            "charges": [{"analyst": "ana", "charge": {"epsilon": "1/1"}}],
            "hash": "0" * 64,
            "sequence": 1,
            "time": TIME,
        },
    ),
    "an end nobody has heard of": (
        "retire",
        {"into": None, "reason": "", "statement": "forgotten", "time": TIME},
    ),
    "a merger into nothing": (
        "retire",
        {"into": None, "reason": "", "statement": "merged", "time": TIME},
    ),
    "a move with more in it": ("move", {"ledger": "/x", "more": 1, "time": TIME}),
    "a pin without a place": ("pin", {"time": TIME}),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=list(FORGED))
def test_records_that_make_no_sense_are_found_by_the_accounts_and_by_the_auditor(
    forged: tuple[str, dict[str, Any]], make_policy: MakePolicy
) -> None:
    policy = make_policy()
    with opened(policy) as ledger:
        name = ledger.owner.claim(Path("/data"), [])
    kind, content = forged
    sequence = forge(
        policy, kind, content | ({"account": name} if "self" in content.values() else {})
    )
    with pytest.raises(LedgerError, match=f"record {sequence} "):
        opened(policy)
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence


# The second head.


def test_the_head_is_pinned_in_a_second_place_with_every_charge(
    make_policy: MakePolicy, laplace: Laplace, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    policy = make_policy(head=tmp_path / "disk" / "hospital.head")
    for digest in "ab":
        with opened(policy) as ledger:
            ledger.void(ledger.reserve("ana", digest * 64, laplace("0.1")), reason="cancelled")
        assert policy.head.read_bytes() == head_path(policy.ledger).read_bytes()  # type: ignore[union-attr]
    assert verify(policy.ledger).sound


def test_a_second_head_may_be_named_later_and_elsewhere_and_each_change_is_recorded(
    make_policy: MakePolicy, laplace: Laplace, tmp_path: Path
) -> None:
    for head in (None, tmp_path / "one.head", tmp_path / "two.head", None, None):
        policy = make_policy(head=head)
        opened(policy).close()
    with opened(policy) as ledger:
        assert kinds(ledger) == ["open", "limits", "pin", "pin", "pin"]
    assert verify(policy.ledger).sound


def test_a_ledger_deleted_or_put_back_is_told_by_its_second_head(
    make_policy: MakePolicy, laplace: Laplace, tmp_path: Path
) -> None:
    policy = make_policy(head=tmp_path / "second.head")
    files = (policy.ledger, head_path(policy.ledger))
    opened(policy).close()
    old = [path.read_bytes() for path in files]
    with opened(policy) as ledger:
        ledger.reserve("ana", "a" * 64, laplace("1"))
    for path, bytes_then in zip(files, old, strict=True):
        path.write_bytes(bytes_then)
    with pytest.raises(LedgerError) as error:
        opened(policy)
    assert error.value.code == "ledger_rolled_back"
    for path in files:
        path.unlink()
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            opened(policy)
        assert error.value.code == "ledger_missing"
        assert not policy.ledger.exists()


def test_a_second_head_that_is_gone_is_missed_also_where_the_policy_forgets_it(
    make_policy: MakePolicy, laplace: Laplace, tmp_path: Path
) -> None:
    head = tmp_path / "second.head"
    with opened(make_policy(head=head)) as ledger:
        ledger.reserve("ana", "a" * 64, laplace("0.1"))
    head.unlink()
    for policy in (make_policy(head=head), make_policy(), make_policy(head=tmp_path / "new.head")):
        with pytest.raises(LedgerError) as error:
            opened(policy)
        assert error.value.code == "ledger_head_missing"


def test_the_second_head_of_another_ledger_is_refused(
    make_policy: MakePolicy, tmp_path: Path
) -> None:
    head = tmp_path / "second.head"
    with opened(make_policy(head=head)) as ledger:
        ledger.owner.claim(Path("/data"), [])
    with pytest.raises(LedgerError) as error:
        opened(make_policy(ledger=tmp_path / "other.ledger", head=head))
    assert error.value.code == "ledger_missing"
    other = make_policy(ledger=tmp_path / "third.ledger")
    with opened(other) as third:
        third.owner.claim(Path("/data"), [])
        third.owner.claim(Path("/more"), [])
    with pytest.raises(LedgerError) as error:
        opened(make_policy(ledger=tmp_path / "third.ledger", head=head))
    assert error.value.code == "ledger_damaged"


def test_a_second_place_that_cannot_be_written_stops_the_ledger(
    make_policy: MakePolicy, tmp_path: Path
) -> None:
    with pytest.raises(LedgerError) as error:
        opened(make_policy(head=tmp_path / "nowhere" / "second.head"))
    assert error.value.code == "ledger_unwritable"
    assert f"there is no folder {str(tmp_path / 'nowhere')!r}" in error.value.message


# Mergers and ends.


def test_a_closed_account_takes_no_more_charges_and_keeps_its_answers(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with opened(policy) as ledger:
        ledger.spend(ledger.reserve("ana", "a" * 64, laplace("0.5")), b"cells")
        ledger.owner.retire("closed", "the study is over")
        with pytest.raises(LedgerError) as error:
            ledger.reserve("ana", "b" * 64, laplace("0.1"))
        assert error.value.code == "account_retired"
    with opened(policy) as again:
        assert again.find("ana", "a" * 64) == b"cells"
        with pytest.raises(LedgerError, match="closed by its owner"):
            again.reserve("ana", "b" * 64, laplace("0.1"))
    assert verify(policy.ledger).sound
    sequence = forge(policy, "limits", {"accounting": "pure", "accounts": []})
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence
    with pytest.raises(LedgerError, match=f"record {sequence} "):
        opened(policy)


@pytest.mark.parametrize("accounting", ["pure", "renyi"])
def test_a_merger_counts_every_charge_of_both_and_is_made_once(
    accounting: str, make_policy: MakePolicy, laplace: Laplace, tmp_path: Path
) -> None:
    policy = make_policy(accounting=accounting)
    other = make_policy(accounting=accounting, ledger=tmp_path / "other.ledger")
    with opened(policy) as ledger, opened(other) as giving:
        name = ledger.owner.claim(Path("/data"), [])
        giving.owner.claim(Path("/data"), [])
        ledger.reserve("ana", "a" * 64, laplace("0.25"))
        giving.reserve("ana", "b" * 64, laplace("0.5"))
        giving.reserve("bob", "c" * 64, laplace("0.125"))
        bequest = giving.owner.bequeath(name)
        ledger.owner.inherit(bequest)
        assert giving.owner.bequeath(name) == bequest
        ledger.owner.inherit(bequest)
        assert kinds(ledger).count("merge") == 1
    together = make_policy(accounting=accounting, ledger=tmp_path / "together.ledger")
    with opened(policy) as ledger, opened(together) as oracle:
        for analyst, digest, epsilon in (
            ("ana", "a", "0.25"),
            ("ana", "b", "0.5"),
            ("bob", "c", "0.125"),
        ):
            oracle.reserve(analyst, digest * 64, laplace(epsilon))
        for now, expected in zip(ledger.balances(), oracle.balances(), strict=True):
            assert now.spent_upper == expected.spent_upper
        with pytest.raises(BudgetExceeded):
            ledger.reserve("ana", "d" * 64, laplace("0.5"))
    assert verify(policy.ledger).sound and verify(other.ledger).sound
    counted = verify(policy.ledger).accounts[0]
    assert counted.charges == 3


def test_a_merger_may_take_more_than_the_budget_and_then_nothing_more_is_answered(
    make_policy: MakePolicy, laplace: Laplace, tmp_path: Path
) -> None:
    policy, other = make_policy(), make_policy(ledger=tmp_path / "other.ledger")
    with opened(policy) as ledger, opened(other) as giving:
        name = ledger.owner.claim(Path("/data"), [])
        giving.owner.claim(Path("/data"), [])
        ledger.reserve("ana", "a" * 64, laplace("1"))
        giving.reserve("ana", "a" * 64, laplace("1"))
        ledger.owner.inherit(giving.owner.bequeath(name))
        ana = next(balance for balance in ledger.balances() if balance.account == "ana")
        assert ana.spent_upper.epsilon == 2
        with pytest.raises(BudgetExceeded):
            ledger.reserve("ana", "b" * 64, laplace("0.001"))
    assert verify(policy.ledger).sound


def test_an_account_is_merged_into_one_other_and_no_second(
    make_policy: MakePolicy, tmp_path: Path
) -> None:
    with opened(make_policy()) as giving:
        giving.owner.claim(Path("/data"), [])
        giving.owner.bequeath(NAME)
        with pytest.raises(LedgerError) as error:
            giving.owner.bequeath(NAME[::-1])
        assert error.value.code == "account_retired"


def test_what_an_account_has_taken_over_is_handed_on(
    make_policy: MakePolicy, laplace: Laplace, tmp_path: Path
) -> None:
    first, second, third = (
        opened(make_policy(ledger=tmp_path / f"{number}.ledger")) for number in "123"
    )
    for number, ledger in enumerate((first, second, third)):
        ledger.owner.claim(Path("/data"), [])
        ledger.reserve("ana", f"{number}" * 64, laplace("0.25"))
    for giving, taking in ((first, second), (second, third)):
        taking.owner.inherit(giving.owner.bequeath(str(taking.owner.state.account)))
    assert third.balances()[0].spent_upper.epsilon == laplace("0.75").epsilon
    for ledger in (first, second, third):
        ledger.close()
    assert verify(tmp_path / "3.ledger").sound
