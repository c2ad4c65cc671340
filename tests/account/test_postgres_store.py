"""A PostgreSQL database keeps what every store promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from account.checkpoint_contract import CheckpointContract
from account.store_contract import StoreContract
from sanql.account.stores.postgres import PostgresStore
from sanql.account.stores.protocol import Store
from sanql.audit.ledger import verify
from sanql.audit.ledger.findings import Verification
from sanql.policy import LedgerDatabase
from support.postgres import PostgresServer, ledger_in


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    """One database for all ledgers of this file: each test has a name of its own in it."""
    return postgres.new_database()


class InDatabase:
    """Where the ledgers of this file are kept, and what can be done to them behind their backs."""

    @pytest.fixture(autouse=True)
    def server(self, postgres: PostgresServer, database: str) -> None:
        self.postgres, self.database = postgres, database

    def begin(self, place: Path) -> Callable[[], Store]:
        named = ledger_in(self.postgres, self.database)
        return lambda: PostgresStore(named)

    def cut(self, opened: Callable[[], Store], count: int) -> None:
        self.behind(opened, "DELETE FROM sanql.record WHERE ledger = %s AND sequence > %s", count)

    def change(self, opened: Callable[[], Store], sequence: int, body: str) -> None:
        query = "UPDATE sanql.record SET body = %s WHERE ledger = %s AND sequence = %s"
        self.behind(opened, query.replace("%s", f"$body${body}$body$", 1), sequence)

    def lose_head(self, opened: Callable[[], Store]) -> None:
        query = "UPDATE sanql.ledger SET head_sequence = NULL, head_hash = NULL WHERE id = %s"
        self.behind(opened, query)

    def verified(self, opened: Callable[[], Store]) -> Verification:
        return verify(opened().place)

    def behind(self, opened: Callable[[], Store], statement: str, *values: object) -> None:
        """What a superuser can do: triggers do not hold one who turns them off."""
        place = opened().place
        assert isinstance(place, LedgerDatabase)
        with psycopg.connect(self.postgres.as_owner(self.database)) as connection:
            connection.execute("SET session_replication_role = replica")
            named = "SELECT id FROM sanql.ledger WHERE name = %s"
            ((ledger,),) = connection.execute(named, (place.ledger,)).fetchall()
            connection.execute(statement, (ledger, *values))


class TestPostgresStore(InDatabase, StoreContract):
    """A store by itself."""


class TestPostgresCheckpoints(InDatabase, CheckpointContract):
    """A ledger that is opened from its checkpoints."""
