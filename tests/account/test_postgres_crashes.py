"""A ledger in a database, with whoever writes to it killed, and with the database killed."""

from __future__ import annotations

import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from account.crash_contract import GENEROUS, TERMS, CrashContract, Laplace, NewLedger, question
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy import Budget, LedgerDatabase
from sanql.policy.model import Policy
from support.children import Child
from support.postgres import PostgresServer, ledger_in, postgres_server
from support.volume import few_of

pytestmark = pytest.mark.slow

MakePolicy = Callable[..., Policy]
Say = Callable[[str], None]


def ledgers(server: PostgresServer, folder: Path, make_policy: MakePolicy) -> NewLedger:
    """Return what makes a policy whose ledger is not begun, in one database."""
    database, names = server.new_database(), count()

    def make(**changes: Any) -> Policy:
        local = folder / str(next(names)) / "hospital.ledger"
        local.parent.mkdir()
        changes = {"budget": GENEROUS, "coalitions": {}, "failures_max": 10**6} | changes
        return make_policy(ledger=local, ledger_database=ledger_in(server, database), **changes)

    return make


@pytest.fixture
def folder() -> Iterator[Path]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield Path(made)


@pytest.fixture
def new_ledger(postgres: PostgresServer, folder: Path, make_policy: MakePolicy) -> NewLedger:
    return ledgers(postgres, folder, make_policy)


class TestLedgerInADatabase(CrashContract):
    STRIDE = 40  # a connection takes longer to make than a file to open

    @pytest.fixture
    def new_ledger(self, new_ledger: NewLedger) -> NewLedger:
        return new_ledger

    @pytest.fixture
    def new_place(
        self, postgres: PostgresServer, folder: Path, make_policy: MakePolicy
    ) -> NewLedger:
        """A database of its own for each, whose tables are made with the ledger."""

        def make() -> Policy:
            own = folder / str(len([*folder.iterdir()]))
            own.mkdir()
            return ledgers(postgres, own, make_policy)()

        return make


def test_two_servers_with_eight_clients_each_charge_exactly_what_the_budget_holds(
    new_ledger: NewLedger, laplace: Laplace, folder: Path
) -> None:
    """Sixteen clients, each of whom would ask ten times, and a budget of forty questions."""
    policy, charge = new_ledger(budget=Budget(Fraction(1), Fraction(0))), laplace("0.025")

    def serve(who: int) -> Callable[[Say], None]:
        own = replace_local(policy, folder / f"server {who}" / "hospital.ledger")

        def work(say: Say) -> None:
            with Ledger.open(own, TERMS) as ledger, ThreadPoolExecutor(8) as pool:
                for answered in pool.map(lambda client: ask(ledger, client), range(8)):
                    say(str(answered))

        def ask(ledger: Ledger, client: int) -> int:
            for i in range(10):
                try:
                    made = ledger.reserve("bob", question(f"{who} {client} {i}"), charge)
                except BudgetExceeded:
                    return i
                ledger.spend(made, b"answer")
            return 10

        return work

    ended = [child.ended() for child in [Child(serve(who)) for who in range(2)]]
    assert [status for _, status in ended] == [0, 0]
    assert sum(int(word) for said, _ in ended for word in said) == 40
    found = verify(policy.ledger_place)
    assert found.sound and found.accounts[0].epsilon_spent_upper == 1
    assert found.accounts[0].charges == 40


@pytest.mark.parametrize("kills", few_of([3, 6, 60], 1))
def test_the_database_killed_under_load_loses_nothing_and_nobody_has_to_start_anew(
    make_policy: MakePolicy, laplace: Laplace, folder: Path, kills: int
) -> None:
    """Four servers charge, and go on by themselves each time that the database is back."""
    seed, charge = random.Random(20261117), laplace("0.001")
    with postgres_server() as server:
        budget = Budget(Fraction(kills, 20), Fraction(0))
        policy = ledgers(server, folder, make_policy)(budget=budget)
        Ledger.open(policy, TERMS).close()

        def serve(who: int) -> Callable[[Say], None]:
            own = replace_local(policy, folder / f"server {who}" / "hospital.ledger")

            def work(say: Say) -> None:
                with while_away(say, lambda: Ledger.open(own, TERMS)) as ledger:
                    for i in range(10**6):
                        try:
                            made = ledger.reserve("bob", question(f"{who} {i}"), charge)
                            say(f"reserved:{i}")
                            ledger.spend(made, f"{who} {i}".encode())
                            say(f"spent:{i}")
                        except BudgetExceeded:
                            return
                        except LedgerError as error:
                            say(error.code)
                            time.sleep(0.02)

            return work

        children = [Child(serve(who)) for who in range(4)]
        try:
            for _ in range(kills):
                time.sleep(seed.uniform(0.05, 0.2))
                server.kill()
                server.start()
        except BaseException:
            for child in children:
                child.kill()
            raise
        ended = [child.ended() for child in children]
        assert [status for _, status in ended] == [0] * 4
        words = {word for said, _ in ended for word in said if ":" not in word}
        assert "ledger_unavailable" in words, "the database was never away: nothing was tried"
        assert words <= {"ledger_unavailable", "ledger_busy"}
        found = verify(policy.ledger_place)
        assert found.sound, found.fault
        assert found.accounts[0].epsilon_spent_upper == budget.epsilon
        with Ledger.open(policy, TERMS) as ledger:
            asked = {record.content.get("question") for record in ledger.records()}
            for who, (said, _) in enumerate(ended):
                for kind, i in (word.split(":") for word in said if ":" in word):
                    name = question(f"{who} {i}")
                    assert name in asked, "a charge was acknowledged and is not there"
                    if kind == "spent":
                        assert ledger.find("bob", name) == f"{who} {i}".encode()


def while_away(say: Say, act: Callable[[], Ledger]) -> Ledger:
    """Do something as soon as the database lets it."""
    while True:
        try:
            return act()
        except LedgerError as error:
            say(error.code)
            time.sleep(0.02)


def test_a_server_that_stands_still_while_it_writes_is_taken_back_and_others_go_on(
    new_ledger: NewLedger, laplace: Laplace, postgres: PostgresServer
) -> None:
    """Stopped, not killed, with the right to write: the database ends what it had begun."""
    policy = new_ledger()
    Ledger.open(policy, TERMS).close()

    def hold(say: Say) -> None:
        ledger = Ledger.open(policy, TERMS)
        with ledger._journal.writing():
            ledger._journal.append("failures_reset", {"time": "2026-01-01T00:00:00+00:00"})
            say("holding")
            signal.raise_signal(signal.SIGSTOP)

    child = Child(hold)
    try:
        place = policy.ledger_database
        assert isinstance(place, LedgerDatabase)
        wait_for_idle_writer(postgres, place.database)
        end_idle_writers(postgres, place.database)
        with Ledger.open(policy, TERMS) as ledger:
            ledger.reserve("bob", question("q"), laplace("0.5"))
            assert "failures_reset" not in {record.kind for record in ledger.records()}
    finally:
        child.kill()
        child.ended()
    assert verify(policy.ledger_place).sound


def replace_local(policy: Policy, ledger: Path) -> Policy:
    """Return the policy as another server has it: files of its own, the same database."""
    ledger.parent.mkdir()
    return replace(policy, ledger=ledger)


_IDLE = "FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = %s"


def wait_for_idle_writer(server: PostgresServer, database: str) -> None:
    deadline = time.monotonic() + 30
    with psycopg.connect(server.as_owner(), autocommit=True) as connection:
        while connection.execute(f"SELECT count(*) {_IDLE}", (database,)).fetchone() == (0,):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def end_idle_writers(server: PostgresServer, database: str) -> None:
    """Do at once what the database does by itself after a while."""
    with psycopg.connect(server.as_owner(), autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {_IDLE}", (database,))
