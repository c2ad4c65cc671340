"""A private table more goes on in the same account: nothing that was spent is forgotten, none is lost.

The oracle is the account that the longer policy would have had from the beginning: the same questions are
the same there, and cost the same.
"""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.audit.ledger import verify
from sanql.audit.ledger.exporting import export
from sanql.cli.main import main
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy import load
from sanql.san import San
from support.plans import plan_of
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

POLICY = (
    dataset("{source}", name="hospital", neighbours="{neighbours}", epsilon=1, delta="1e-6")
    + """\
{tables}
"""
)
PEOPLE = '[table.people]\nprivacy_unit = "id"\nunique = true\n[table.people.column]\nage = { type = "integer", bounds = [0, 120] }\n'
VISITS = '[table.visits]\nprivacy_unit = "id"\nrows_per_unit_max = 2\ngroups_per_unit_max = 2\n'
BILLS = '[table.bills]\nprivacy_unit = { via = "person", references = "people.id" }\nrows_per_unit_max = 2\ngroups_per_unit_max = 2\n'
ROWS = '[table.visits]\nprivacy_unit = "row"\n'
PUBLIC = "[table.visits]\npublic = true\n"
QUESTIONS = [
    "SELECT COUNT(*) FROM people",
    "SELECT SUM(age), AVG(age) FROM people WHERE age > 3",
    "SELECT age, COUNT(*) FROM people GROUP BY age",
    "SELECT COUNT(DISTINCT id) FROM people",
]


TABLES = {
    "people": "id,age\n1,30\n2,40\n",
    "visits": "id,cost\n1,30\n1,31\n2,40\n",
    "bills": "person,paid\n1,3\n",
}
HALF = Charge((LaplaceEvent(Fraction(2), 1, 1),), Fraction(1, 2), Fraction(0))


class Hospital:
    """Data of three tables, and policies over them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "data").mkdir(parents=True)
        for name, text in TABLES.items():
            (root / "data" / f"{name}.csv").write_text(text)
        with duckdb.connect(str(root / "data.duckdb")) as database:
            for name in TABLES:
                file = root / "data" / f"{name}.csv"
                database.execute(f"CREATE TABLE {name} AS FROM read_csv('{file}')")
        self.ledger = root / "hospital.ledger"

    def policy(
        self,
        tables: str,
        *,
        source: str = "data",
        neighbours: str = "add-remove",
        file: str = "policy",
    ) -> Path:
        path = self.root / f"{file}.toml"
        path.write_text(POLICY.format(source=source, neighbours=neighbours, tables=tables))
        return path

    def ask(self, tables: str, sql: str, epsilon: str, **where: str) -> bool:
        """Ask under a policy with these tables; return whether it was free."""
        with San(load(self.policy(tables, **where))) as san:
            return san.query(sql, epsilon=Fraction(epsilon)).cached

    def charge(self, tables: str, **where: str) -> None:
        """Charge the account half of its budget."""
        with San(load(self.policy(tables, **where))) as san:
            san.ledger.reserve("ana", "a" * 64, HALF)

    def spent(self, tables: str, **where: str) -> Fraction:
        with San(load(self.policy(tables, **where))) as san:
            return san.budget()[0].spent_upper.epsilon

    def refused(self, tables: str, code: str = "ledger_terms", **where: str) -> str:
        with pytest.raises(LedgerError) as error:
            self.charge(tables, **where)
        assert error.value.code == code
        return error.value.message


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hospital:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return Hospital(tmp_path / "hospital")


@pytest.mark.parametrize(
    ("source", "more", "sql"),
    [
        ("data", VISITS, "SELECT COUNT(*) FROM visits"),
        ("data.duckdb", BILLS, "SELECT COUNT(*) FROM bills"),
    ],
    ids=["a column", "a reference"],
)
def test_a_private_table_more_is_charged_to_the_same_account(
    hospital: Hospital, source: str, more: str, sql: str
) -> None:
    count = QUESTIONS[0]
    assert not hospital.ask(PEOPLE, count, "0.5", source=source)
    assert hospital.ask(PEOPLE + more, count, "0.5", source=source), "what was answered stays free"
    assert not hospital.ask(PEOPLE + more, sql, "0.25", source=source)
    assert hospital.spent(PEOPLE + more, source=source) == Fraction(3, 4)
    with pytest.raises(BudgetExceeded):
        hospital.ask(PEOPLE + more, sql, "0.5", source=source)
    assert hospital.ask(PEOPLE, count, "0.5", source=source), (
        "also once the table is left out again"
    )
    assert hospital.spent(PEOPLE, source=source) == Fraction(3, 4)
    found = verify(hospital.ledger)
    assert found.sound, found.fault
    listed = CliRunner().invoke(main, ["ledger", "list", "-p", str(hospital.root / "policy.toml")])
    assert "declared since: unit of " in " ".join(listed.output.split())


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("more", [VISITS, BILLS, VISITS + BILLS], ids=["visits", "bills", "both"])
def test_earlier_questions_are_what_they_would_have_been_under_the_longer_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, neighbours: str, more: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    planned = []
    for name, tables in (("short", PEOPLE), ("long", PEOPLE + more)):
        hospital = Hospital(tmp_path / name)
        with San(load(hospital.policy(tables, neighbours=neighbours))) as san:
            plans = [plan_of(san, sql, epsilon=0.5) for sql in QUESTIONS]
            planned.append([(plan.digest("d"), plan.charge.to_dict()) for plan in plans])
    assert planned[0] == planned[1]


def test_the_source_may_be_a_folder_more(hospital: Hospital) -> None:
    hospital.charge(PEOPLE, source="data/people.csv")
    assert not hospital.ask(PEOPLE + VISITS, "SELECT COUNT(*) FROM visits", "0.25")
    assert hospital.spent(PEOPLE + VISITS) == Fraction(3, 4)
    other = hospital.policy(
        '[table.visits]\nprivacy_unit = "id"\nunique = true\n',
        source="data/visits.csv",
        file="other",
    )
    other.write_text(other.read_text().replace('"hospital"', '"other"'))
    with pytest.raises(LedgerError) as error:
        San(load(other))
    assert error.value.code == "account_claimed"


ATTACKS: dict[str, tuple[str, str]] = {
    "rows beside people": (PEOPLE, PEOPLE + ROWS),
    "another column": (PEOPLE, PEOPLE + VISITS.replace('"id"', '"cost"')),
    "the unit of people": (PEOPLE, PEOPLE.replace('privacy_unit = "id"', 'privacy_unit = "age"').replace("age = {", "id = {")),
    "a table that was public": (PEOPLE + PUBLIC, PEOPLE + VISITS),
    "a private table made public": (PEOPLE + VISITS, PEOPLE + PUBLIC),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), ATTACKS.values(), ids=list(ATTACKS))
def test_an_account_does_not_go_on_where_what_it_promised_would_change(
    hospital: Hospital, before: str, after: str
) -> None:
    hospital.charge(before)
    hospital.refused(after)
    hospital.refused(after)
    assert hospital.spent(before) == Fraction(1, 2)


def test_a_public_table_that_was_shown_for_free_does_not_become_private(hospital: Hospital) -> None:
    San(load(hospital.policy(PEOPLE + PUBLIC))).close()  # no charge would tell of what it shows
    assert "was public" in hospital.refused(PEOPLE + VISITS)


def test_a_table_that_belongs_to_another_account_does_not_join_and_leaves_no_record(
    hospital: Hospital,
) -> None:
    hospital.charge(PEOPLE, source="data/people.csv")
    other = hospital.policy(VISITS, source="data/visits.csv", file="other")
    other.write_text(other.read_text().replace('"hospital"', '"other"'))
    with San(load(other)) as san:
        san.ledger.reserve("ana", "a" * 64, HALF)
    records = list(export(hospital.ledger))
    hospital.refused(PEOPLE + VISITS, "account_claimed")
    assert list(export(hospital.ledger)) == records
    assert hospital.spent(PEOPLE, source="data/people.csv") == Fraction(1, 2)


RENAMED: dict[str, Callable[[Path], object]] = {
    "renamed": lambda data: (data / "people.csv").rename(data / "staff.csv"),
    "hard-linked": lambda data: (data / "staff.csv").hardlink_to(data / "people.csv"),
    "linked": lambda data: (data / "staff.csv").symlink_to(data / "people.csv"),
    "as a part of a folder": lambda data: (
        (data / "staff").mkdir() or (data / "people.csv").rename(data / "staff" / "a.csv")
    ),
}


@pytest.mark.parametrize("rename", RENAMED.values(), ids=list(RENAMED))
def test_a_private_table_that_is_left_out_does_not_come_back_public_under_another_name(
    hospital: Hospital, rename: Callable[[Path], object]
) -> None:
    hospital.charge(PEOPLE + VISITS)
    rename(hospital.root / "data")
    public = PUBLIC.replace("visits", "staff")
    message = hospital.refused(VISITS + public, "private_called_public")
    assert "people.csv" in message
    with pytest.raises(LedgerError), San(load(hospital.policy(VISITS + public))) as san:
        san.query("SELECT age FROM staff")


def test_a_policy_that_is_open_is_held_to_what_others_have_recorded_meanwhile(
    hospital: Hospital,
) -> None:
    hospital.charge(PEOPLE)
    with San(load(hospital.policy(PEOPLE + VISITS))) as san:
        San(load(hospital.policy(PEOPLE + PUBLIC, file="other"))).close()
        with pytest.raises(LedgerError) as error:
            san.ledger.reserve("ana", "b" * 64, HALF)
        assert error.value.code == "ledger_terms"


def test_an_account_that_has_been_closed_is_read_under_a_policy_with_one_public_table_more(
    hospital: Hospital,
) -> None:
    hospital.ask(PEOPLE, QUESTIONS[0], "0.25")
    with San(load(hospital.policy(PEOPLE))) as san:
        san.ledger.owner.retire("closed", "over")
    assert hospital.ask(PEOPLE + PUBLIC, QUESTIONS[0], "0.25")


def test_a_refusal_says_what_changed_and_how_to_go_on(hospital: Hospital) -> None:
    hospital.charge(PEOPLE)
    message = hospital.refused(PEOPLE, neighbours="change-one")
    assert "neighbours is change-one, and was add-remove" in message
