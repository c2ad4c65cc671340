"""The file on disk keeps what every store promises."""

from __future__ import annotations

import ast
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import sanql
from account.checkpoint_contract import CheckpointContract
from account.store_contract import StoreContract
from sanql.account.charge import Charge
from sanql.account.ledger.chain import Head, head_path
from sanql.account.ledger.ledger import Ledger
from sanql.account.stores.opening import reader_at
from sanql.account.stores.protocol import Store
from sanql.account.stores.sqlite import SqliteStore, check_not_lost
from sanql.audit.ledger import verify
from sanql.audit.ledger.findings import Verification
from sanql.errors import LedgerError
from sanql.policy.model import Budget, Policy

TERMS = {"neighbours": "add-remove"}


class InFile:
    """Where the ledgers of this file are kept, and what can be done to them behind their backs."""

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


class TestSqliteStore(InFile, StoreContract):
    """A store by itself."""


class TestSqliteCheckpoints(InFile, CheckpointContract):
    """A ledger that is opened from its checkpoints."""


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
                "account/stores/sqlite_reader.py",
                "account/stores/backup.py",
                "account/claims/registry.py",
            },
        ),
        (
            "psycopg",
            {
                "account/stores/postgres_connection.py",
                "sources/snapshots/postgres.py",  # data, not an account
                "sources/snapshots/postgres_session.py",
                "audit/attack.py",  # which asks over the wire, as any client does
                "server/wire/catalogue/asking.py",  # which is about empty tables, and holds nothing
                "server/wire/catalogue/cluster.py",
                "server/wire/catalogue/shape.py",
            },
        ),
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


def test_a_process_that_comes_and_goes_leaves_the_log_to_who_has_the_file_open(
    make_policy: Callable[..., Policy], laplace: Callable[[str], Charge]
) -> None:
    policy = make_policy(budget=Budget(Fraction(100), Fraction(0)), analysts={}, coalitions={})
    log = Path(f"{policy.ledger}-wal")
    with Ledger.open(policy, TERMS) as here, closing(SqliteStore(policy.ledger)):
        here.reserve("ana", f"{1:064x}", laplace("1"))
        check_not_lost(policy.ledger)  # whatever else of ours looks at the file
        kept = log.stat().st_ino
        assert charges_seen_by_another_process(policy.ledger) == 1
        assert log.stat().st_ino == kept
        here.reserve("ana", f"{2:064x}", laplace("1"))
        assert charges_seen_by_another_process(policy.ledger) == 2
    assert verify(policy.ledger).sound


def test_nothing_is_added_to_a_ledger_before_its_beginning_is_pinned(
    make_policy: Callable[..., Policy],
    laplace: Callable[[str], Charge],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or whoever opens it at that moment would find more records than a beginning has, and no head."""
    policy = make_policy(budget=Budget(Fraction(100), Fraction(0)), analysts={}, coalitions={})
    with Ledger.open(policy, TERMS) as ledger:
        begun = ledger.length
        head_path(policy.ledger).unlink()  # as whoever began it leaves it until it is pinned
        pinned: list[int] = []
        pin = SqliteStore.pin

        def noted(store: SqliteStore, head: Head) -> None:
            with closing(sqlite3.connect(policy.ledger)) as other:
                ((seen,),) = other.execute("SELECT max(sequence) FROM record").fetchall()
            pinned.append(seen)
            pin(store, head)

        monkeypatch.setattr(SqliteStore, "pin", noted)
        ledger.reserve("ana", f"{1:064x}", laplace("1"))
    assert pinned == [begun, begun + 1]
    assert verify(policy.ledger).sound


def test_a_log_that_was_taken_away_is_noticed_before_anything_is_written(
    make_policy: Callable[..., Policy], laplace: Callable[[str], Charge]
) -> None:
    policy = make_policy(budget=Budget(Fraction(100), Fraction(0)), analysts={}, coalitions={})
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("ana", f"{1:064x}", laplace("1"))
        Path(f"{policy.ledger}-wal").unlink()
        with pytest.raises(LedgerError) as refused:
            ledger.reserve("ana", f"{2:064x}", laplace("1"))
        assert refused.value.code == "ledger_rolled_back"


def charges_seen_by_another_process(ledger: Path) -> int:
    """Have another process open the file for writing, look, and close it again."""
    code = (
        "import sqlite3, sys; file = sqlite3.connect(sys.argv[1]); "
        "print(file.execute(\"SELECT count(*) FROM record WHERE kind = 'reserve'\").fetchone()[0]); "
        "file.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ledger)], check=True, capture_output=True, text=True
    )
    return int(done.stdout)
