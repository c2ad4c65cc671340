"""A ledger in a database: what is refused, what passes, and what nobody is told."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from account.store_contract import TERMS, digest, tenth
from sanql.account import Owner, Rename, account_terms
from sanql.account.ledger.chain import read_pinned
from sanql.account.ledger.ledger import Ledger
from sanql.account.stores import postgres_connection
from sanql.account.stores.opening import is_there
from sanql.account.stores.postgres import PostgresStore
from sanql.audit.ledger import verify
from sanql.errors import LedgerError
from sanql.policy import Budget, LedgerDatabase, Policy, named_place
from sanql.policy.model import Column, ColumnUnit, Table
from support.breaking_wire import Breaking, BreakingWire
from support.postgres import PASSWORD, PostgresServer, ledger_in

MakePolicy = Callable[..., Policy]


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def place(postgres: PostgresServer, database: str) -> LedgerDatabase:
    return ledger_in(postgres, database)


@pytest.fixture
def policy(make_policy: MakePolicy, place: LedgerDatabase) -> Policy:
    """A budget of one for everybody together, kept in the database."""
    return make_policy(
        ledger_database=place,
        budget=Budget(Fraction(1), Fraction(0)),
        analysts={},
        coalitions={},
        failures_max=99,
    )


@pytest.fixture
def owner(postgres: PostgresServer, database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.as_owner(database), autocommit=True) as connection:
        yield connection


def number_of(owner: psycopg.Connection, place: LedgerDatabase) -> int:
    found = owner.execute("SELECT id FROM sanql.ledger WHERE name = %s", (place.ledger,)).fetchone()
    assert found is not None
    return int(found[0])


def put_back(owner: psycopg.Connection, place: LedgerDatabase, count: int) -> None:
    """Do what restoring an old copy of the database does: its newest records and its head are gone."""
    ledger = number_of(owner, place)
    with owner.transaction():
        owner.execute("SET LOCAL session_replication_role = replica")
        owner.execute(
            "DELETE FROM sanql.record WHERE ledger = %s AND sequence > %s", (ledger, count)
        )
        owner.execute("DELETE FROM sanql.answer WHERE ledger = %s", (ledger,))
        query = "UPDATE sanql.ledger SET (head_sequence, head_hash) = (SELECT sequence, hash FROM"
        query += " sanql.record WHERE ledger = %s AND sequence = %s) WHERE id = %s"
        owner.execute(query, (ledger, count, ledger))


def break_connections(owner: psycopg.Connection) -> None:
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sanql'"
    )
    owner.execute(query + " AND datname = current_database()")


def refused(act: Callable[[], object]) -> LedgerError:
    with pytest.raises(LedgerError) as error:
        act()
    return error.value


# ---- one account over servers


def test_each_server_pins_a_head_of_its_own_beside_its_policy(policy: Policy) -> None:
    other = replace(policy, ledger=policy.ledger.parent / "elsewhere.ledger")
    with Ledger.open(policy, TERMS) as one, Ledger.open(other, TERMS) as two:
        one.reserve("ana", digest(1), tenth())
        two.reserve("ana", digest(2), tenth())
        assert one.balances() == two.balances()
    heads = [
        read_pinned(each.ledger.with_name(f"{each.ledger.name}.head")) for each in (policy, other)
    ]
    assert [head and head.sequence for head in heads] == [3, 4]
    assert not policy.ledger.exists()
    assert verify(policy.ledger_place).sound


def test_a_database_put_back_to_an_earlier_state_is_found_out_by_a_server_that_was_there(
    policy: Policy, owner: psycopg.Connection, place: LedgerDatabase
) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        for number in range(3):
            ledger.reserve("ana", digest(number), tenth())
    put_back(owner, place, 4)
    error = refused(lambda: Ledger.open(policy, TERMS))
    assert error.code == "ledger_rolled_back" and "record 5 is missing" in error.message
    rows = owner.execute(
        "SELECT count(*) FROM sanql.record WHERE ledger = %s", (number_of(owner, place),)
    )
    assert rows.fetchone() == (4,), "nothing was appended to the older one"
    new = replace(policy, ledger=policy.ledger.parent / "new.ledger")
    Ledger.open(new, TERMS).close()  # nobody has told this server of record 5


def test_a_ledger_that_is_gone_from_the_database_is_never_begun_anew(
    policy: Policy, owner: psycopg.Connection, place: LedgerDatabase
) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("ana", digest(1), tenth())
    owner.execute("UPDATE sanql.ledger SET name = 'gone' || id WHERE name = %s", (place.ledger,))
    assert not is_there(place)
    assert refused(lambda: Ledger.open(policy, TERMS)).code == "ledger_missing"


def test_a_ledger_that_is_replaced_while_it_is_open_is_refused(
    policy: Policy, owner: psycopg.Connection, place: LedgerDatabase
) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        owner.execute("UPDATE sanql.ledger SET made = 'x' WHERE name = %s", (place.ledger,))
        error = refused(lambda: ledger.reserve("ana", digest(1), tenth()))
    assert error.code == "ledger_rolled_back" and "has been replaced" in error.message


def test_ledgers_of_one_database_are_apart(postgres: PostgresServer, database: str) -> None:
    stores = [PostgresStore(ledger_in(postgres, database)) for _ in range(2)]
    one, other = stores
    with one.writing():
        one.write_note("text", "a", b"mine")
        with other.writing():  # it has a lock of its own
            assert other.note("text", "a") is None and [*other.notes("text")] == []
            other.write_note("text", "a", b"other")
    with one.reading():
        assert [*one.notes("text")] == [("a", b"mine")]
    assert one.identity() != other.identity()
    for store in stores:
        store.close()


def test_one_ledger_has_one_identity_whatever_address_leads_to_it_and_a_copy_has_another(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    name = postgres.new_database()
    store = PostgresStore(ledger_in(postgres, name, "town"))
    by_address = PostgresStore(_over_tcp(postgres, name, "town"))
    assert by_address.identity() == store.identity()
    by_address.close()
    store.close()
    postgres.run(f"CREATE DATABASE {name}_copy TEMPLATE {name} OWNER sanql")
    copy = PostgresStore(ledger_in(postgres, f"{name}_copy", "town"))
    assert copy.identity() != store.identity()
    copy.close()


def test_not_even_the_owner_of_the_tables_changes_what_is_kept(
    postgres: PostgresServer, database: str, place: LedgerDatabase
) -> None:
    PostgresStore(place).close()
    mine = postgres.as_owner(database).replace("user=postgres", "user=sanql")
    with psycopg.connect(mine, autocommit=True) as connection:
        for table in ("record", "answer"):
            for statement in ("DELETE FROM", "TRUNCATE"):
                with pytest.raises(psycopg.Error, match="append-only"):
                    connection.execute(f"{statement} sanql.{table}")
            with pytest.raises(psycopg.Error, match="append-only"):
                connection.execute(f"UPDATE sanql.{table} SET ledger = ledger")


# ---- what passes


def test_a_connection_that_was_lost_between_questions_is_made_anew_unnoticed(
    policy: Policy, owner: psycopg.Connection
) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        for number in range(3):
            break_connections(owner)
            ledger.reserve("ana", digest(number), tenth())
            break_connections(owner)
            assert ledger.balances()[0].spent_upper.epsilon == Fraction(number + 1, 10)


def test_a_connection_that_is_lost_within_a_write_leaves_nothing_of_it_and_the_next_goes_on(
    place: LedgerDatabase, owner: psycopg.Connection
) -> None:
    store = PostgresStore(place)
    with pytest.raises(store.faults) as fault, store.writing():
        store.write_note("text", "a", b"lost")
        break_connections(owner)
        store.write_note("text", "b", b"lost")
    assert store.explained(fault.value, 1, ()).code == "ledger_unavailable"
    with store.writing():
        assert [*store.notes("text")] == []
        store.write_note("text", "a", b"kept")
    store.close()


@pytest.mark.parametrize("breaking", ["before", "after"])
def test_a_commit_that_nobody_confirmed_is_taken_to_have_happened_and_the_account_goes_on(
    postgres: PostgresServer,
    policy: Policy,
    place: LedgerDatabase,
    monkeypatch: pytest.MonkeyPatch,
    breaking: Breaking,
) -> None:
    """Whether it did, the database says; the charge is there, or it is not, and is never there twice."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    wire = BreakingWire(postgres.port)
    address = f"postgresql://sanql@127.0.0.1:{wire.port}/{place.database}?ledger={place.ledger}"
    through = named_place(f"{address}&sslmode=disable")
    with Ledger.open(replace(policy, ledger_database=through), TERMS) as ledger:
        ledger.spend(ledger.reserve("ana", digest(1), tenth()), b"one")
        wire.breaking = breaking
        error = refused(lambda: ledger.reserve("ana", digest(2), tenth()))
        assert error.code == "ledger_unavailable" and wire.breaking == ""
        there = breaking == "after"
        assert ledger.balances()[0].spent_upper.epsilon == Fraction(1 + there, 10)
        kinds = [record.kind for record in ledger.records()]
        assert kinds.count("reserve") == 1 + there
        assert kinds.count("void") == there, "nobody will answer it: it was given up on record"
        made = ledger.reserve("ana", digest(3), tenth())
        wire.breaking = breaking
        assert refused(lambda: ledger.spend(made, b"three")).code == "ledger_unavailable"
        assert ledger.find("ana", digest(3)) == (b"three" if there else None)
        while ledger.balances()[0].remaining_lower.epsilon:
            ledger.reserve("ana", digest(99), tenth())
        assert ledger.balances()[0].spent_upper.epsilon == 1
    wire.close()
    assert verify(place).sound


def test_while_the_database_is_away_nothing_is_answered_and_afterwards_everything(
    policy: Policy, place: LedgerDatabase, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setattr(postgres_connection, "SECONDS_RECONNECTING", 0.0)
    wire = BreakingWire(postgres.port)
    address = f"postgresql://sanql@127.0.0.1:{wire.port}/{place.database}?ledger={place.ledger}"
    with Ledger.open(replace(policy, ledger_database=named_place(address)), TERMS) as ledger:
        ledger.reserve("ana", digest(1), tenth())
        wire.lead_to(1)  # where nobody listens
        for act in (ledger.balances, lambda: ledger.reserve("ana", digest(2), tenth())):
            assert refused(act).code == "ledger_unavailable"
        with ledger.asking("ana", digest(2)):
            pass  # it only saves charges
        wire.lead_to(postgres.port)
        _within(10, lambda: ledger.reserve("ana", digest(3), tenth()))
        assert ledger.balances()[0].spent_upper.epsilon == Fraction(2, 10)
    wire.close()


def test_a_server_that_lost_its_database_within_a_write_finds_out_that_an_older_one_came_back(
    policy: Policy, owner: psycopg.Connection, place: LedgerDatabase
) -> None:
    """As when a standby takes over that had not received everything."""
    with Ledger.open(policy, TERMS) as ledger:
        for number in range(3):
            ledger.reserve("ana", digest(number), tenth())
        journal = ledger._journal
        with pytest.raises(LedgerError), journal.writing():
            journal.append("failures_reset", {"time": "2026-01-01T00:00:00+00:00"})
            break_connections(owner)
        put_back(owner, place, 4)
        policy.ledger.with_name(f"{policy.ledger.name}.head").unlink()
        for _ in range(2):
            assert refused(ledger.balances).code == "ledger_rolled_back"


# ---- what is refused


@pytest.mark.parametrize("value", ["off", "local", "remote_write"])
def test_a_database_that_confirms_before_it_has_written_is_refused(
    postgres: PostgresServer, value: str
) -> None:
    name = postgres.new_database()
    postgres.run(f"ALTER DATABASE {name} SET synchronous_commit = {value}")
    error = refused(lambda: PostgresStore(ledger_in(postgres, name)))
    assert error.code == "ledger_not_durable" and f"synchronous_commit = {value}" in error.message
    assert "ALTER SYSTEM SET synchronous_commit = on" in error.remedy
    postgres.run(f"ALTER DATABASE {name} SET synchronous_commit = remote_apply")
    PostgresStore(ledger_in(postgres, name)).close()


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_database_that_does_not_write_through_is_refused_also_when_it_is_told_so_later(
    postgres: PostgresServer, place: LedgerDatabase, policy: Policy, setting: str
) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        with changed(postgres, setting, "off"):
            error = refused(lambda: PostgresStore(place))
            assert error.code == "ledger_not_durable" and f"{setting} = off" in error.message
            later = refused(lambda: ledger.reserve("ana", digest(1), tenth()))
            assert (later.code, later.message) == (error.code, error.message)
        _within(10, lambda: ledger.reserve("ana", digest(1), tenth()))


def test_a_setting_that_is_taken_back_later_does_not_reach_who_writes(
    postgres: PostgresServer, policy: Policy, owner: psycopg.Connection
) -> None:
    """It was read and set on the very connection that commits."""
    with Ledger.open(policy, TERMS) as ledger, changed(postgres, "synchronous_commit", "off"):
        ledger.reserve("ana", digest(1), tenth())
        break_connections(owner)
        error = refused(lambda: ledger.reserve("ana", digest(2), tenth()))
        assert error.code == "ledger_not_durable"


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer, encoding: str) -> None:
    name = f"other_{encoding.lower()}"
    postgres.run(
        f"CREATE DATABASE {name} OWNER sanql TEMPLATE template0 ENCODING '{encoding}'"
        " LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    error = refused(lambda: PostgresStore(ledger_in(postgres, name)))
    assert error.code == "ledger_database" and encoding in error.message


def test_a_standby_is_refused(postgres: PostgresServer, place: LedgerDatabase) -> None:
    PostgresStore(place).close()
    with postgres.standby() as standby:
        there = replace(place, host=str(standby.folder), port=standby.port)
        assert refused(lambda: PostgresStore(there)).code == "ledger_standby"
        standby.run("SELECT pg_promote()")
        PostgresStore(there).close()


def test_a_role_that_may_not_write_is_told_so(
    postgres: PostgresServer, place: LedgerDatabase, policy: Policy, owner: psycopg.Connection
) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        owner.execute("REVOKE INSERT ON sanql.record FROM sanql")
        try:
            error = refused(lambda: ledger.reserve("ana", digest(1), tenth()))
            assert (error.code, "does not let its user write" in error.message) == (
                "ledger_unavailable",
                True,
            )
        finally:
            owner.execute("GRANT INSERT ON sanql.record TO sanql")
        ledger.reserve("ana", digest(1), tenth())


# ---- secrets


def test_a_password_comes_from_the_environment_or_a_file_that_only_its_owner_reads(
    postgres: PostgresServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _over_tcp(postgres, database, "secrets")
    for variable in ("PGPASSWORD", "PGPASSFILE", postgres_connection.PASSWORD_FILE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    error = refused(lambda: PostgresStore(place))
    assert error.code == "ledger_unavailable" and "asks for a password" in error.message
    file = tmp_path / "secret"
    file.write_text(f"{PASSWORD}\n")
    file.chmod(0o600)
    PostgresStore(replace(place, password_file=file)).close()
    monkeypatch.setenv(postgres_connection.PASSWORD_FILE, str(file))
    PostgresStore(place).close()
    monkeypatch.delenv(postgres_connection.PASSWORD_FILE)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    PostgresStore(place).close()
    monkeypatch.delenv("PGPASSWORD")
    passfile = tmp_path / "pgpass"
    passfile.write_text(f"127.0.0.1:{postgres.port}:*:sanql:{PASSWORD}\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    PostgresStore(place).close()


@pytest.mark.parametrize(
    ("mode", "content", "said"),
    [
        (0o640, PASSWORD, "is open to others"),
        (0o604, PASSWORD, "is open to others"),
        (0o600, "", "is not one line"),
        (0o600, f"{PASSWORD}\nmore\n", "is not one line"),
        (0o600, "\udcff", "cannot be read"),
        (None, "", "cannot be read"),
    ],
)
def test_a_password_file_that_others_may_read_is_refused(
    place: LedgerDatabase, tmp_path: Path, mode: int | None, content: str, said: str
) -> None:
    file = tmp_path / "secret"
    if mode is not None:
        file.write_bytes(content.encode(errors="surrogateescape"))
        file.chmod(mode)
    error = refused(lambda: PostgresStore(replace(place, password_file=file)))
    assert error.code == "ledger_password_file" and said in error.message
    assert PASSWORD not in str(error)


def test_no_error_has_a_word_of_the_driver_or_a_password(
    postgres: PostgresServer, database: str, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where a traceback is printed whole, with every cause of it."""
    secret = "Tr0ub4dor-and-3"
    monkeypatch.setenv("PGPASSWORD", secret)
    monkeypatch.setattr(postgres_connection, "SECONDS_RECONNECTING", 0.0)
    wrong = _over_tcp(postgres, database, "secrets")
    faults = [
        refused(lambda: PostgresStore(wrong)),
        refused(lambda: PostgresStore(replace(wrong, port=1))),
        refused(lambda: PostgresStore(replace(wrong, host="no-such-host.invalid"))),
        refused(lambda: PostgresStore(replace(wrong, database="nowhere"))),
        refused(lambda: PostgresStore(replace(wrong, tls=(("sslmode", secret),)))),
    ]
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    through = BreakingWire(postgres.port)
    there = replace(wrong, port=through.port, tls=(("sslmode", "disable"),))
    with Ledger.open(replace(policy, ledger_database=there), TERMS) as ledger:
        through.breaking = "before"
        faults.append(refused(lambda: ledger.reserve("ana", digest(1), tenth())))
        through.lead_to(1)
        faults.append(refused(ledger.balances))
    through.close()
    for fault in faults:
        printed = "".join(traceback.format_exception(fault)) + f"{fault!r} {fault.to_dict()}"
        chain: BaseException | None = fault
        while chain is not None:
            printed += f" {chain} {chain.args}"
            chain = chain.__cause__ or chain.__context__
        for word in (secret, PASSWORD, "psycopg", "FATAL", "password authentication"):
            assert word not in printed, (word, fault.message)
    assert secret not in repr(wrong) + str(wrong) + repr(policy)


def _over_tcp(postgres: PostgresServer, database: str, ledger: str) -> LedgerDatabase:
    place = named_place(postgres.url_over_tcp(database, ledger=ledger))
    assert isinstance(place, LedgerDatabase)
    return place


@contextmanager
def changed(postgres: PostgresServer, setting: str, value: str) -> Iterator[None]:
    """Change a setting of the server, and wait until it holds; then take it back."""

    def reload(statement: str, wanted: str) -> None:
        postgres.run(statement, "SELECT pg_reload_conf()")
        deadline = time.monotonic() + 30
        while True:
            with psycopg.connect(postgres.as_owner()) as connection:
                if connection.execute(f"SHOW {setting}").fetchone() == (wanted,):
                    return
            assert time.monotonic() < deadline
            time.sleep(0.02)

    reload(f"ALTER SYSTEM SET {setting} = {value}", value)
    try:
        yield
    finally:
        reload(f"ALTER SYSTEM RESET {setting}", "on")


def _within(seconds: float, act: Callable[[], object]) -> None:
    """Do something that is refused for a moment yet."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            act()
            return
        except LedgerError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_a_forked_child_does_not_end_the_connection_of_its_parent(policy: Policy) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        child = os.fork()
        if child == 0:
            try:
                ledger.reserve("ana", digest(1), tenth())
            except LedgerError as error:
                os._exit(7 if error.code == "ledger_forked" else 1)
            os._exit(2)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        ledger.reserve("ana", digest(1), tenth())


def test_a_policy_is_compared_with_a_ledger_in_a_database_and_things_are_renamed_there(
    policy: Policy, place: LedgerDatabase
) -> None:
    people = Table("people", ColumnUnit("id"), {"age": Column("age", "integer")})
    before = replace(policy, tables={"people": people})
    with Ledger.open(before, account_terms(before)) as ledger:
        ledger.reserve("ana", digest(1), tenth())
    longer = {"age": Column("age", "integer"), "sex": Column("sex", "text")}
    after = replace(policy, tables={"people": Table("people", ColumnUnit("pid"), longer)})
    with closing(Owner.open(place)) as owner:
        found = owner.compare(after)
        assert [fault.code for fault in found.faults] == ["ledger_terms"]
        assert found.joins == ("column people.sex",)
        owner.rename(Rename("people", "id", "pid"), "a new system")
        assert not owner.compare(after).faults
    with Ledger.open(after, account_terms(after)) as ledger:
        ledger.reserve("ana", digest(2), tenth())
        assert ledger.balances()[0].spent_upper.epsilon == Fraction(2, 10)
    assert verify(place).sound
