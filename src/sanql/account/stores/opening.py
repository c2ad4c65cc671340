"""Which store a ledger is kept in: the one place that chooses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sanql.account.ledger.chain import check_readable
from sanql.account.ledger.refusals import check_never_pinned
from sanql.account.stores.protocol import LedgerReader, Store
from sanql.account.stores.sqlite import SqliteStore, read_only
from sanql.policy import Policy


def open_store(policy: Policy) -> Store:
    """Return the store of a policy's ledger, made where neither it nor a head of it exists."""
    if policy.head is not None and not check_readable(policy.ledger):
        check_never_pinned(policy.head)
    return store_at(policy.ledger)


def store_at(ledger: Path) -> Store:
    """Return the store that a ledger of this name is kept in."""
    return SqliteStore(ledger)


@contextmanager
def reader_at(ledger: Path) -> Iterator[LedgerReader]:
    """Hold a ledger for checking; it must be there."""
    with read_only(ledger) as reader:
        yield reader
