"""A copy of a ledger put back where the ledger is kept, whole or not at all."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from sanql.account.ledger.chain import head_path, write_head
from sanql.account.stores.backup import LedgerCopy
from sanql.account.stores.opening import is_there, parts_of, set_aside, store_at
from sanql.policy import LedgerPlace


def put_back(place: LedgerPlace, copied: LedgerCopy, mark: str) -> list[LedgerPlace]:
    """Keep a copy in a place; what is there gets another name, with a mark, under which it is returned.

    The head that is pinned beside a file is replaced last: until then it names a record of the chain that
    was there, which the copy either has or says to be lost.
    """
    if isinstance(place, Path):
        return _put_file(place, copied, mark)
    aside = [set_aside(place, mark)] if is_there(place) else []
    go_on(place, copied, 0)
    return aside


def go_on(place: LedgerPlace, copied: LedgerCopy, kept: int) -> None:
    """Add to a place what a copy has after so many records, which are there, and pin its newest."""
    with closing(store_at(place)) as store:
        faults: tuple[type[Exception], ...] = (OSError, *store.faults)
        try:
            with store.writing():
                for record in copied.records[kept:]:
                    store.append(record)
                if not kept:
                    for reservation, answer in copied.answers.items():
                        store.keep(reservation, answer)
                    for (kind, key), note in copied.notes.items():
                        store.write_note(kind, key, note)
                store.pin(copied.head)
        except faults as fault:
            raise store.explained(fault, kept + 1, ()) from None


def _put_file(place: Path, copied: LedgerCopy, mark: str) -> list[LedgerPlace]:
    draft = place.with_name(place.name + ".restoring")
    for left in (*parts_of(draft), head_path(draft)):
        left.unlink(missing_ok=True)  # of somebody who was killed
    go_on(draft, copied, 0)
    aside = [set_aside(part, mark) for part in parts_of(place) if part.exists()]
    draft.rename(place)
    handle = os.open(place.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    write_head(place, copied.head)
    head_path(draft).unlink(missing_ok=True)
    return aside
