"""The file on disk keeps what every store promises."""

from __future__ import annotations

import ast
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import sanql
from account.store_contract import StoreContract
from sanql.account.ledger.chain import head_path
from sanql.account.stores.opening import reader_at
from sanql.account.stores.protocol import Store
from sanql.account.stores.sqlite import SqliteStore
from sanql.audit.ledger import verify
from sanql.audit.ledger.findings import Verification


class TestSqliteStore(StoreContract):
    def begin(self, place: Path) -> Callable[[], Store]:
        return lambda: SqliteStore(place)

    def cut(self, opened: Callable[[], Store], count: int) -> None:
        self.behind(opened, "DELETE FROM record WHERE sequence > ?", count)

    def change(self, opened: Callable[[], Store], sequence: int, body: str) -> None:
        self.behind(opened, "UPDATE record SET body = ? WHERE sequence = ?", body, sequence)

    def lose_head(self, opened: Callable[[], Store]) -> None:
        head_path(opened().place).unlink()

    def verified(self, opened: Callable[[], Store]) -> Verification:
        return verify(opened().place)

    def behind(self, opened: Callable[[], Store], statement: str, *values: object) -> None:
        with closing(sqlite3.connect(opened().place)) as connection, connection:
            for table in ("record", "answer"):
                for verb in ("UPDATE", "DELETE"):
                    connection.execute(f"DROP TRIGGER {table}_{verb}")
            connection.execute(statement, values)


def test_a_reader_makes_nothing_and_holds_one_view(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.Error), reader_at(tmp_path / "none.ledger") as reader:
        [*reader.rows(0)]
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("driver", "files"),
    [
        (
            "sqlite3",
            {
                "account/stores/sqlite.py",
                "account/stores/backup.py",
                "account/claims/registry.py",
            },
        ),
        ("psycopg", {"account/stores/postgres_connection.py"}),
    ],
)
def test_nothing_outside_the_stores_and_the_registry_of_claims_knows_a_database(
    driver: str, files: set[str]
) -> None:
    source = Path(sanql.__file__).parent
    knowing = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if driver in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and driver in {getattr(node, "module", None), *(alias.name for alias in node.names)}
    }
    assert knowing == files
