"""Every format ever written is verified and honoured; a later version goes on by appending."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from account.forging import forge, forge_opening
from sanql.account.charge import Charge
from sanql.account.ledger.chain import (
    FORMAT_OF_KINDS,
    FORMAT_OF_TRANCHES,
    LEDGER_FORMAT,
    LEDGER_FORMATS,
    head_path,
)
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy import load
from sanql.policy.model import Policy

Laplace = Callable[[str], Charge]
MakePolicy = Callable[..., Policy]

FIXTURES = Path(__file__).parent / "fixtures"
OLD = sorted(
    path.parent
    for number in LEDGER_FORMATS
    if number < LEDGER_FORMAT  # later ones are of other datasets
    for path in FIXTURES.glob(f"format_{number}/*/town.ledger")
)
TERMS = {"neighbours": "add-remove"}


@pytest.fixture(params=OLD, ids=lambda path: f"{path.parent.name}-{path.name}")
def town(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a ledger that an earlier version left, with its policy and data."""
    return Path(shutil.copytree(request.param, tmp_path / "town"))


def recorded(town: Path) -> dict[str, Any]:
    """Return what its version said of a ledger; the second says the hash of each record too."""
    said = json.loads((town / "recorded.json").read_text())
    return {"kinds": [kind for kind, _ in said.get("records", [])]} | said


def opened(town: Path) -> Ledger:
    policy = load(town / "policy.toml")
    return Ledger.open(policy, account_terms(policy))


def kinds(town: Path) -> list[str]:
    with closing(sqlite3.connect(town / "town.ledger")) as connection:
        return [kind for (kind,) in connection.execute("SELECT kind FROM record ORDER BY sequence")]


def columns_join(town: Path) -> list[str]:
    """Return the record by which columns come on record, where the format had none."""
    with opened(town) as ledger:
        return ["tables"] if ledger.begun < 3 else []


def test_there_is_a_ledger_of_every_format() -> None:
    folders = {path.parent.parent.name for path in FIXTURES.glob("format_*/*/town.ledger")}
    assert folders == {f"format_{number}" for number in LEDGER_FORMATS}
    assert tuple(range(1, FORMAT_OF_TRANCHES + 1)) == LEDGER_FORMATS


def test_the_auditor_finds_an_old_ledger_sound_and_its_balances_as_they_were(town: Path) -> None:
    found, then = verify(town / "town.ledger"), recorded(town)
    assert found.sound
    assert found.records == then["verified"]["records"] == len(then["kinds"])
    for now, old in zip(found.accounts, then["balances"], strict=True):
        assert (now.kind, now.name) == (old["kind"], old["account"])
        assert float(now.epsilon_spent_upper) == pytest.approx(
            float(Fraction(old["epsilon_spent_upper"])), rel=1e-9
        )
        assert now.delta_spent_upper == Fraction(old["delta_spent_upper"])


def test_reading_an_old_ledger_tells_what_it_told_and_writes_nothing(town: Path) -> None:
    before = head_path(town / "town.ledger").read_bytes()
    with opened(town) as ledger:
        for now, old in zip(ledger.balances(), recorded(town)["balances"], strict=True):
            assert (now.kind, now.account, now.reserved) == (
                old["kind"],
                old["account"],
                old["reserved"],
            )
            assert now.spent_upper.epsilon == Fraction(old["epsilon_spent_upper"])
            assert now.spent_upper.delta == Fraction(old["delta_spent_upper"])
        assert ledger.find("ben", "2" * 64) in (b"gaussian", b"answered by hand: 2")
        assert [entry.claim.name for entry in ledger.exact.entries()] == ["score"]
        assert [record.kind for record in ledger.records()] == recorded(town)["kinds"]
    assert kinds(town) == recorded(town)["kinds"]
    assert head_path(town / "town.ledger").read_bytes() == before


@pytest.mark.slow
def test_the_first_write_appends_the_new_format_and_what_was_spent_stays_spent(
    town: Path, laplace: Laplace
) -> None:
    with opened(town) as ledger:
        before = {balance.account: balance.spent_upper for balance in ledger.balances()}
        ledger.void(ledger.reserve("ana", "a" * 64, laplace("0.01")), reason="cancelled")
        ledger.reserve("ana", "b" * 64, laplace("0.01"))
        after = {balance.account: balance.spent_upper for balance in ledger.balances()}
    more = ["format", *columns_join(town), "reserve", "void", "reserve"]
    assert kinds(town) == [*recorded(town)["kinds"], *more]
    assert all(after[name].epsilon > before[name].epsilon for name in ("town", "ana", "both"))
    found = verify(town / "town.ledger")
    assert found.sound
    assert found.records == len(recorded(town)["kinds"]) + len(more)
    with opened(town) as ledger:
        assert {balance.account: balance.spent_upper for balance in ledger.balances()} == after


@pytest.mark.slow
def test_a_refused_question_leaves_an_old_ledger_as_it_is(town: Path, laplace: Laplace) -> None:
    with opened(town) as ledger:
        for _ in range(2):
            with pytest.raises(BudgetExceeded):
                ledger.reserve("ana", "a" * 64, laplace("100"))
        assert [record.kind for record in ledger.records()] == recorded(town)["kinds"]
    assert kinds(town) == recorded(town)["kinds"]


@pytest.mark.slow
def test_two_that_opened_an_old_ledger_write_one_format_record(
    town: Path, laplace: Laplace
) -> None:
    with opened(town) as one, opened(town) as other:
        one.reserve("ana", "a" * 64, laplace("0.01"))
        other.reserve("ana", "b" * 64, laplace("0.01"))
        one.reserve("ana", "c" * 64, laplace("0.01"))
    more = ["format", *columns_join(town), "reserve", "reserve", "reserve"]
    assert kinds(town) == [*recorded(town)["kinds"], *more]
    assert verify(town / "town.ledger").sound


def test_a_new_ledger_is_of_the_newest_format(make_policy: MakePolicy) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        records = list(ledger.records())
    assert [record.kind for record in records] == ["open", "limits"]
    assert records[0].content["format"] == LEDGER_FORMAT


@pytest.mark.parametrize("written", [7, 99, 0, -1, "2", None, True, 2.0])
def test_a_format_that_nobody_has_written_is_refused_by_name_and_nothing_is_written(
    written: object, make_policy: MakePolicy
) -> None:
    policy = make_policy()
    forge_opening(policy, {"dataset": "hospital", "format": written, "terms": TERMS})
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            Ledger.open(policy, TERMS)
        assert error.value.code == "ledger_format_unknown"
        assert f"in format {written}" in error.value.message
        assert "newer" in error.value.remedy
    fault = verify(policy.ledger).fault
    assert fault is not None and f"format {written}" in fault.message


def test_a_ledger_that_went_on_in_an_unknown_format_is_refused_by_name(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy()
    Ledger.open(policy, TERMS).close()
    forge(policy, "format", {"format": FORMAT_OF_TRANCHES + 1})
    forge(policy, "novelty", {"whatever": "comes"})
    with pytest.raises(LedgerError) as error:
        Ledger.open(policy, TERMS)
    assert error.value.code == "ledger_format_unknown"
    fault = verify(policy.ledger).fault
    assert fault is not None and (
        fault.sequence,
        f"format {FORMAT_OF_TRANCHES + 1}" in str(fault),
    ) == (
        3,
        True,
    )


@pytest.mark.parametrize("content", [{"format": 3}, {"format": 4}, {"format": 4, "more": 1}, {}])
def test_a_ledger_never_goes_on_in_its_own_or_an_earlier_format(
    content: dict[str, Any], make_policy: MakePolicy
) -> None:
    policy = make_policy()
    Ledger.open(policy, TERMS).close()
    sequence = forge(policy, "format", content)
    with pytest.raises(LedgerError, match=f"record {sequence} of the ledger makes no sense"):
        Ledger.open(policy, TERMS)
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.message == "makes no sense after the records before it"


def test_no_ledger_goes_on_with_kinds_of_unit_that_it_did_not_begin_with(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy()
    Ledger.open(policy, TERMS).close()
    forge(policy, "format", {"format": FORMAT_OF_KINDS})
    with pytest.raises(LedgerError) as error:
        Ledger.open(policy, TERMS)
    assert error.value.code == "ledger_damaged"
    assert verify(policy.ledger).fault is not None
