"""What an earlier version wrote is honoured to the last digit, whatever it wrote.

A subclass names the folder of ledgers that the version left, and what is its own in them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sanql.account.charge import Charge
from sanql.account.ledger.balances import Balance
from sanql.account.ledger.chain import head_path
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, Refused
from sanql.policy import load
from sanql.san import San

Laplace = Callable[[str], Charge]
Gaussian = Callable[[str, str], Charge]

FIXTURES = Path(__file__).parent / "fixtures"
NEWEST = 2  # the version of the data that the files beside the ledger are


def recorded(town: Path) -> dict[str, Any]:
    return json.loads((town / "recorded.json").read_text())


def opened(town: Path) -> Ledger:
    policy = load(town / "policy.toml")
    return Ledger.open(policy, account_terms(policy))


def asked(town: Path, analyst: str) -> San:
    return San(load(town / "policy.toml"), analyst)


def in_words(balances: list[Balance]) -> list[dict[str, Any]]:
    return [
        {
            "kind": balance.kind,
            "account": balance.account,
            "reserved": balance.reserved,
            "epsilon_spent_upper": str(balance.spent_upper.epsilon),
            "delta_spent_upper": str(balance.spent_upper.delta),
            "epsilon_remaining_lower": str(balance.remaining_lower.epsilon),
            "delta_remaining_lower": str(balance.remaining_lower.delta),
        }
        for balance in balances
    ]


@pytest.mark.usefixtures("in_this_process")
class RecordedLedgers:
    """The ledgers of one format, each with what its version said of it."""

    format: int
    records: int
    """How many records each of them has."""
    more: int
    """How many are written besides charges when failures are reset and charges go on."""
    asked_anew: str
    """What a question of the first version of the data says that is charged again."""
    exact_refused: str
    """Why no exact release is made a second time."""
    words: tuple[str, ...] = ()
    """What is in their records besides."""

    @pytest.fixture(params=["pure", "renyi", "turned"])
    def town(
        self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Path:
        """A copy of a ledger that the version left, with its policy and data."""
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
        folder = FIXTURES / f"format_{self.format}" / request.param
        return Path(shutil.copytree(folder, tmp_path / "town"))

    def test_a_fixture_holds_every_kind_of_event_and_an_account_that_was_declared_later(
        self,
        town: Path,
    ) -> None:
        with opened(town) as ledger:
            bodies = "".join(record.body for record in ledger.records())
        for word in ("laplace", "gaussian", "selection", "failure", "spent_before", *self.words):
            assert f'"{word}"' in bodies

    def test_balances_are_what_they_were_to_the_last_digit_and_reading_writes_nothing(
        self,
        town: Path,
    ) -> None:
        then = recorded(town)
        before = head_path(town / "town.ledger").read_bytes()
        with opened(town) as ledger:
            assert in_words(ledger.balances()) == then["balances"]
            assert {
                name: [str(spent.epsilon), str(spent.delta)]
                for name, spent in ledger.spent_without_budget()
            } == then["without_budget"]
            assert [[record.kind, record.hash] for record in ledger.records()] == then["records"]
            assert ledger.begun == self.format
        assert head_path(town / "town.ledger").read_bytes() == before

    def test_the_auditor_finds_it_sound_with_the_balances_it_found_then(self, town: Path) -> None:
        found, then = verify(town / "town.ledger"), recorded(town)["verified"]
        assert (
            (found.sound, found.records) == (then["sound"], then["records"]) == (True, self.records)
        )
        assert [
            {
                "name": account.name,
                "charges": account.charges,
                "epsilon_spent_upper": str(account.epsilon_spent_upper),
                "delta_spent_upper": str(account.delta_spent_upper),
            }
            for account in found.accounts
        ] == then["accounts"]
        assert [entry.name for entry in found.exact] == ["score"]

    @pytest.mark.slow
    def test_exact_releases_are_on_record_and_are_not_made_a_second_time(self, town: Path) -> None:
        then = recorded(town)
        (released,) = [each for each in then["answers"] if each["wishes"].get("exact")]
        with asked(town, "ana") as san:
            assert [
                {
                    "name": entry.claim.name,
                    "declaration": entry.claim.declaration,
                    "source": entry.claim.source,
                    "sequence": entry.sequence,
                }
                for entry in san.ledger.exact.entries()
            ] == then["exact"]
            again = san.query(released["sql"], exact=True)
            assert again.table.to_pylist() == released["rows"]
        policy = town / "policy.toml"
        policy.write_text(policy.read_text().replace("records_min = 300", "records_min = 299"))
        with asked(town, "ben") as san, pytest.raises(Refused) as refused:
            san.query(released["sql"], exact=True)
        assert refused.value.code == self.exact_refused

    @pytest.mark.slow
    def test_repeats_are_free_where_the_version_of_the_data_is_the_same(self, town: Path) -> None:
        noisy = [each for each in recorded(town)["answers"] if not each["wishes"].get("exact")]
        repeatable = [each for each in noisy if each["version"] == NEWEST]
        earlier = [each for each in noisy if each["analyst"] == "ana" and each["version"] < NEWEST]
        anew = [each for each in earlier if self.asked_anew in each["sql"]]
        assert (len(repeatable), len(anew)) == (3, 1)
        for each in [*repeatable, *anew]:
            with asked(town, each["analyst"]) as san:
                before = san.ledger.balances()
                again = san.query(each["sql"], **each["wishes"])
                assert (san.ledger.balances() == before) is (each in repeatable), each["sql"]
                assert (again.table.to_pylist() == each["rows"]) is (each in repeatable)
        assert verify(town / "town.ledger").sound

    def test_answers_recorded_by_hand_are_found_by_who_paid_for_them(self, town: Path) -> None:
        with opened(town) as ledger:
            for number in range(5):
                answer = ledger.find("ben", str(number) * 64)
                assert answer == f"answered by hand: {number}".encode()
                assert ledger.find("ana", str(number) * 64) is None
            assert ledger.find("cyd", "3" * 64) is None, "it was broken off"
            assert ledger.find("ana", "f" * 64) is None, "its process died"

    def test_charging_goes_on_from_there_until_the_budget_is_used_up(
        self, town: Path, laplace: Laplace, gaussian: Gaussian
    ) -> None:
        with opened(town) as ledger:
            before = {balance.account: balance for balance in ledger.balances()}
            with pytest.raises(BudgetExceeded):
                ledger.reserve("ben", "a" * 64, laplace("3"))
            ledger.failures.reset()
            made = 0
            with pytest.raises(BudgetExceeded):
                for made in range(100):
                    charge = laplace("0.25") if made % 2 else gaussian("0.25", "1e-8")
                    ledger.spend(ledger.reserve("ben", f"{made:064x}", charge), b"more")
            after = {balance.account: balance for balance in ledger.balances()}
        assert made > 2
        assert after["ana"].spent_upper == before["ana"].spent_upper
        for name in ("town", "both", "trio"):
            assert before[name].spent_upper.epsilon < after[name].spent_upper.epsilon
            assert after[name].spent_upper.epsilon <= after[name].budget.epsilon
            assert after[name].remaining_lower.epsilon < Fraction(1, 4) or name != "both"
        found = verify(town / "town.ledger")
        assert found.sound and found.records == self.records + self.more + 2 * made

    def test_failures_that_counted_then_count_now_and_so_does_the_question_left_open(
        self,
        town: Path,
    ) -> None:
        policy = load(town / "policy.toml")
        later = datetime(2999, 1, 1, tzinfo=UTC)
        with Ledger.open(policy, account_terms(policy), clock=lambda: later) as ledger:
            assert ledger.failures.count() == recorded(town)["failures"] + 1 == 2
