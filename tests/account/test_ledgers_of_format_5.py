"""Ledgers of format 5: of a dataset with several kinds of privacy unit, each with accounts of its own."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from account.forging import forge
from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy import load

FIXTURE = Path(__file__).parent / "fixtures" / "format_5" / "hospital"
TENTH = Fraction(1, 10)


@pytest.fixture
def town(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "town"))


def opened(town: Path) -> Ledger:
    policy = load(town / "policy.toml")
    return Ledger.open(policy, account_terms(policy))


def recorded(town: Path) -> Any:
    return json.loads((town / "recorded.json").read_text())


def spent(balances: list[Any]) -> dict[tuple[str, str], Fraction]:
    return {
        (b["account"], b["protects"]): Fraction(b["spent_upper"]["epsilon_exact"]) for b in balances
    }


def test_it_tells_what_it_told_and_writes_nothing(town: Path) -> None:
    with opened(town) as ledger:
        assert [b.to_dict() for b in ledger.balances()] == recorded(town)["balances"]
        assert [[r.kind, r.hash] for r in ledger.records()] == recorded(town)["records"]
        assert ledger.find("ana", "0" * 64) == b"answer 0"
    kinds = [kind for kind, _ in recorded(town)["records"]]
    assert "checkpoint" in kinds and kinds.count("limits") == 2


def test_each_charge_counts_with_the_kinds_that_it_names(town: Path) -> None:
    """By hand: patients pay 1, 3, 1 and 1 tenths, doctors 2, 3 and 1; ana is charged for two of them."""
    told = spent(recorded(town)["balances"])
    assert told["hospital", "patient"] <= 6 * TENTH
    assert told["ana", "patient"] == 2 * TENTH
    assert told["ana", "doctor"] == TENTH
    assert told["ben", "patient"] == 4 * TENTH
    assert told["ben", "doctor"] == 5 * TENTH  # what was spent before there was an account


def test_the_auditor_finds_it_sound_and_every_balance_as_it_was(town: Path) -> None:
    found = verify(town / "town.ledger")
    assert found.sound
    then = spent(recorded(town)["balances"])
    for account in found.accounts:
        assert account.protects is not None
        told = then[account.name, account.protects]
        assert float(account.epsilon_spent_upper) == pytest.approx(float(told), rel=1e-9)


def test_it_goes_on_in_its_format(town: Path) -> None:
    price = Charge((LaplaceEvent(Fraction(2), 1, 1),), Fraction(1, 2), Fraction(0), ("doctor",))
    with opened(town) as ledger:
        ledger.reserve("ana", "a" * 64, price)
        with pytest.raises(BudgetExceeded, match="of doctor units"):
            ledger.reserve("ana", "b" * 64, price)
        assert "format" not in [record.kind for record in ledger.records()]
    assert verify(town / "town.ledger").sound


@pytest.mark.parametrize("whom", [("patient",), ("doctor",), ()])
def test_the_auditor_finds_a_charge_beyond_the_budget_of_a_kind(
    whom: tuple[str, ...], town: Path
) -> None:
    policy, most = load(town / "policy.toml"), Fraction(7, 2)
    charge = Charge((LaplaceEvent(1 / most, 1, 1),), most, Fraction(0), whom).to_dict()
    body = {"analyst": "ben", "question": "c" * 64, "time": "2026-01-01T00:00:00+00:00"}
    forge(policy, "reserve", body | {"charge": charge, "asked": "0" * 64})
    fault = verify(policy.ledger).fault
    assert fault is not None and "exceeds its budget" in fault.message


def test_a_ledger_of_format_4_knows_no_kinds(town: Path) -> None:
    policy = load(Path(__file__).parent / "fixtures" / "format_4" / "pure" / "policy.toml")
    old = Path(shutil.copytree(policy.path.parent, town.parent / "old"))
    policy = load(old / "policy.toml")
    body = {"analyst": "ben", "question": "c" * 64, "time": "2026-01-01T00:00:00+00:00"}
    charge = {"delta": "0", "epsilon": "1/100", "events": [], "protects": ["patient"]}
    forge(policy, "reserve", body | {"charge": charge, "asked": "0" * 64})
    fault = verify(policy.ledger).fault
    assert fault is not None and "makes no sense" in fault.message
    with pytest.raises(LedgerError) as error, Ledger.open(policy, account_terms(policy)):
        pass
    assert error.value.code == "ledger_damaged"
