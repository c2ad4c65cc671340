"""Several servers on one ledger: one account, whichever policy names it, and no other over its data."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import BudgetExceeded, LedgerError
from sanql.san import San
from support.commands import run
from support.policies import dataset
from support.postgres import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

PEOPLE = '[table.people]\nprivacy_unit = "id"\nunique = true\n[table.people.column]\n'
PEOPLE += 'age = { type = "integer", bounds = [0, 100] }\n'
COUNT = "SELECT COUNT(*) FROM people"
Server = Callable[..., Path]


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry for one test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return tmp_path / "registry"


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return postgres.url(postgres.new_database())


@pytest.fixture
def server(tmp_path: Path, address: str) -> Server:
    """Write a policy into a folder of its own, over the same data."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "people.csv").write_text("id,age\n" + "\n".join(f"{n},{n % 90}" for n in range(50)))

    def write(folder: str, ledger: str = address, epsilon: object = 1) -> Path:
        policy = tmp_path / folder / "policy.toml"
        policy.parent.mkdir(exist_ok=True)
        text = dataset(str(data), name="hospital", epsilon=epsilon, delta=0)
        policy.write_text(f'{text}ledger = "{ledger}"\n{PEOPLE}')
        return policy

    return write


def test_two_servers_share_one_budget_and_what_one_answered_is_free_at_the_other(
    server: Server,
) -> None:
    with San(server("one"), "ana") as one, San(server("two"), "ana") as two:
        first = one.query(COUNT, epsilon="0.5")
        assert two.query(COUNT, epsilon="0.5").rows == first.rows
        assert two.query("SELECT SUM(age) FROM people", epsilon="0.5").rows
        for san in (one, two):
            assert san.budget()[0].spent_upper.epsilon == Fraction(1)
            with pytest.raises(BudgetExceeded):
                san.query("SELECT AVG(age) FROM people", epsilon="0.1")


def test_another_ledger_over_the_same_data_is_refused_wherever_it_would_be(
    server: Server, postgres: PostgresServer, address: str
) -> None:
    with San(server("one"), "ana") as san:
        san.query(COUNT, epsilon="0.5")
    elsewhere = postgres.url(postgres.new_database())
    for ledger in ("hospital.ledger", f"{address}&ledger=other", elsewhere):
        with pytest.raises(LedgerError) as error, San(server("two", ledger), "ana") as other:
            other.query(COUNT, epsilon="0.5")
        assert error.value.code == "account_claimed"
        assert "ledger = 'postgresql://sanql@/ledgers_" in error.value.remedy


def test_a_ledger_in_a_database_is_refused_over_data_of_one_in_a_file(
    server: Server, address: str
) -> None:
    with San(server("one", "hospital.ledger"), "ana") as san:
        san.query(COUNT, epsilon="0.5")
    with pytest.raises(LedgerError) as error, San(server("two"), "ana") as other:
        other.query(COUNT, epsilon="0.5")
    assert error.value.code == "account_claimed"


def test_a_copy_of_the_database_is_another_budget_and_is_refused(
    server: Server, postgres: PostgresServer
) -> None:
    name = postgres.new_database()
    with San(server("one", postgres.url(name)), "ana") as san:
        san.query(COUNT, epsilon="0.5")
    postgres.run(f"CREATE DATABASE {name}_copy TEMPLATE {name} OWNER sanql")
    with pytest.raises(LedgerError) as error:
        San(server("two", postgres.url(f"{name}_copy")), "ana")
    assert error.value.code == "account_elsewhere"


def test_every_command_about_an_account_works_where_it_is_in_a_database(server: Server) -> None:
    policy = server("one", epsilon=3)
    assert run("check", policy).exit_code == 0
    missing = run("ledger", "list", "-p", policy)
    assert missing.exit_code == 5 and "there is no ledger 'postgresql://sanql@/" in missing.output
    asked = run("query", COUNT, "-p", policy, "--epsilon", "1")
    assert asked.exit_code == 0, asked.output
    done = {
        words: run(*words.split(), "-p", policy)
        for words in (
            "check",
            "budget",
            "account show",
            "ledger list",
            "ledger export",
            "ledger verify",
            "ledger reset-failures",
            "refresh",
            "account move",
            "user add ana --role analyst",
            "user list",
        )
        if words != "check"
    }
    assert {words: d.output for words, d in done.items() if d.exit_code} == {}
    assert "postgresql://sanql@/" in done["account show"].output
    records = [json.loads(line) for line in done["ledger export"].output.splitlines()]
    assert [record["kind"] for record in records].count("reserve") == 1
    assert run("ledger", "verify", "-p", policy).exit_code == 0
    assert sorted(path.name for path in policy.parent.iterdir()) == [
        "hospital.cache",
        "hospital.ledger.head",
        "hospital.ledger.head.lock",
        "hospital.stamps",
        "policy.toml",
    ]
    closed = run("account", "retire", "--because", "done", "-p", policy)
    assert closed.exit_code == 0 and run("ledger", "verify", "-p", policy).exit_code == 0


def test_an_account_that_was_lost_in_the_database_is_given_up_there(
    server: Server, postgres: PostgresServer
) -> None:
    name = postgres.new_database()
    policy = server("one", postgres.url(name))
    with San(policy, "ana") as san:
        san.query(COUNT, epsilon="0.5")
    sound = run("account", "retire", "--lost", "--because", "no", "-p", policy)
    assert sound.exit_code == 5 and "account_not_lost" in sound.output
    postgres.run(
        "SET session_replication_role = replica; DELETE FROM sanql.record WHERE sequence > 2",
        database=name,
    )
    assert "ledger_rolled_back" in run("account", "show", "-p", policy).output
    done = run("account", "retire", "--lost", "--because", "an old copy", "-p", policy)
    assert done.exit_code == 0 and "hospital.lost-" in done.output
    with San(policy, "ana") as san:
        assert san.query(COUNT, epsilon="0.5").rows
