"""People in a file, in a database and in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from account.people_contract import PeopleContract
from sanql.account.people.tokens import make_token, name_of_token
from sanql.account.stores.memory import MemoryContents, MemoryStore
from sanql.account.stores.postgres import PostgresStore
from sanql.account.stores.protocol import Store
from sanql.account.stores.sqlite import SqliteStore
from support.postgres import PostgresServer, ledger_in


class TestPeopleInAFile(PeopleContract):
    def begin(self, place: Path) -> Callable[[], Store]:
        return partial(SqliteStore, place)


class TestPeopleInADatabase(PeopleContract):
    @pytest.fixture(autouse=True)
    def server(self, postgres: PostgresServer) -> None:
        self.postgres = postgres

    def begin(self, place: Path) -> Callable[[], Store]:
        return partial(PostgresStore, ledger_in(self.postgres, self.postgres.new_database()))


class TestPeopleInMemory(PeopleContract):
    def begin(self, place: Path) -> Callable[[], Store]:
        return partial(MemoryStore, place, MemoryContents())


def test_tokens_are_long_and_no_two_are_alike() -> None:
    made = {make_token() for _ in range(200)}
    assert len(made) == len({name_of_token(token) for token in made}) == 200
    assert {len(token) for token in made} == {4 + 12 + 1 + 52}
