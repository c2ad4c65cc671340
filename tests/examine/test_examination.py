"""Policies that do not fit their data: each fault is found, at its line, and a right one has none."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import pytest

from sanql.demo.hospital import make_hospital
from sanql.errors import PolicyError
from sanql.examine import Examination, Mismatch, examine, remove_leftovers
from sanql.policy import load
from support.commands import run
from support.policies import dataset

pytestmark = pytest.mark.slow

PEOPLE = {
    "id": "i",
    "sex": "CASE i % 2 WHEN 0 THEN 'F' ELSE 'M' END",
    "born": "DATE '1940-01-01' + (i * 17)::INTEGER",
    "income": "20000 + (i * 7919) % 60000",
    "height": "150.0 + i % 50",
    "member": "i % 3 = 0",
}
VISITS = {
    "visit": "i",
    "person": "(i * 13) % 1000",
    "kind": "CASE i % 3 WHEN 0 THEN 'checkup' WHEN 1 THEN 'surgery' ELSE 'therapy' END",
    "cost": "(i * 31) % 900",
}
BILLS = {"bill": "i", "visit": "(i * 7) % 3000", "paid": "i % 5 > 0"}
TABLES = """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
sex = { type = "text", domain = ["F", "M"] }
born = { type = "date", bounds = [1930-01-01, 2010-12-31] }
income = { type = "integer", bounds = [0, 200000] }
height = { type = "float", bounds = [0, 250] }
member = { type = "boolean" }

[table.visits]
privacy_unit = "person"
rows_per_unit_max = 5
key = "visit"
[table.visits.column]
kind = { type = "text", domain = ["checkup", "surgery", "therapy"] }
cost = { type = "integer", bounds = [0, 1000], nullable = false }

[table.bills]
privacy_unit = { via = "visit", references = "visits" }
rows_per_unit_max = 10
[table.bills.column]
paid = { type = "boolean" }
"""


class World:
    """A dataset that fits its policy, until something is changed of the one or the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.columns = {"people": dict(PEOPLE), "visits": dict(VISITS), "bills": dict(BILLS)}
        self.rows = {"people": 1000, "visits": 3000, "bills": 4000}
        self.tables, self.header = TABLES, dataset("data/", epsilon=1, delta="1e-6")
        self.form = "parquet"

    def write(self) -> Path:
        """Write the files and the policy; return where the policy is."""
        data = self._folder / "data"
        data.mkdir()
        for table, columns in self.columns.items():
            select = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
            rows = f"SELECT {select} FROM range({self.rows[table]}) AS n(i)"
            target = data / f"{table}.{self.form}"
            duckdb.sql(f"COPY ({rows}) TO '{target}'")
        policy = self._folder / "policy.toml"
        policy.write_text(self.header + self.tables, encoding="utf-8")
        return policy

    def examine(self) -> Examination:
        """Return what is found."""
        return examine(load(self.write()), lambda words: None)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


Change = Callable[[World], object]


def replaced(old: str, new: str) -> Change:
    def change(world: World) -> None:
        assert old in world.tables + world.header
        world.tables = world.tables.replace(old, new)
        world.header = world.header.replace(old, new)

    return change


def column(table: str, name: str, sql: str, form: str = "parquet") -> Change:
    def change(world: World) -> None:
        world.columns[table][name], world.form = sql, form

    return change


# a change, and the key and words of what must be found; all of them make answers wrong
WRONG: Mapping[str, tuple[Change, str, str]] = {
    "keys are stored as numbers": (
        column("people", "sex", "(i % 2)::VARCHAR"),
        "sex.domain",
        "none of the domain's values, and left out of every group: 1,000 of 1,000 values (100 %); "
        "most frequent: '0', '1'",
    ),
    "keys differ by case": (
        column("people", "sex", "CASE i % 2 WHEN 0 THEN 'f' ELSE 'M ' END"),
        "sex.domain",
        "(1,000 but for case or blanks)",
    ),
    "a key is missing from the domain": (
        replaced('"surgery", "therapy"]', '"surgery"]'),
        "kind.domain",
        "1,000 of 3,000 values (33.3 %); most frequent: 'therapy'",
    ),
    "dates are written with the day first": (
        column(
            "people", "born", "strftime(DATE '1940-01-01' + (i * 17)::INTEGER, '%d/%m/%Y')", "csv"
        ),
        "born.type",
        "cannot be read as date",
    ),
    "numbers have a comma": (
        column("people", "height", "replace((150.5 + i % 50)::VARCHAR, '.', ',')", "csv"),
        "height.type",
        "1,000 of 1,000 values (100 %)",
    ),
    "numbers have marks for thousands": (
        column("people", "income", "format('{:,}', 20000 + i)", "csv"),
        "income.type",
        "cannot be read as integer",
    ),
    "a truth value is a word": (
        column("people", "member", "CASE WHEN i % 3 = 0 THEN 'ja' ELSE 'nein' END"),
        "member.type",
        "cannot be read as boolean",
    ),
    "infinities": (
        column("people", "height", "CASE WHEN i % 20 = 0 THEN 'inf'::DOUBLE ELSE 170.0 END"),
        "height.type",
        "cannot be read as float, and counts as missing: 50 of 1,000 values (5 %)",
    ),
    "bounds are of another currency": (
        replaced(
            'income = { type = "integer", bounds = [0, 200000]',
            'income = { type = "integer", bounds = [0, 500]',
        ),
        "income.bounds",
        "outside [0, 500], and read as the nearest end: 1,000 of 1,000 values (100 %)",
    ),
    "dates beyond their bounds": (
        replaced("bounds = [1930-01-01, 2010-12-31]", "bounds = [1950-01-01, 2010-12-31]"),
        "born.bounds",
        "below and 0 above",
    ),
    "nothing but missing values": (
        column("people", "income", "NULL::INTEGER"),
        "income",
        "no row has a value",
    ),
    "missing values that are said to be there": (
        column("visits", "cost", "CASE WHEN i % 10 > 0 THEN i % 900 END"),
        "cost.nullable",
        "300 of 3,000 rows (10 %)",
    ),
    "several rows of a unit that is unique": (
        column("people", "id", "i // 2"),
        "unique",
        "500 of 500 units (100 %), up to 2 rows",
    ),
    "rows of nobody": (
        column("visits", "person", "CASE WHEN i % 4 > 0 THEN i % 1000 END"),
        "privacy_unit",
        "750 of 3,000 rows (25 %)",
    ),
    "identifiers that are not numbers": (
        lambda world: [
            column("people", "id", "CASE WHEN i % 5 = 0 THEN 'p' || i ELSE i::VARCHAR END", "csv")(
                world
            ),
            replaced(
                "[table.people.column]\n", '[table.people.column]\nid = { type = "integer" }\n'
            )(world),
        ],
        "privacy_unit",
        "200 of 1,000 rows (20 %), 200 with an identifier that cannot be read as one",
    ),
    "a group in place of a person": (
        replaced('privacy_unit = "person"', 'privacy_unit = "kind"'),
        "privacy_unit",
        "there are no more than 3 units",
    ),
    "more rows than the limit": (
        replaced("rows_per_unit_max = 5", "rows_per_unit_max = 2"),
        "rows_per_unit_max",
        "1,000 of 3,000 rows (33.3 %), of 1,000 of 1,000 units (100 %), up to 3 rows",
    ),
    "references that lead nowhere": (
        column("bills", "visit", "i * 2"),
        "privacy_unit.references",
        "leads to no row of visits, and is in no answer: 2,500 of 4,000 rows (62.5 %)",
    ),
    "references that lead to several rows": (
        column("visits", "visit", "i // 2"),
        "privacy_unit.references",
        "leads to several rows of visits",
    ),
    "an empty table": (
        lambda world: world.rows.update(bills=0),
        "[table.bills]",
        "the table is empty",
    ),
    "a delta that gives somebody away": (
        replaced("1e-6", "0.01"),
        "budget",
        "delta is 0.01, with 1,000 units",
    ),
    "the domain of another column": (
        replaced('domain = ["F", "M"]', 'domain = ["Hill", "Harbour"]'),
        "sex.domain",
        "most frequent: 'F', 'M'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_answers_wrong_is_found_at_its_line(world: World, name: str) -> None:
    change, key, words = WRONG[name]
    change(world)
    examination = world.examine()
    assert examination.wrong
    (found,) = [f for f in examination.findings if f.wrong and words in f.message]
    place, _, line = found.place.partition(" (line ")
    assert place.split("] ")[-1] == key
    assert found.remedy
    written = (world.header + world.tables).splitlines()[int(line.rstrip(")")) - 1]
    assert key.split(".")[-1].strip("[]") in written or key.split(".")[0] in written


# what answers are right without, and better with
WORTH_A_LOOK: Mapping[str, tuple[Change, str, str]] = {
    "one value that cannot be read": (
        column(
            "people",
            "height",
            "CASE WHEN i = 7 THEN 'tall' ELSE (150 + i % 50)::VARCHAR END",
            "csv",
        ),
        "height.type",
        "1 of 1,000 values (0.1 %)",
    ),
    "bounds far too wide": (
        replaced(
            'income = { type = "integer", bounds = [0, 200000]',
            'income = { type = "integer", bounds = [0, 2000000]',
        ),
        "income.bounds",
        "times as wide",
    ),
    "a limit that nobody reaches": (
        replaced("rows_per_unit_max = 5", "rows_per_unit_max = 90"),
        "rows_per_unit_max",
        "no unit has more than 3 rows; the limit is 90: noise is for 30 times as many",
    ),
    "a row in place of a person": (
        replaced('privacy_unit = "person"', 'privacy_unit = "visit"'),
        "privacy_unit",
        "visit is different in every row, and a unit may have 5",
    ),
    "a delta of one in a thousand": (
        replaced("1e-6", "0.0005"),
        "budget",
        "would be within the budget",
    ),
    "keys that never occur": (
        replaced('domain = ["F", "M"]', 'domain = ["F", "M", "a", "b", "c"]'),
        "sex.domain",
        "in no row: 3 of 5 keys (60 %)",
    ),
}


@pytest.mark.parametrize("name", WORTH_A_LOOK)
def test_what_makes_answers_less_exact_is_worth_a_look(world: World, name: str) -> None:
    change, key, words = WORTH_A_LOOK[name]
    change(world)
    examination = world.examine()
    assert not examination.wrong
    (found,) = [finding for finding in examination.findings if words in finding.message]
    assert key in found.place


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_data_that_fit_their_policy_raise_no_alarm(world: World, form: str) -> None:
    world.form = form
    assert world.examine() == Examination({"people": 1000, "visits": 3000, "bills": 4000}, ())


def test_the_demo_fits_its_policy(tmp_path: Path) -> None:
    assert examine(load(make_hospital(tmp_path)), lambda words: None).findings == ()


def test_a_database_is_examined_as_its_files_would_be(tmp_path: Path) -> None:
    world = World(tmp_path)
    column("people", "sex", "(i % 2)::VARCHAR")(world)
    by_files = world.examine()
    with duckdb.connect(str(tmp_path / "d.duckdb")) as made:
        for table in world.columns:
            made.execute(f"CREATE TABLE {table} AS FROM '{tmp_path}/data/{table}.parquet'")
    text = (tmp_path / "policy.toml").read_text().replace('"data/"', '"d.duckdb"')
    (tmp_path / "other.toml").write_text(text.replace('name = "d"', 'name = "e"'))
    assert examine(load(tmp_path / "other.toml"), lambda words: None) == by_files


def test_a_rehearsal_reads_no_row(world: World) -> None:
    policy = world.write()
    policy.write_text(policy.read_text().replace("[dataset]\n", "[dataset]\nscratch = true\n"))
    with pytest.raises(PolicyError, match="a scratch account reads no row"):
        examine(load(policy), lambda words: None)


def test_nothing_is_left_behind_and_nothing_is_charged(world: World) -> None:
    policy = load(world.write())
    before = set(policy.ledger.parent.rglob("*"))
    examine(policy, lambda words: None)
    left = set(policy.ledger.parent.rglob("*")) - before
    assert not [path for path in left if "examined" in str(path) or path.suffix == ".duckdb"]
    assert not policy.ledger.exists()


KILLED = """
import os, sys
from pathlib import Path
from sanql.examine import examine
from sanql.policy import load

def killed(words):
    if words.startswith("counting"):
        os.kill(os.getpid(), 9)

examine(load(Path(sys.argv[1])), killed)
"""


def killed_while_counting(policy: Path) -> Path:
    """Return the folder that an examination leaves which is killed once it has its copy."""
    ended = subprocess.run([sys.executable, "-c", KILLED, str(policy)], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    (left,) = load(policy).ledger.parent.glob(".examined-*")
    assert (left / "rows.duckdb").stat().st_size > 0
    return left


@pytest.mark.slow
@pytest.mark.parametrize("command", [("check", "--data"), ("prepare",)])
def test_what_a_killed_command_left_is_removed_by_the_next(
    command: tuple[str, ...], world: World
) -> None:
    policy = world.write()
    left = killed_while_counting(policy)
    assert run(*command, str(policy)).exit_code == 0
    assert not left.exists()


def test_what_another_command_counts_just_now_is_left_to_it(world: World) -> None:
    policy = load(world.write())

    def meanwhile(words: str) -> None:
        if words == "counting people":
            (held,) = policy.ledger.parent.glob(".examined-*")
            remove_leftovers(policy)
            assert (held / "rows.duckdb").exists()

    assert not examine(policy, meanwhile).findings
    assert not [*policy.ledger.parent.glob(".examin*")]


def test_a_link_that_is_called_as_a_leftover_is_not_followed(world: World, tmp_path: Path) -> None:
    policy = load(world.write())
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis").write_text("text")
    (policy.ledger.parent / ".examined-link").symlink_to(tmp_path / "own")
    remove_leftovers(policy)
    assert (tmp_path / "own" / "thesis").exists()


def test_the_command_tells_the_owner_and_fails_where_answers_would_be_wrong(world: World) -> None:
    column("people", "sex", "(i % 2)::VARCHAR")(world)
    policy = world.write()
    assert run("check", str(policy)).exit_code == 0
    told = run("check", "--data", str(policy))
    assert told.exit_code == 1
    assert (
        "rows read: 1,000 of people, 3,000 of visits, 4,000 of bills; nothing was charged"
        in told.output
    )
    assert "WRONG [table.people.column] sex.domain (line" in told.output
    shown = json.loads(run("check", "--data", str(policy), "--format", "json").stdout)
    (found,) = shown["data"]["findings"]
    assert Mismatch(**found).wrong
