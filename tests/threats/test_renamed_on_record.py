"""`sanql account rename` on real data: the budget goes on, and exact cells leave no second time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import LedgerError, Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

POLICY = dataset("data", name="town", epsilon=4, delta="1e-6") + "{tables}"
PEOPLE = """
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
score = { type = "integer", bounds = [1, 5] }
region = { type = "text", domain = ["north", "south"] }
"""
VISITS = """
[table.visits]
privacy_unit = { via = "person", references = "people.id" }
rows_per_unit_max = 2
"""
EXACT = """
[exact.score]
table = "people"
partition = ["region"]
adversary = { class = "lattice", mass = 0.15, known_records = 5 }
accept = { epsilon = 1, delta = 1e-6 }
records_min = 300
"""


class Place:
    """A folder with data, and the policy over them."""

    def __init__(self, root: Path) -> None:
        self.root, self.policy = root, root / "policy.toml"
        (root / "data").mkdir()
        rows = "".join(f"{i},{1 + i % 5},{'north' if i % 2 else 'south'}\n" for i in range(800))
        (root / "data/people.csv").write_text(f"id,score,region\n{rows}")
        (root / "data/visits.csv").write_text("person\n" + "".join(f"{i}\n" for i in range(99)))

    def declare(self, tables: str) -> None:
        self.policy.write_text(POLICY.replace("{tables}", tables))

    def san(self, tables: str) -> San:
        self.declare(tables)
        return San(load(self.policy))

    def rename(self, old: str, new: str, *more: str) -> Result:
        words = ["account", "rename", old, new, "-p", str(self.policy), "--because", "so"]
        return CliRunner().invoke(main, [*words, *more])

    def spent(self, tables: str) -> float:
        with self.san(tables) as san:
            return float(san.budget()[0].spent_upper.epsilon)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return Place(tmp_path)


def test_a_table_whose_file_was_renamed_goes_on_in_its_account(place: Place) -> None:
    with place.san(PEOPLE + VISITS) as san:
        san.query("SELECT COUNT(*) FROM visits", epsilon="1")
    (place.root / "data/people.csv").rename(place.root / "data/persons.csv")
    renamed = (PEOPLE + VISITS).replace("people", "persons")
    with pytest.raises(LedgerError) as error:
        place.san(renamed)
    assert "sanql account rename" in error.value.remedy
    done = place.rename("people", "persons")
    assert (done.exit_code, done.output) == (0, "town: table people is called persons now\n")
    with place.san(renamed) as san:
        san.query("SELECT COUNT(*) FROM persons", epsilon="1")
        assert san.query("SELECT COUNT(*) FROM visits", epsilon="0.5").version == 1
    assert place.spent(renamed) == 2.5
    assert verify(load(place.policy).ledger).sound


def test_a_unit_whose_column_was_renamed_goes_on_and_files_are_known_by_it(place: Place) -> None:
    with place.san(PEOPLE) as san:
        san.query("SELECT COUNT(*) FROM people", epsilon="1")
    people = place.root / "data/people.csv"
    people.write_text(people.read_text().replace("id,", "pid,", 1))
    renamed = PEOPLE.replace('"id"', '"pid"')
    place.declare(renamed)
    done = place.rename("people.id", "pid", "--format", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == {
        "dataset": "town",
        "renamed": {"table": "people", "column": "id", "to": "pid"},
        "otherwise": [],
    }
    with place.san(renamed) as san:
        san.refresh()
        assert san.query("SELECT COUNT(*) FROM people", epsilon="1").version == 2
    assert place.spent(renamed) == 2
    (place.root / "data/again.csv").symlink_to("people.csv")
    with pytest.raises(LedgerError) as error:  # what was renamed is this table's column alone
        place.san(renamed + renamed.replace("people", "again"))
    assert error.value.code == "private_unit_differs"
    assert verify(load(place.policy).ledger).sound


def test_what_is_still_otherwise_is_said_and_a_scratch_account_has_nothing_to_rename(
    place: Place,
) -> None:
    with place.san(PEOPLE + VISITS) as san:
        san.query("SELECT COUNT(*) FROM visits", epsilon="1")
    place.declare((PEOPLE + VISITS).replace('"id"', '"pid"').replace("people.id", "people.pid"))
    assert "cannot go on yet: unit of people is pid" in place.rename("visits.person", "who").output
    again = place.rename("visits.person", "who")
    assert (again.exit_code, "rename_refused" in again.output) == (5, True)
    text = place.policy.read_text().replace("[dataset]\n", "[dataset]\nscratch = true\n")
    place.policy.write_text(text)
    assert "ledger_scratch" in place.rename("people", "persons").output


def refused(ask: Callable[[], object]) -> str:
    with pytest.raises(Refused) as error:
        ask()
    return error.value.code


def test_no_exact_release_is_made_of_a_table_that_was_renamed_under_either_name(
    place: Place,
) -> None:
    exact = "SELECT region, SUM(score) FROM people GROUP BY region"
    with place.san(PEOPLE + EXACT) as san:
        first = san.query(exact, exact=True)
    (place.root / "data/persons.csv").symlink_to("people.csv")
    assert place.rename("people", "persons").exit_code == 0
    renamed = (PEOPLE + EXACT).replace("people", "persons")
    another = renamed.replace("[exact.score]", '[exact.again]\ncolumn = "score"')
    asked = exact.replace("people", "persons")
    for tables in (renamed, another):
        with place.san(tables) as san:
            assert refused(lambda: san.query(asked, exact=True)) == "exact_renamed"
            san.query(asked, epsilon="0.5")
    with place.san(PEOPLE + EXACT) as san:
        assert san.query(exact, exact=True).rows == first.rows
    assert verify(load(place.policy).ledger).sound


def test_a_column_that_was_renamed_closes_the_exact_answers_of_its_table(place: Place) -> None:
    with place.san(PEOPLE + EXACT) as san:
        san.query("SELECT COUNT(*) FROM people", epsilon="0.5")
    assert place.rename("people.score", "points").exit_code == 0
    exact = "SELECT region, SUM(score) FROM people GROUP BY region"
    with place.san(PEOPLE + EXACT) as san:
        assert refused(lambda: san.query(exact, exact=True)) == "exact_renamed"
