"""A San that runs on while its account goes elsewhere answers nothing from the ledger it has."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.account.ledger.terms import account_terms
from sanql.errors import LedgerError
from sanql.policy import load
from sanql.san import San
from sanql.sources.ownership.account_changes import move_account
from sanql.sources.ownership.lost_ledgers import retire_lost
from support.policies import dataset

POLICY = (
    dataset("data", name="town", epsilon=1, delta=0)
    + """\
ledger = "{ledger}"
[table.people]
privacy_unit = "id"
unique = true
"""
)
MOST = Charge((LaplaceEvent(Fraction(5, 4), 1, 1),), Fraction(4, 5), Fraction(0))
LITTLE = Charge((LaplaceEvent(Fraction(100), 1, 1),), Fraction(1, 100), Fraction(0))
NAMES = ("", "-wal", "-shm", ".head")


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("id\n1\n2\n")
    return tmp_path


def policy(town: Path, ledger: str) -> Path:
    path = town / f"{ledger}.toml"
    path.write_text(POLICY.format(ledger=ledger))
    return path


def put(town: Path, old: str, new: str) -> None:
    for name in NAMES:
        if (town / f"{old}{name}").exists():
            (town / f"{old}{name}").rename(town / f"{new}{name}")


def moved_to_a_copy(town: Path) -> None:
    with closing(sqlite3.connect(town / "a.ledger")) as connection:
        connection.execute("VACUUM INTO ?", (str(town / "b.ledger"),))
    (town / "b.ledger.head").write_bytes((town / "a.ledger.head").read_bytes())
    put(town, "a.ledger", "hidden")
    goes_on = load(policy(town, "b.ledger"))
    move_account(goes_on, account_terms(goes_on))


def given_up_as_lost(town: Path) -> None:
    put(town, "a.ledger", "hidden")
    retire_lost(load(policy(town, "a.ledger")), "the disk died")


WAYS: dict[str, tuple[Callable[[Path], None], str]] = {
    "moved to a copy": (moved_to_a_copy, "account_elsewhere"),
    "given up as lost": (given_up_as_lost, "account_claimed"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("leave", "code"), WAYS.values(), ids=list(WAYS))
def test_an_account_that_went_elsewhere_is_not_charged_where_it_was(
    leave: Callable[[Path], None], code: str, town: Path
) -> None:
    with San(load(policy(town, "a.ledger"))) as runs_on:
        runs_on.ledger.reserve("ana", "a" * 64, LITTLE)
        leave(town)
        with San(load(policy(town, "b.ledger"))) as successor:
            successor.ledger.reserve("ana", "b" * 64, MOST)
            put(town, "hidden", "a.ledger")
            before = len(list(runs_on.ledger.records()))
            for _ in range(2):
                with pytest.raises(LedgerError) as error:
                    runs_on.ledger.reserve("ana", "c" * 64, MOST)
                assert error.value.code == code
            assert len(list(runs_on.ledger.records())) == before


def test_a_ledger_found_again_before_anybody_else_claims_goes_on_and_keeps_the_others_out(
    town: Path,
) -> None:
    with San(load(policy(town, "a.ledger"))) as runs_on:
        runs_on.ledger.reserve("ana", "a" * 64, LITTLE)
        given_up_as_lost(town)
        put(town, "hidden", "a.ledger")
        runs_on.ledger.reserve("ana", "b" * 64, MOST)
        with pytest.raises(LedgerError) as error, San(load(policy(town, "b.ledger"))) as other:
            other.ledger.reserve("ana", "c" * 64, MOST)
        assert error.value.code == "account_claimed"
