"""A ledger in a file, and whoever writes to it killed."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from account.crash_contract import GENEROUS, TERMS, CrashContract, Laplace, NewLedger, question
from sanql.account.ledger import journal
from sanql.account.ledger.ledger import Ledger
from sanql.account.stores import sqlite as store
from sanql.errors import LedgerError
from sanql.policy.model import Policy

pytestmark = pytest.mark.slow

MakePolicy = Callable[..., Policy]


@pytest.fixture
def new_ledger(make_policy: MakePolicy) -> Iterator[NewLedger]:
    """In memory where possible: SIGKILL takes no written page with it."""
    memory, names = Path("/dev/shm"), count()
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:

        def make(**changes: Any) -> Policy:
            ledger = Path(folder) / str(next(names)) / "hospital.ledger"
            ledger.parent.mkdir()
            changes = {"budget": GENEROUS, "coalitions": {}, "failures_max": 10**6} | changes
            return make_policy(ledger=ledger, **changes)

        yield make


class TestLedgerWithCheckpoints(CrashContract):
    """Every charge, and every answer, writes a checkpoint of the books besides."""

    STRIDE = 40

    @pytest.fixture(autouse=True)
    def often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A checkpoint with every write."""
        monkeypatch.setattr(journal, "CHECKPOINT_RECORDS", 1)

    @pytest.fixture
    def new_ledger(self, new_ledger: NewLedger) -> NewLedger:
        """Return what makes a policy whose ledger is in a file."""
        return new_ledger


class TestLedgerInAFile(CrashContract):
    @pytest.fixture
    def new_ledger(self, new_ledger: NewLedger) -> NewLedger:
        return new_ledger


def test_a_ledger_held_by_another_writer_is_busy_not_broken(
    new_ledger: NewLedger, laplace: Laplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = new_ledger()
    Ledger.open(policy, TERMS).close()
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.05)
    with Ledger.open(policy, TERMS) as ledger:
        other = sqlite3.connect(policy.ledger, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError) as error:
            ledger.reserve("bob", question("q"), laplace("0.5"))
        assert error.value.code == "ledger_busy"
        other.execute("ROLLBACK")
        other.close()
        ledger.reserve("bob", question("q"), laplace("0.5"))
