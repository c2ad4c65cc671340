"""Records written behind a ledger's back, with hashes and a head as they should be."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any, cast

from sanql.account.ledger.chain import BEGINNING, Head, Kind, record_after, write_head
from sanql.account.stores.sqlite import SqliteStore
from sanql.policy.model import Policy


def forge(policy: Policy, kind: str, content: dict[str, Any]) -> int:
    """Append a record, whatever it says; return its sequence."""
    with closing(sqlite3.connect(policy.ledger)) as connection, connection:
        newest = connection.execute(
            "SELECT sequence, hash FROM record ORDER BY sequence DESC"
        ).fetchone()
        head = BEGINNING if newest is None else Head(*newest)
        record = record_after(head, cast(Kind, kind), content)
        connection.execute(
            "INSERT INTO record VALUES (?, ?, ?, ?, ?)",
            (record.sequence, record.kind, record.body, record.previous, record.hash),
        )
    write_head(policy.ledger, Head(record.sequence, record.hash))
    return record.sequence


def forge_opening(policy: Policy, content: dict[str, Any]) -> None:
    """Begin a ledger with this first record."""
    store = SqliteStore(policy.ledger)
    record = record_after(BEGINNING, "open", content)
    with store.writing():
        store.append(record)
    store.close()
    write_head(policy.ledger, Head(record.sequence, record.hash))
