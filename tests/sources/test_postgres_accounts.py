"""An account over tables of PostgreSQL: a snapshot is a version, and the tables are the account's."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import sanql
from sanql.errors import LedgerError, PolicyError
from sanql.policy import load
from sources.postgres_tables import COUNT, People, Statements
from support.commands import run as command
from support.samplers import SilentSampler

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


def test_a_snapshot_stays_until_the_owner_refreshes_and_the_account_goes_on(
    people: People, policy: Path
) -> None:
    people(7)
    with sanql.San(load(policy), sampler=SilentSampler()) as san:
        assert san.query(COUNT, epsilon="0.1").rows == [(7,)]
        people(9)
        assert san.query(COUNT, epsilon="0.1").cached
        assert san.query("SELECT SUM(age) FROM people", epsilon="0.1").rows == [(20 * 7 + 21,)]
        assert san.refresh().number == 2
        assert san.query(COUNT, epsilon="0.1").rows == [(9,)]
        (spent,) = {balance.spent_upper.epsilon for balance in san.balances()}
    assert spent == Fraction(3, 10)
    people(11)
    with sanql.San(load(policy), sampler=SilentSampler()) as san:
        assert san.query(COUNT, epsilon="0.1").cached, "opening it again changes nothing"


def test_a_second_account_over_the_same_tables_is_refused(
    run: Statements, people: People, policy: Path, tmp_path: Path
) -> None:
    people(5)
    with sanql.San(load(policy)) as san:
        san.query(COUNT, epsilon="0.1")
    (tmp_path / "other").mkdir()
    second = tmp_path / "other" / "second.toml"
    for text, change in (
        (policy.read_text(), ()),
        (policy.read_text().replace("people", "folk"), ("ALTER TABLE people RENAME TO folk",)),
        (
            policy.read_text()
            .replace("people", "folk")
            .replace("[dataset]\n", '[dataset]\nschemas = ["b", "public"]\n'),
            ("CREATE SCHEMA b", "GRANT USAGE ON SCHEMA b TO sanql", "ALTER TABLE folk SET SCHEMA b"),
        ),
    ):  # fmt: skip
        run(*change)
        second.write_text(text.replace('name = "town"', 'name = "village"'))
        with pytest.raises(LedgerError) as caught:
            sanql.open(second)
        assert caught.value.code == "account_claimed"
        assert [*second.parent.rglob("*.parquet")] == [], "no row was read"
    run("ALTER TABLE b.folk SET SCHEMA public", "ALTER TABLE folk RENAME TO people")
    run(
        "CREATE TABLE copied AS TABLE people",
        "DROP TABLE people",
        "ALTER TABLE copied RENAME TO people",
    )
    run("GRANT SELECT ON people TO sanql")
    second.write_text(policy.read_text().replace('name = "town"', 'name = "village"'))
    with pytest.raises(LedgerError) as caught:
        sanql.open(second)
    assert caught.value.code == "account_claimed", "it is in the place of one that was claimed"


def test_a_part_of_a_table_is_the_tables_and_the_other_way_round(
    run: Statements, people: People, policy: Path, tmp_path: Path
) -> None:
    people(1)
    run(
        "DROP TABLE people",
        "CREATE TABLE people (person_id int, age int) PARTITION BY RANGE (age)",
        "CREATE TABLE young PARTITION OF people FOR VALUES FROM (0) TO (30)",
        "CREATE TABLE old PARTITION OF people FOR VALUES FROM (30) TO (200)",
        "INSERT INTO people VALUES (1, 20), (2, 40)",
        "GRANT SELECT ON people, young, old TO sanql",
    )
    (tmp_path / "part").mkdir()
    part = tmp_path / "part" / "policy.toml"
    text = policy.read_text().replace('name = "town"', 'name = "youth"')
    part.write_text(text.replace("table.people", "table.young"))
    with sanql.San(load(part), sampler=SilentSampler()) as san:
        assert san.query("SELECT COUNT(*) FROM young", epsilon="0.1").rows == [(1,)]
    with pytest.raises(LedgerError, match="another account"):
        sanql.open(policy)
    part.write_text(part.read_text().replace("table.young", "table.old").replace("youth", "age"))
    with sanql.San(load(part), sampler=SilentSampler()) as san:
        assert san.query("SELECT COUNT(*) FROM old", epsilon="0.1").rows == [(1,)]


def test_a_new_part_of_a_claimed_table_is_its_accounts(
    run: Statements, policy: Path, people: People, tmp_path: Path
) -> None:
    people(1)
    run(
        "DROP TABLE people",
        "CREATE TABLE people (person_id int, age int) PARTITION BY RANGE (age)",
        "CREATE TABLE young PARTITION OF people FOR VALUES FROM (0) TO (30)",
        "GRANT SELECT ON people TO sanql",
    )
    with sanql.San(load(policy)) as san:
        san.query(COUNT, epsilon="0.1")
    run("CREATE TABLE old PARTITION OF people FOR VALUES FROM (30) TO (200)")
    run("GRANT SELECT ON old TO sanql")
    (tmp_path / "part").mkdir()
    part = tmp_path / "part" / "policy.toml"
    part.write_text(policy.read_text().replace("table.people", "table.old"))
    with pytest.raises(LedgerError, match="another account"):
        sanql.open(part)


def test_a_private_table_is_not_public_under_another_name_or_policy(
    run: Statements, people: People, policy: Path, tmp_path: Path
) -> None:
    people(5)
    with sanql.San(load(policy)) as san:
        san.query(COUNT, epsilon="0.1")
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "policy.toml"
    text = policy.read_text()
    public = (
        text[: text.index("[table.people]")]
        + '[table.people]\npublic = true\n[table.x]\nprivacy_unit = "id"\nunique = true\n'
    )
    other.write_text(public.replace('name = "town"', 'name = "open"'))
    run("CREATE TABLE x (id int)", "GRANT SELECT ON x TO sanql")
    with pytest.raises(LedgerError, match="another account"):
        sanql.open(other)
    run(
        "ALTER TABLE people RENAME TO cities_",
        "DROP TABLE cities",
        "ALTER TABLE cities_ RENAME TO cities",
    )
    run("CREATE TABLE people (person_id int, age int)", "GRANT SELECT ON people TO sanql")
    with sanql.open(policy) as san, pytest.raises(LedgerError) as caught:
        san.refresh()
    assert caught.value.code == "private_called_public"


def test_a_rehearsal_takes_no_snapshot(people: People, policy: Path) -> None:
    people(5)
    rehearsed = policy.with_name("rehearsed.toml")
    rehearsed.write_text(policy.read_text().replace("[dataset]\n", "[dataset]\nscratch = true\n"))
    with sanql.open(rehearsed) as san, pytest.raises(PolicyError, match="reads no row"):
        san.explain(COUNT, epsilon="0.1")
    assert not (policy.parent / "town.tables").exists()
    sanql.open(policy).close()
    with sanql.open(rehearsed) as san:
        assert san.explain(COUNT, epsilon="0.1")


def test_what_the_snapshot_is_without_is_told_with_a_remedy(
    run: Statements, people: People, policy: Path
) -> None:
    people(5)
    with sanql.open(policy) as san:
        san.query(COUNT, epsilon="0.1")
    text = policy.read_text()
    policy.write_text(text.replace("age = {", 'name = { type = "text" }\nage = {'))
    with sanql.open(policy) as san:
        with pytest.raises(PolicyError, match=r"without the column name; .*sanql refresh"):
            san.query("SELECT AVG(age) FROM people", epsilon="0.1")
        assert san.refresh().number == 2
        san.query("SELECT AVG(age) FROM people", epsilon="0.1")
    policy.write_text(text.replace("[dataset]\n", '[dataset]\nschemas = ["public"]\n'))
    with sanql.open(policy) as san:
        with pytest.raises(PolicyError, match=r"is of postgresql:.*, not of .*schemas=public"):
            san.query("SELECT SUM(age) FROM people", epsilon="0.1")
        assert san.refresh().number == 3


def test_the_command_checks_before_and_refreshes_after(
    run: Statements, people: People, policy: Path
) -> None:
    people(5)
    checked = command("check", str(policy))
    assert checked.exit_code == 0, checked.output
    assert "no snapshot has been taken of it yet" in " ".join(checked.output.split())
    assert not (policy.parent / "town.tables").exists(), "no row was read"
    run("ALTER TABLE people RENAME COLUMN age TO years")
    refused = command("check", str(policy))
    assert refused.exit_code == 2 and 'no column "age"' in " ".join(refused.output.split())
    run("ALTER TABLE people RENAME COLUMN years TO age")
    assert command("refresh", str(policy)).exit_code == 0
    assert (policy.parent / "town.tables" / "people.parquet").exists()
    assert "snapshot" not in command("check", str(policy)).output
