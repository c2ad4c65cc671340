"""Ledgers of format 4: as those of format 3, with checkpoints among the records."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from account.recorded_contract import RecordedLedgers, opened, recorded
from sanql.account.ledger.chain import read_head
from sanql.account.ledger.checkpoints import books_at_checkpoint
from sanql.account.stores.sqlite import SqliteStore
from sanql.audit.ledger import verify


class TestLedgersOfFormat4(RecordedLedgers):
    """A ledger of the newest format goes on as it is."""

    format = 4
    records = 44
    more = 1
    asked_anew = "AVG"
    exact_refused = "exact_renamed"
    words = ("columns", "asked", "officer", "second_signature", "to", "lost", "form")

    def test_it_has_checkpoints_and_is_opened_from_the_newest(self, town: Path) -> None:
        kinds = [kind for kind, _ in recorded(town)["records"]]
        assert kinds.count("checkpoint") == 3
        store = SqliteStore(town / "town.ledger")
        with store.reading():
            books = books_at_checkpoint(store, read_head(town / "town.ledger"))
        store.close()
        assert books is not None
        assert kinds[books.head.sequence] == "checkpoint"
        assert books.head.sequence > 30

    @pytest.mark.slow
    @pytest.mark.parametrize("sum_kept", ["charged", "balances"])
    def test_sums_that_were_changed_are_passed_over_and_found(
        self, sum_kept: str, town: Path
    ) -> None:
        with closing(sqlite3.connect(town / "town.ledger")) as connection, connection:
            where = "WHERE kind = 'checkpoint' AND key = 'newest'"
            ((note,),) = connection.execute(f"SELECT content FROM note {where}")
            state = json.loads(note)
            state[sum_kept] = {} if sum_kept == "charged" else state[sum_kept][::-1]
            changed = json.dumps(state, sort_keys=True, separators=(",", ":")).encode()
            connection.execute(f"UPDATE note SET content = ? {where}", (changed,))
        fault = verify(town / "town.ledger").fault
        assert fault is not None and fault.code == "ledger_checkpoint_wrong"
        with opened(town) as ledger:
            shown = [str(balance.spent_upper.epsilon) for balance in ledger.balances()]
        then = [each["epsilon_spent_upper"] for each in recorded(town)["balances"]]
        assert shown == then
