"""docs/postgres.md, followed word for word: what an administrator runs is enough."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from account.store_contract import after
from sanql.account.stores.postgres import PostgresStore
from sanql.policy.postgres_address import _LEDGER, _PARAMETERS, _SSL_MODES
from sanql.postgres_driver import IDLE_SECONDS, POSTGRES_LEAST
from support.postgres import ledger_in, postgres_server

PAGE = (Path(__file__).parents[2] / "docs" / "postgres.md").read_text(encoding="utf-8")
FIRST, AFTERWARDS = (
    [statement for statement in block.split(";\n") if statement]
    for block in re.findall(r"^```sql\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
)


@pytest.mark.slow
def test_the_administrators_statements_are_all_that_is_needed() -> None:
    with postgres_server(role="") as server:
        server.run(*FIRST)
        place = ledger_in(server, "ledgers", "hospital")
        PostgresStore(place).close()
        server.run(*AFTERWARDS, database="ledgers")
        for name in ("hospital", "clinic"):
            store = PostgresStore(ledger_in(server, "ledgers", name))
            with store.writing():
                record = after(store)
                store.append(record)
                store.keep(1, b"answer")
                store.write_note("text", "a", b"note")
                store.write_note("text", "a", None)
            store.close()
        mine = server.as_owner("ledgers").replace("user=postgres", "user=sanql")
        with psycopg.connect(mine, autocommit=True) as connection:
            for statement in (
                "DROP TRIGGER append_only ON sanql.record",
                "ALTER TABLE sanql.record DISABLE TRIGGER ALL",
                "DELETE FROM sanql.record",
                "DROP TABLE sanql.answer",
                "DROP SCHEMA sanql CASCADE",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)


def test_the_page_names_what_an_address_may_have() -> None:
    written = set(re.findall(r"[?&](\w+)=", PAGE)) | {"port"}
    assert written == {*_LEDGER.parameters, *_PARAMETERS}
    assert all(f"`{mode}`" in PAGE for mode in _SSL_MODES)
    assert f"PostgreSQL {POSTGRES_LEAST} or newer" in PAGE
    assert f"after {IDLE_SECONDS} seconds" in PAGE
