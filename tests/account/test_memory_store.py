"""The store in memory keeps what every store promises, within one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from account.checkpoint_contract import CheckpointContract
from account.store_contract import TERMS, StoreContract, digest, tenth
from sanql.account.ledger.chain import LedgerRecord
from sanql.account.ledger.ledger import Ledger
from sanql.account.stores.memory import MemoryContents, MemoryReader, MemoryStore
from sanql.account.stores.protocol import Store
from sanql.audit.ledger.findings import Verification
from sanql.audit.ledger.verification import verify_reader
from sanql.errors import LedgerError
from sanql.policy.model import Policy


def kept_by(opened: Callable[[], Store]) -> MemoryContents:
    store = opened()
    assert isinstance(store, MemoryStore)
    return store.kept


class InMemory:
    """Where the ledgers of this file are kept, and what can be done to them behind their backs."""

    def begin(self, place: Path) -> Callable[[], Store]:
        kept = MemoryContents()
        return lambda: MemoryStore(place, kept)

    def cut(self, opened: Callable[[], Store], count: int) -> None:
        kept = kept_by(opened)
        kept.rows = kept.rows[:count]

    def change(self, opened: Callable[[], Store], sequence: int, body: str) -> None:
        kept = kept_by(opened)
        number, kind, _, *hashes = kept.rows[sequence - 1]
        kept.rows = [*kept.rows]
        kept.rows[sequence - 1] = (number, kind, body, *hashes)

    def lose_head(self, opened: Callable[[], Store]) -> None:
        kept_by(opened).head = None

    def verified(self, opened: Callable[[], Store]) -> Verification:
        return verify_reader(Path("town.ledger"), MemoryReader(kept_by(opened)))


class TestMemoryStore(InMemory, StoreContract):
    """A store by itself."""


class TestMemoryCheckpoints(InMemory, CheckpointContract):
    """A ledger that is opened from its checkpoints."""


def test_a_ledger_in_memory_leaves_no_file(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS, store=MemoryStore(policy.ledger)) as ledger:
        with ledger.asking("ana", digest(1)):
            ledger.spend(ledger.reserve("ana", digest(1), tenth()), b"answer")
        assert ledger.find("ana", digest(1)) == b"answer"
    assert [*policy.ledger.parent.iterdir()] == []


def test_a_handle_that_is_given_an_older_snapshot_is_refused(
    make_policy: Callable[..., Policy],
) -> None:
    """What was pinned elsewhere is what tells a whole older copy, head and all."""
    policy = make_policy(head=make_policy().ledger.parent / "second.head")
    kept = MemoryContents()
    with Ledger.open(policy, TERMS, store=MemoryStore(policy.ledger, kept)) as ledger:
        ledger.reserve("ana", digest(1), tenth())
        older = MemoryContents(kept.rows, dict(kept.answers), kept.head)
        ledger.reserve("ana", digest(2), tenth())
    with pytest.raises(LedgerError) as error:
        Ledger.open(policy, TERMS, store=MemoryStore(policy.ledger, older))
    assert error.value.code == "ledger_rolled_back"
    Ledger.open(policy, TERMS, store=MemoryStore(policy.ledger, kept)).close()


def test_a_row_has_the_order_of_a_record() -> None:
    assert tuple(LedgerRecord.__dataclass_fields__) == (
        "sequence",
        "kind",
        "body",
        "previous",
        "hash",
    )
