"""What 0.1.0 spent is spent: its ledgers claimed nothing, and claim their source when opened."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy import load
from sanql.san import San

pytestmark = pytest.mark.usefixtures("in_this_process")

FIXTURES = Path(__file__).parents[1] / "account" / "fixtures" / "format_1"


@pytest.fixture(params=["pure", "renyi"])
def town(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what 0.1.0 left: a ledger with charges, answers and an exact release, and its data."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return Path(shutil.copytree(FIXTURES / request.param, tmp_path / "town"))


def recorded(town: Path) -> dict[str, Any]:
    return json.loads((town / "recorded.json").read_text())


def charge(epsilon: str) -> Charge:
    exact = Fraction(epsilon)
    return Charge((LaplaceEvent(1 / exact, 1, 1),), exact, Fraction(0))


def policy(town: Path, name: str, change: Callable[[str], str]) -> Path:
    path = town / f"{name}.toml"
    path.write_text(change((town / "policy.toml").read_text()))
    return path


def _linked(town: Path) -> Path:
    (town / "linked.csv").hardlink_to(town / "people.csv")
    return policy(
        town, "other", lambda text: text.replace("people.csv", "linked.csv").replace('"town"', '"x"')
    )  # fmt: skip


def _copied(town: Path) -> Path:
    (town.parent / "elsewhere").mkdir()
    path = town.parent / "elsewhere" / "policy.toml"
    text = (town / "policy.toml").read_text()
    path.write_text(text.replace('"people.csv"', f'"{town / "people.csv"}"'))
    return path


SECOND: dict[str, Callable[[Path], Path]] = {
    "another name": lambda town: policy(town, "other", lambda text: text.replace('"town"', '"city"')),
    "another ledger": lambda town: policy(
        town, "other", lambda text: text.replace('source =', 'ledger = "fresh.ledger"\nsource =')
    ),
    "other neighbours, too": lambda town: policy(
        town, "other", lambda text: text.replace("add-remove", "change-one").replace('"town"', '"x"')
    ),
    "a hard link to the data": _linked,
    "the policy copied elsewhere": _copied,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("second", SECOND.values(), ids=list(SECOND))
def test_opening_a_ledger_of_0_1_0_claims_its_source_so_that_a_second_account_is_refused(
    town: Path, second: Callable[[Path], Path]
) -> None:
    San(load(town / "policy.toml"), "ana").close()
    other = second(town)
    with pytest.raises(LedgerError) as error:
        San(load(other), "ana")
    assert error.value.code == "account_claimed"
    assert str(town / "town.ledger") in error.value.message


def test_charges_repeats_and_exact_releases_of_0_1_0_stay_as_they_were(town: Path) -> None:
    then = recorded(town)
    for _ in range(2):
        with San(load(town / "policy.toml"), "ana") as san:
            for now, old in zip(san.budget(), then["balances"], strict=True):
                assert now.spent_upper.epsilon == Fraction(old["epsilon_spent_upper"])
                assert now.spent_upper.delta == Fraction(old["delta_spent_upper"])
            assert san.ledger.find("ben", "2" * 64) == b"gaussian"
            assert [entry.claim.name for entry in san.ledger.exact.entries()] == ["score"]
            kinds = [record.kind for record in san.ledger.records()]
    assert kinds == [*then["kinds"], "format", "claim"], "once, after what 0.1.0 had written"
    assert verify(town / "town.ledger").sound


def test_what_0_1_0_spent_counts_against_what_is_asked_now(town: Path) -> None:
    with San(load(town / "policy.toml"), "ana") as san:
        left = san.budget()[0].remaining_lower.epsilon
        with pytest.raises(BudgetExceeded):
            san.ledger.reserve("ana", "a" * 64, charge(str(left + 1)))
        san.ledger.reserve("ana", "a" * 64, charge("1/100"))
    assert verify(town / "town.ledger").sound


def test_a_ledger_of_0_1_0_that_is_deleted_after_it_was_opened_is_missed(town: Path) -> None:
    San(load(town / "policy.toml"), "ana").close()
    for path in [*town.glob("town.ledger*")]:
        path.unlink()
    with pytest.raises(LedgerError) as error:
        San(load(town / "policy.toml"), "ana")
    assert error.value.code == "ledger_missing"


def test_a_ledger_of_0_1_0_whose_source_has_another_account_by_now_is_refused(town: Path) -> None:
    other = policy(town, "other", lambda text: text.replace('"town"', '"city"'))
    with San(load(other), "ana") as san:
        san.ledger.reserve("ana", "a" * 64, charge("1/100"))
    before = (town / "town.ledger").read_bytes()
    with pytest.raises(LedgerError) as error:
        San(load(town / "policy.toml"), "ana")
    assert error.value.code == "account_claimed"
    assert (town / "town.ledger").read_bytes() == before


def test_an_account_that_has_charged_nothing_claims_nothing_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    town = Path(shutil.copytree(FIXTURES / "pure", tmp_path / "town"))
    for path in [*town.glob("town.ledger*")]:
        path.unlink()
    San(load(town / "policy.toml"), "ana").close()
    assert not list(tmp_path.rglob("*.sanql-account"))


def test_while_the_source_is_not_there_a_ledger_of_0_1_0_is_read_and_left_as_it_is(
    town: Path,
) -> None:
    (town / "people.csv").rename(town / "away.csv")
    with San(load(town / "policy.toml"), "ana") as san:
        assert san.budget()[0].spent_upper.epsilon > 0
        assert [record.kind for record in san.ledger.records()] == recorded(town)["kinds"]


def test_a_ledger_of_0_1_0_takes_no_private_table_more(town: Path) -> None:
    more = '[table.visits]\nprivacy_unit = "person_id"\nunique = true\n'
    (town / "data").mkdir()
    longer = policy(town, "policy", lambda text: text + more)
    with pytest.raises(LedgerError, match="does not say which tables were public"):
        San(load(longer), "ana")
    assert account_terms(load(longer)).keys() >= {"unit of visits"}


def test_verifying_and_listing_a_ledger_of_0_1_0_write_nothing(town: Path) -> None:
    from click.testing import CliRunner

    before = (town / "town.ledger").read_bytes()
    for command in ("verify", "list", "export"):
        result = CliRunner().invoke(main, ["ledger", command, "-p", str(town / "policy.toml")])
        assert result.exit_code == 0, result.output
    assert (town / "town.ledger").read_bytes() == before
    assert not list(town.parent.rglob("*.sanql-account"))
