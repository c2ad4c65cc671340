"""Ledgers of format 3, with all that is recorded since: columns, signatures, renames, a copy put back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from account.recorded_contract import RecordedLedgers, opened, recorded
from sanql.account import Rename
from sanql.account.ledger.chain import LEDGER_FORMAT
from sanql.audit.ledger import verify
from sanql.errors import LedgerError, Refused
from sanql.policy import load

TRIGGERS = "SELECT name FROM sqlite_schema WHERE type = 'trigger'"


class TestLedgersOfFormat3(RecordedLedgers):
    """A ledger of a format with columns and texts goes on after one record."""

    format = 3
    records = 41
    more = 2
    asked_anew = "AVG"
    exact_refused = "exact_renamed"
    words = ("columns", "asked", "officer", "second_signature", "to", "lost")

    def test_it_holds_every_kind_of_record_that_came_with_the_format(self, town: Path) -> None:
        kinds = {kind for kind, _ in recorded(town)["records"]}
        assert {"tables", "rename", "approve", "restore"} <= kinds

    def test_the_policy_is_what_is_on_record(self, town: Path) -> None:
        with opened(town) as ledger:
            found = ledger.owner.compare(load(town / "policy.toml"))
        (goes_on,) = found.joins
        assert goes_on == f"the ledger is of format 3, and goes on in format {LEDGER_FORMAT}"
        assert (recorded(town)["joins"], list(found.left)) == ([], [])
        assert not (found.limits or found.faults or found.exact)

    def test_what_is_missing_is_told_by_books_and_auditor(self, town: Path) -> None:
        with opened(town) as ledger:
            (loss,) = ledger.owner.state.losses
        (found,) = verify(town / "town.ledger").losses
        assert (loss.kept.sequence, loss.missing) == (found.kept, found.missing) == (39, 2)

    def test_the_column_that_was_renamed_keeps_its_name_and_its_table_gives_no_more_exact_answers(
        self, town: Path
    ) -> None:
        with opened(town) as ledger, pytest.raises(Refused) as refused:
            (entry,) = ledger.exact.entries()
            footprint = replace(entry.claim.footprint, name="another")
            ledger.exact.find("ana", replace(entry.claim, footprint=footprint))
        assert refused.value.code == "exact_renamed"
        with opened(town) as ledger, pytest.raises(LedgerError) as again:
            ledger.owner.rename(Rename("people", "street", "lane"), "so")
        assert again.value.code == "rename_refused"

    @pytest.mark.parametrize("kind", ["tables", "rename", "approve", "restore", "limits"])
    def test_a_record_that_was_changed_is_found(self, kind: str, town: Path) -> None:
        with closing(sqlite3.connect(town / "town.ledger")) as connection, connection:
            where = "WHERE sequence = (SELECT max(sequence) FROM record WHERE kind = ?)"
            ((sequence, body),) = connection.execute(
                f"SELECT sequence, body FROM record {where}", (kind,)
            )
            for (trigger,) in [*connection.execute(TRIGGERS)]:
                connection.execute(f"DROP TRIGGER {trigger}")
            changed = body.replace("2026", "2025")
            assert changed != body
            connection.execute(f"UPDATE record SET body = ? {where}", (changed, kind))
        fault = verify(town / "town.ledger").fault
        assert fault is not None
        assert (fault.sequence, fault.code) == (sequence, "ledger_damaged")
        with pytest.raises(LedgerError):
            opened(town)
