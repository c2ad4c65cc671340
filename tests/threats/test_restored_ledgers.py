"""A ledger that is put back is a rollback: its owner says so on record, and what was spent stays so."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import Result

from sanql.account import Charge, LaplaceEvent, account_terms, read_backup
from sanql.account.ledger.refusals import check_exact_open
from sanql.account.stores import putting_back
from sanql.errors import BudgetExceeded, LedgerError, Refused
from sanql.policy import load
from sanql.san import San
from sanql.sources import restore_account
from support.commands import run
from support.interrupts import interrupted_at
from support.policies import dataset
from support.postgres import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

PEOPLE = '[table.people]\nprivacy_unit = "id"\nunique = true\n[table.people.column]\n'
PEOPLE += 'age = { type = "integer", bounds = [0, 100] }\n'
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry for one test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return tmp_path / "registry"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "people.csv").write_text("id,age\n" + "\n".join(f"{n},{n % 90}" for n in range(50)))
    return folder


@pytest.fixture
def write(tmp_path: Path, data: Path) -> Write:
    """Write a policy over the data; its ledger is a file beside it, or what is said."""

    def text(
        ledger: str = "hospital.ledger",
        *,
        folder: str = "one",
        epsilon: object = 2,
        accounting: str = "pure",
        more: str = "",
    ) -> Path:
        policy = tmp_path / folder / "policy.toml"
        policy.parent.mkdir(exist_ok=True)
        delta = "1e-6" if accounting == "renyi" else 0
        head = dataset(
            str(data), name="hospital", epsilon=epsilon, delta=delta, accounting=accounting
        )
        policy.write_text(f'{head}ledger = "{ledger}"\n{more}{PEOPLE}')
        return policy

    return text


@pytest.fixture(params=["file", "database"])
def ledger(request: pytest.FixtureRequest) -> str:
    """Where the account is kept."""
    if request.param == "file":
        return "hospital.ledger"
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return postgres.url(postgres.new_database())


def charge(policy: Path, number: int, epsilon: str = "0.25", analyst: str = "ana") -> None:
    """Charge and answer one question, without asking an engine."""
    exact = Fraction(epsilon)
    event = LaplaceEvent(1 / exact, 1, 1)
    with San(load(policy), analyst) as san:
        made = san.ledger.reserve(analyst, f"{number:064x}", Charge((event,), exact, Fraction(0)))
        san.ledger.spend(made, f"answer {number}".encode())


def left(policy: Path) -> Fraction:
    with San(load(policy), "ana") as san:
        return san.budget()[0].remaining_lower.epsilon


def done(*words: object) -> Result:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def refused(code: str, *words: object) -> str:
    result = run(*words)
    assert result.exit_code == 5 and f"[{code}]" in result.output, result.output
    return result.output


def lose(policy: Path, postgres: PostgresServer | None = None) -> None:
    """Lose the ledger as a broken disk does; what is pinned elsewhere stays."""
    place = load(policy).ledger_database
    if place is None:
        for path in policy.parent.glob("hospital.ledger*"):
            if not path.name.endswith((".head", ".lock")):
                path.unlink()
    else:
        assert postgres is not None
        statement = "UPDATE sanql.ledger SET name = 'lost ' || id"
        postgres.run(statement, database=place.database)


# ---- nothing is missing


def test_a_backup_is_the_owners_alone_and_never_replaced(write: Write, tmp_path: Path) -> None:
    policy, backup = write(), tmp_path / "backup"
    refused("ledger_missing", "ledger", "backup", backup, "-p", policy)
    charge(policy, 1)
    assert "7 records" not in done("ledger", "backup", backup, "-p", policy).output
    assert backup.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if "backup" in path.name) == ["backup"]
    before = backup.read_bytes()
    assert "is there already" in refused(
        "backup_unwritable", "ledger", "backup", backup, "-p", policy
    )
    assert backup.read_bytes() == before
    nowhere = tmp_path / "nowhere" / "backup"
    assert "cannot be written" in refused(
        "backup_unwritable", "ledger", "backup", nowhere, "-p", policy
    )


def test_an_account_moves_between_a_file_and_a_database_and_back_without_loss(
    write: Write, postgres: PostgresServer, tmp_path: Path
) -> None:
    """No word is needed, for nothing is missing; the places that it left are closed."""
    address = postgres.url(postgres.new_database())
    policy = write()
    done("user", "add", "ana", "--role", "analyst", "-p", policy)
    people = done("user", "list", "-p", policy).output
    for number, place in enumerate((address, "hospital.ledger", address)):
        charge(policy, number)
        before = [
            json.loads(line) for line in done("ledger", "export", "-p", policy).output.splitlines()
        ]
        backup = tmp_path / f"backup {number}"
        done("ledger", "backup", backup, "-p", policy)
        old = policy.read_text()
        policy = write(place)
        said = done("ledger", "restore", backup, "-p", policy).output
        assert "set aside" in said and "are missing" not in said
        after = [
            json.loads(line) for line in done("ledger", "export", "-p", policy).output.splitlines()
        ]
        assert after[: len(before)] == before
        assert {record["kind"] for record in after[len(before) :]} <= {"move", "pin"}
        assert done("user", "list", "-p", policy).output == people
        with San(load(policy), "ana") as san:
            for asked in range(number + 1):
                assert san.ledger.find("ana", f"{asked:064x}") == f"answer {asked}".encode()
        policy.write_text(old)  # who did not hear of it finds nothing there, and begins nothing
        assert run("budget", "-p", policy).exit_code == 5
        policy = write(place)
    assert left(policy) == Fraction(2) - 3 * Fraction(1, 4)
    done("ledger", "verify", "-p", policy)


def test_a_backup_is_not_put_over_a_ledger_that_has_all_of_it(
    write: Write, ledger: str, tmp_path: Path
) -> None:
    policy, backup = write(ledger), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    for because in ([], ["--because", "I want to"]):
        refused("restore_not_needed", "ledger", "restore", backup, "-p", policy, *because)
    charge(policy, 2)
    refused("restore_not_needed", "ledger", "restore", backup, "-p", policy, "--because", "again")
    refused(
        "restore_not_needed", "ledger", "restore", "-p", policy, "--because", "nothing is missing"
    )
    assert left(policy) == Fraction(3, 2)


def test_a_ledger_that_is_used_on_where_it_was_is_not_moved_away_from(
    write: Write, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Its records since the backup would be forgotten."""
    policy, backup = write(), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    charge(policy, 2)
    moved = write(postgres.url(postgres.new_database()), folder="two")
    said = refused(
        "account_elsewhere", "ledger", "restore", backup, "-p", moved, "--because", "to move"
    )
    assert "has records that the backup lacks" in said
    assert left(policy) == Fraction(3, 2)


def test_the_backup_of_another_account_is_refused(
    write: Write, ledger: str, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, backup = write(), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    (data / ".sanql-account").unlink(missing_ok=True)
    others = tmp_path / "others"
    shutil.copytree(data, others, ignore=shutil.ignore_patterns("*.sanql-account"))
    other = write(ledger, folder="two")
    other.write_text(other.read_text().replace(str(data), str(others)))
    charge(other, 1)
    refused("restore_other_ledger", "ledger", "restore", backup, "-p", other, "--because", "x")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE record SET body = replace(body, '1/4', '1/9')",
        "DELETE FROM record WHERE sequence = (SELECT max(sequence) FROM record)",
        "UPDATE answer SET content = x'00'",
        "DELETE FROM answer",
        "INSERT INTO note VALUES ('person', 'eve', x'00')",
        "UPDATE about SET value = '2020-01-01' WHERE key = 'taken'",
        "DROP TABLE about",
    ],
)
def test_a_backup_that_was_changed_is_refused(write: Write, tmp_path: Path, statement: str) -> None:
    policy, backup = write(), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    with sqlite3.connect(backup) as connection:
        connection.execute(statement)
    connection.close()
    lose(policy)
    refused("backup_damaged", "ledger", "restore", backup, "-p", policy, "--because", "x")
    refused("backup_damaged", "ledger", "restore", policy, "-p", policy, "--because", "x")
    refused(
        "backup_missing", "ledger", "restore", tmp_path / "none", "-p", policy, "--because", "x"
    )


# ---- records are missing


@pytest.fixture
def lost(
    write: Write, ledger: str, tmp_path: Path, request: pytest.FixtureRequest
) -> tuple[Path, Path]:
    """A policy with a budget of 2, of which a half was spent, and a backup from when a quarter was."""
    policy, backup = write(ledger), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    charge(policy, 2)
    lose(policy, None if ledger == "hospital.ledger" else request.getfixturevalue("postgres"))
    refused("ledger_missing", "budget", "-p", policy)
    return policy, backup


def test_without_the_owners_word_no_older_copy_goes_on(lost: tuple[Path, Path]) -> None:
    policy, backup = lost
    for because in ([], ["--because", " "]):
        said = refused("restore_unexplained", "ledger", "restore", backup, "-p", policy, *because)
        assert "2 records are missing" in said and "--spent-since" in said
    refused("ledger_missing", "budget", "-p", policy)


def test_everything_that_the_budget_allows_counts_as_spent_since_nobody_knows(
    lost: tuple[Path, Path], write: Write, ledger: str
) -> None:
    policy, backup = lost
    said = done("ledger", "restore", backup, "-p", policy, "--because", "the disk died").output
    assert "2 records or more" in said and "everything that the budgets had allowed" in said
    assert left(policy) == 0
    with pytest.raises(BudgetExceeded):
        charge(policy, 3, "0.001")
    with San(load(policy), "ana") as san:
        assert san.ledger.find("ana", f"{1:064x}") == b"answer 1", "what is on record stays free"
    for words in (["budget"], ["account", "show"], ["ledger", "verify"], ["ledger", "list"]):
        told = " ".join(done(*words, "-p", policy).output.split())
        assert "missing" in told and "the disk died" in told, (words, told)
    found = json.loads(done("ledger", "verify", "-p", policy, "--format", "json").output)
    assert found["missing"] and found["missing"][0]["records"] == 2
    more = write(ledger, epsilon=3)  # the owner promises one more
    assert left(more) == 1
    charge(more, 3, "1")
    with pytest.raises(BudgetExceeded):
        charge(more, 4, "0.001")
    done("ledger", "verify", "-p", more)


def test_a_budget_that_was_raised_after_the_backup_counts_as_spent_too(
    write: Write, tmp_path: Path
) -> None:
    policy, backup = write(), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    policy = write(epsilon=5)
    charge(policy, 2, "4")
    lose(policy)
    done("ledger", "restore", backup, "-p", policy, "--because", "the disk died")
    assert left(policy) == 0
    done("ledger", "verify", "-p", policy)


@pytest.mark.parametrize("accounting", ["pure", "renyi"])
def test_what_the_owner_states_counts_in_every_account(
    write: Write, ledger: str, tmp_path: Path, request: pytest.FixtureRequest, accounting: str
) -> None:
    own = "budget = { epsilon = 1, delta = 1e-7 }"
    own = own if accounting == "renyi" else "budget = { epsilon = 1 }"
    analysts = f"[analyst.ana]\n{own}\n[analyst.bob]\n"
    policy, backup = write(ledger, accounting=accounting, more=analysts), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    charge(policy, 2)
    with San(load(policy), "ana") as san:
        before = [balance.remaining_lower.epsilon for balance in san.budget()]
    lose(policy, None if ledger == "hospital.ledger" else request.getfixturevalue("postgres"))
    stated = ("--because", "the disk died", "--spent-since", "0.25")
    said = done("ledger", "restore", backup, "-p", policy, *stated).output
    assert "epsilon 0.25, delta 0, as the owner states" in said
    with San(load(policy), "ana") as san:
        after = [balance.remaining_lower.epsilon for balance in san.budget()]
    assert all(now <= then for now, then in zip(after, before, strict=True))
    assert all(now > then - Fraction(1, 100) for now, then in zip(after, before, strict=True))
    late = write(
        ledger,
        accounting=accounting,
        more=f"{analysts}{own}\n",
    )
    with San(load(late), "bob") as san:
        bob = [balance for balance in san.budget() if balance.account == "bob"]
        assert bob[0].remaining_lower.epsilon <= Fraction(3, 4), "it may have been bob who asked"
    done("ledger", "verify", "-p", late)


def test_tables_that_joined_in_missing_records_go_on_and_no_private_one_joins_afterwards(
    write: Write, data: Path, tmp_path: Path
) -> None:
    policy, backup = write(), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    table = '[table.visits]\nprivacy_unit = "id"\nrows_per_unit_max = 2\n'
    for name in ("visits", "bills"):
        (data / f"{name}.csv").write_text("id\n1\n")
    write(more=table)
    charge(policy, 2)
    lose(policy)
    why = ["--because", "the disk died", "--spent-since", "0.25"]
    done("ledger", "restore", backup, "-p", policy, *why)
    charge(policy, 3)
    assert left(policy) == Fraction(5, 4)
    write(more=table + table.replace("visits", "bills"))
    assert "does not say which tables were public" in refused(
        "ledger_terms", "budget", "-p", policy
    )
    write(more=table)
    done("ledger", "verify", "-p", policy)


def test_exact_answers_are_closed_since_cells_may_have_left(lost: tuple[Path, Path]) -> None:
    policy, backup = lost
    done("ledger", "restore", backup, "-p", policy, "--because", "x", "--spent-since", "0.25")
    with San(load(policy), "ana") as san, pytest.raises(Refused, match="exact cells"):
        check_exact_open(san.ledger.owner.state)


def test_the_ledger_that_was_lost_does_not_come_back(
    lost: tuple[Path, Path], tmp_path: Path
) -> None:
    """It was given up on record: its head is no longer the newest that is known."""
    policy, backup = lost
    done("ledger", "restore", backup, "-p", policy, "--because", "x", "--spent-since", "0.25")
    charge(policy, 3)
    newest = tmp_path / "newest"
    done("ledger", "backup", newest, "-p", policy)
    place = load(policy).ledger_database
    if place is None:
        held = policy.parent / "hospital.ledger"
        held.unlink()
    refused_by = run("ledger", "restore", backup, "-p", policy)
    assert refused_by.exit_code == 5, "a second loss needs a second word"
    if place is None:
        done("ledger", "restore", newest, "-p", policy)
    assert left(policy) == Fraction(2) - 3 * Fraction(1, 4)


def test_what_was_put_back_by_other_means_goes_on_with_the_owners_word(
    write: Write, ledger: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A database's own recovery, or a copied file: the command records it, and copies nothing."""
    policy = write(ledger)
    charge(policy, 1)
    place = load(policy).ledger_database
    if place is None:
        shutil.copytree(policy.parent, tmp_path / "copy")
    charge(policy, 2)
    if place is None:
        for file in (tmp_path / "copy").glob("hospital.ledger*"):
            if not file.name.endswith((".head", ".lock")):
                shutil.copy(file, policy.parent / file.name)
        for name in ("-wal", "-shm"):
            (policy.parent / f"hospital.ledger{name}").unlink(missing_ok=True)
    else:
        request.getfixturevalue("postgres").run(
            "SET session_replication_role = replica",
            "DELETE FROM sanql.answer WHERE reservation > 5",
            database=place.database,
        )
        _put_back(request.getfixturevalue("postgres"), place.database)
    refused("ledger_rolled_back", "budget", "-p", policy)
    refused("restore_unexplained", "ledger", "restore", "-p", policy)
    said = done("ledger", "restore", "-p", policy, "--because", "recovered to noon").output
    assert "set aside" not in said and "are missing" in said
    assert left(policy) == 0
    done("ledger", "verify", "-p", policy)


def _put_back(postgres: PostgresServer, database: str) -> None:
    """Take away the records of the last question, and pin the one before."""
    postgres.run(
        "DO $$ DECLARE n bigint; BEGIN SET LOCAL session_replication_role = replica;"
        " SELECT max(sequence) - 2 INTO n FROM sanql.record;"
        " DELETE FROM sanql.record WHERE sequence > n;"
        " DELETE FROM sanql.answer a WHERE NOT EXISTS (SELECT FROM sanql.record r WHERE"
        " r.kind = 'spend' AND r.body LIKE '%\"reservation\":' || a.reservation || ',%');"
        " DELETE FROM sanql.note WHERE kind <> 'person';"
        " UPDATE sanql.ledger SET head_sequence = n, head_hash ="
        " (SELECT hash FROM sanql.record WHERE sequence = n); END $$",
        database=database,
    )


def test_a_damaged_ledger_is_set_aside_and_what_of_it_can_be_read_is_known_to_be_lost(
    write: Write, tmp_path: Path, registry: Path
) -> None:
    policy, backup = write(), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    charge(policy, 2)
    charge(policy, 3)
    file = policy.parent / "hospital.ledger"
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TRIGGER record_UPDATE")
        connection.execute(
            "UPDATE record SET body = 'x' WHERE sequence = (SELECT max(sequence) FROM record)"
        )
    connection.close()
    for head in [*policy.parent.glob("*.head"), *registry.rglob("*.head")]:
        head.unlink()
    refused("restore_unexplained", "ledger", "restore", backup, "-p", policy)
    said = done("ledger", "restore", backup, "-p", policy, "--because", "a bad sector").output
    assert "4 records or more" in said and "hospital.ledger.before-" in said
    assert left(policy) == 0


def test_a_backup_from_before_the_account_had_a_name_is_refused(
    write: Write, tmp_path: Path
) -> None:
    policy, backup = write(), tmp_path / "backup"
    San(load(policy), "ana").close()
    done("ledger", "backup", backup, "-p", policy)
    charge(policy, 1)
    lose(policy)
    refused("backup_too_old", "ledger", "restore", backup, "-p", policy, "--because", "x")


@pytest.mark.parametrize("there", [True, False], ids=["damaged", "gone"])
def test_interrupted_at_any_line_while_it_is_put_back_it_never_goes_on_without_the_owners_word(
    write: Write, tmp_path: Path, registry: Path, *, there: bool
) -> None:
    """And the same command finishes it."""
    policy, backup = write(), tmp_path / "backup"
    charge(policy, 1)
    done("ledger", "backup", backup, "-p", policy)
    charge(policy, 2)
    lose(policy)
    if there:
        (policy.parent / "hospital.ledger").write_bytes(b"not a database at all")
    loaded, copied = load(policy), read_backup(backup)
    shutil.copytree(policy.parent, tmp_path / "before")
    shutil.copytree(registry, tmp_path / "before registry")
    for line in range(1, 200):
        for now, then in ((policy.parent, "before"), (registry, "before registry")):
            shutil.rmtree(now)
            shutil.copytree(tmp_path / then, now)
        try:
            with interrupted_at(line, putting_back):
                restore_account(loaded, account_terms(loaded), copied, reason="the disk died")
        except KeyboardInterrupt:
            pass
        else:
            break
        try:
            assert left(policy) == 0, (line, "it is in its place, and says what is missing")
        except LedgerError:
            restore_account(loaded, account_terms(loaded), copied, reason="the disk died")
            assert left(policy) == 0, line
    assert line > 15
