"""Which store a ledger is kept in: the one place that chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from sanql.account.ledger.chain import BEGINNING, Head, check_readable, head_path, read_pinned
from sanql.account.ledger.refusals import check_never_pinned
from sanql.account.stores.memory import MemoryStore
from sanql.account.stores.postgres import PostgresStore, is_kept, read_database, rename
from sanql.account.stores.protocol import LedgerReader, Store
from sanql.account.stores.sqlite import SqliteStore
from sanql.account.stores.sqlite_reader import read_only
from sanql.policy import LedgerPlace, Policy


def open_store(policy: Policy) -> Store:
    """Return the store of a policy's ledger, made where neither it nor a head of it exists."""
    # heads are looked for first: a process that is creating the ledger makes them last
    pinned = [place for place in own_heads(policy) if read_pinned(place) is not None]
    if pinned and not is_there(policy.ledger_place):
        check_never_pinned(pinned[0])
    return store_at(policy.ledger_place)


def store_at(place: LedgerPlace) -> Store:
    """Return the store that a ledger is kept in, made where there is none."""
    return SqliteStore(place) if isinstance(place, Path) else PostgresStore(place)


def store_in_memory(policy: Policy) -> Store:
    """Return a store that is gone with this process: of an account that a rehearsal is charged to."""
    return MemoryStore(policy.ledger)


def is_there(place: LedgerPlace) -> bool:
    """Return whether a ledger is there; LedgerError where nobody can tell."""
    return check_readable(place) if isinstance(place, Path) else is_kept(place)


def own_heads(policy: Policy) -> list[Path]:
    """Return where the head of the policy's ledger is pinned besides, as far as the policy says.

    A ledger in a file has one beside it, and a second where the policy wants one. One in a database has
    its own in the database, and each server pins another beside its policy: a database that was put back
    to an earlier state is found out by each.
    """
    if policy.ledger_database is not None:
        return [policy.head or head_path(policy.ledger)]
    return [] if policy.head is None else [policy.head]


def set_aside(place: LedgerPlace, mark: str) -> LedgerPlace:
    """Return a ledger, or a file of it, under another name that it has from now on."""
    if isinstance(place, Path):
        return place.rename(place.with_name(place.name + mark))
    return rename(place, place.ledger + mark) or place


def leave(
    place: LedgerPlace, mark: str, allow: Callable[[Head], bool]
) -> Sequence[LedgerPlace] | None:
    """Give a ledger with all its files another name while nobody writes to it.

    `allow` sees its newest record; None where it does not allow it.
    """
    if not isinstance(place, Path):
        renamed = rename(place, place.ledger + mark, allow)
        return None if renamed is None else [renamed]
    with closing(store_at(place)) as store:
        faults: tuple[type[Exception], ...] = (OSError, *store.faults)
        try:
            with store.writing():
                *_, newest = (0, BEGINNING.hash), *((row[0], row[-1]) for row in store.rows(0))
                if not allow(Head(*cast(tuple[int, str], newest))):
                    return None
                named = [*parts_of(place), head_path(place)]
                return [set_aside(file, mark) for file in named if file.exists()]
        except faults as fault:
            raise store.explained(fault, 1, ()) from None


def parts_of(ledger: Path) -> list[Path]:
    """Return the files that SQLite keeps a ledger in, whether or not they are there now."""
    return [ledger.with_name(ledger.name + end) for end in ("", "-wal", "-shm", "-journal")]


@contextmanager
def reader_at(place: LedgerPlace) -> Iterator[LedgerReader]:
    """Hold a ledger for checking; it must be there."""
    with read_only(place) if isinstance(place, Path) else read_database(place) as reader:
        yield reader
