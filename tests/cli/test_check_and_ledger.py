"""`sanql check` says what the next question would put on record, and writes and spends nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sanql.cli.main import main
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

pytestmark = pytest.mark.usefixtures("in_this_process")

PEOPLE = """
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
score = { type = "integer", bounds = [1, 5] }
"""
VISITS = '[table.visits]\nprivacy_unit = "id"\nrows_per_unit_max = 2\n'
CITIES = '[table.cities]\npublic = true\ncolumn.name = { type = "text" }\n'
EXACT = """
[exact.score]
adversary = { class = "lattice", mass = 0.15, known_records = 5 }
accept = { epsilon = 1, delta = 1e-6 }
records_min = 300
"""


class Place:
    """A folder with data and a policy over them."""

    def __init__(self, root: Path) -> None:
        self.root, self.policy, self.ledger = root, root / "policy.toml", root / "town.ledger"
        (root / "data").mkdir()
        rows = "".join(f"{i},{1 + i % 5},a\n" for i in range(800))
        for name in ("people", "visits", "persons"):
            (root / "data" / f"{name}.csv").write_text(f"id,score,street\n{rows}")
        (root / "data/cities.csv").write_text("name\nBern\n")

    def declare(self, tables: str, *, epsilon: float = 4, more: str = "") -> None:
        head = dataset("data", name="town", epsilon=epsilon, delta="1e-6")
        self.policy.write_text(head + more + tables)

    def charge(self, tables: str, price: str = "0.5", **more: Any) -> None:
        self.declare(tables, **more)
        with San(load(self.policy)) as san:
            san.query("SELECT COUNT(*) FROM people", epsilon=price)

    def check(self, *more: str) -> Result:
        before = self.ledger.read_bytes() if self.ledger.exists() else b""
        found = CliRunner().invoke(main, ["check", str(self.policy), *more])
        after = self.ledger.read_bytes() if self.ledger.exists() else b""
        assert before == after, "checking writes nothing"
        return found

    def told(self) -> dict[str, Any]:
        found = self.check("--format", "json")
        assert found.exit_code == 0, found.output
        told: dict[str, Any] = json.loads(found.output)["ledger"]
        return told


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return Place(tmp_path)


def test_where_nothing_was_asked_there_is_no_ledger_and_none_is_made(place: Place) -> None:
    place.declare(PEOPLE)
    assert f"ledger: there is none yet; the first question begins it at {place.ledger}" in (
        place.check().output
    )
    assert place.told()["begun"] is False
    assert not place.ledger.exists()


@pytest.mark.slow
def test_a_policy_as_it_is_on_record_changes_nothing(place: Place) -> None:
    place.charge(PEOPLE)
    told = place.told()
    assert (told["begun"], told["joins"], told["left"], told["limits"]) == (True, [], [], [])
    assert "records, and the policy is as they say" in place.check().output


@pytest.mark.slow
def test_what_joins_and_what_has_left_is_listed_and_no_fault(place: Place) -> None:
    place.charge(PEOPLE + VISITS)
    renamed = PEOPLE.replace("score", "street").replace('"integer", bounds = [1, 5]', '"text"')
    place.declare(renamed + CITIES + VISITS.replace("visits", "persons"))
    told = place.told()
    assert told["joins"] == [
        "private table persons, unit id",
        "public table cities",
        "column people.street",
        "column cities.name",
    ]
    assert told["left"] == ["private table visits", "column people.score"]
    shown = place.check().output
    assert "joins on record with the next charge: column people.street" in shown
    assert "has left, and stays on record: private table visits" in shown
    assert "sanql account rename TABLE NEW" in shown


@pytest.mark.slow
def test_what_joined_is_listed_no_more_once_it_is_on_record(place: Place) -> None:
    place.charge(PEOPLE)
    place.charge(PEOPLE + VISITS)  # the same question is free, and puts nothing on record
    assert place.told()["joins"] == ["private table visits, unit id"]
    place.charge(PEOPLE + VISITS, "0.6")
    assert place.told()["joins"] == []


@pytest.mark.slow
def test_other_limits_are_listed_and_those_that_need_a_signature_are_a_fault(place: Place) -> None:
    place.charge(PEOPLE)
    place.declare(
        PEOPLE, epsilon=3, more="second_signature = true\n[analyst.ana]\nbudget = { epsilon = 1 }\n"
    )
    told = place.told()["limits"]
    assert told == [
        "second_signature is asked for from now on",
        "epsilon of the dataset account 'town' is 3, and was 4",
        "the analyst account 'ana' is new; it begins with what its analysts have spent",
    ]
    place.declare(PEOPLE, epsilon=5)
    assert place.told()["limits"] == ["epsilon of the dataset account 'town' is 5, and was 4"]
    place.charge(PEOPLE, more="second_signature = true\n")
    place.declare(PEOPLE, epsilon=5, more="second_signature = true\n")
    found = place.check()
    assert found.exit_code == 2
    assert "ledger: [limits_unsigned]" in found.output
    assert "sanql account approve" in found.output


@pytest.mark.slow
def test_terms_that_cannot_change_are_a_fault_with_its_remedy_beside_all_others(
    place: Place,
) -> None:
    place.charge(PEOPLE)
    place.declare(PEOPLE.replace('"id"', '"street"').replace("score =", "scroe ="))
    found = place.check("--format", "json")
    assert found.exit_code == 2
    faults = json.loads(found.output)["error"]["faults"]
    assert [fault["place"].split(" (")[0] for fault in faults] == [
        "table.people.column.scroe",
        "ledger",
    ]
    assert "unit of people is street, and was id" in faults[1]["message"]
    assert "sanql account rename" in faults[1]["remedy"]


@pytest.mark.slow
def test_an_exact_declaration_that_changed_is_told(place: Place) -> None:
    place.declare(PEOPLE + EXACT)
    with San(load(place.policy)) as san:
        san.query("SELECT SUM(score) FROM people", exact=True)
    assert place.told()["exact"] == []
    place.declare(PEOPLE + EXACT.replace("300", "299"))
    (line,) = place.told()["exact"]
    assert "[exact.score] is not what it was when record" in line
    place.declare(PEOPLE)
    (line,) = place.told()["exact"]
    assert "[exact.score] is left out" in line
    done = ["account", "rename", "people.score", "points", "-p", str(place.policy)]
    assert CliRunner().invoke(main, [*done, "--because", "so"]).exit_code == 0
    place.declare(PEOPLE + EXACT.replace("exact.score]", 'exact.more]\ncolumn = "score"'))
    assert any("[exact.more] is not answered" in line for line in place.told()["exact"])


@pytest.mark.slow
def test_a_closed_account_is_told(place: Place) -> None:
    place.charge(PEOPLE)
    words = ["account", "retire", "-p", str(place.policy), "--because", "so"]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert place.told()["closed"] is True
    assert "the account is closed" in place.check().output


@pytest.mark.slow
@pytest.mark.parametrize("way", ["damaged", "missing", "unavailable"])
def test_a_ledger_that_cannot_be_opened_is_reported_with_all_else(way: str, place: Place) -> None:
    place.charge(PEOPLE)
    code, exit_code = {
        "damaged": ("ledger_damaged", 5),
        "missing": ("ledger_missing", 5),
        "unavailable": ("ledger_unavailable", 0),
    }[way]
    if way == "damaged":
        os.truncate(place.ledger, 0)
        place.ledger.write_bytes(b"no database" * 1000)
    elif way == "missing":
        place.ledger.unlink()
    else:
        place.declare(PEOPLE, more='ledger = "postgresql://sanql@127.0.0.1:1/none"\n')
    found = place.check("--format", "json")
    told = json.loads(found.output)
    assert (found.exit_code, told["ledger"]["fault"]["code"]) == (exit_code, code)
    assert told["policy"] == "town"
    assert f"[{code}]" in place.check().output
