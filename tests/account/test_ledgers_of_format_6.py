"""Ledgers of format 6: of a dataset of which some budget is opened by tranches."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.policy import load

FIXTURE = Path(__file__).parent / "fixtures" / "format_6" / "town"


@pytest.fixture
def town(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "town"))


def opened(town: Path) -> Ledger:
    policy = load(town / "policy.toml")
    now = datetime(2027, 1, 1, tzinfo=UTC)
    return Ledger.open(policy, account_terms(policy), clock=lambda: now)


def recorded(town: Path) -> Any:
    return json.loads((town / "recorded.json").read_text())


def test_it_tells_what_it_told_and_writes_nothing(town: Path) -> None:
    with opened(town) as ledger:
        assert [b.to_dict() for b in ledger.balances()] == recorded(town)["balances"]
        assert [[r.kind, r.hash] for r in ledger.records()] == recorded(town)["records"]
        assert ledger.find("ana", "0" * 64) == b"answer"
    kinds = [kind for kind, _ in recorded(town)["records"]]
    assert "checkpoint" in kinds and kinds.count("tranche") >= 4


def test_the_auditor_finds_it_sound_and_the_next_tranche_opens(town: Path) -> None:
    assert verify(town / "town.ledger").sound
    with opened(town) as ledger:
        before = ledger.balances()[0].open
        ledger.tranches.open("2027-01")
        assert before is not None and ledger.balances()[0].open == min(before + 1, Fraction(4))
    assert verify(town / "town.ledger").sound
