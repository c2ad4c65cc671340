"""The records of a ledger as lines of JSON, for somebody else to recompute."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from sanql.account import (
    BEGINNING,
    Head,
    LedgerReader,
    check_head,
    damaged,
    heads_given_up,
    is_there,
    linked,
    reader_at,
)
from sanql.errors import LedgerError
from sanql.policy import LedgerPlace


def export(path: LedgerPlace) -> Iterator[str]:
    """Yield every record as one line of JSON, oldest first; LedgerError at the first bad one."""
    with opened_reader(path) as reader:
        for record in exported(reader):
            yield json.dumps(record, sort_keys=True)


@contextmanager
def opened_reader(path: LedgerPlace) -> Iterator[LedgerReader]:
    """Hold one view of a ledger that is there; LedgerError where it cannot be read."""
    if not is_there(path):
        raise LedgerError(
            "ledger_missing", f"the ledger {path.name} is missing", "name another file"
        )
    with reader_at(path) as reader:
        yield reader


def exported(reader: LedgerReader) -> Iterator[dict[str, Any]]:
    """Yield every record as plain data, oldest first; LedgerError at the first bad one, also of heads."""
    newest, pinned, given_up = BEGINNING, None, set[Head]()
    try:
        head = reader.head()
        for record in linked(reader.rows(0), newest):
            newest = Head(record.sequence, record.hash)
            if head is not None and head.sequence == record.sequence:
                pinned = record.hash
            if record.kind == "restore":
                given_up |= heads_given_up([record])
            yield asdict(record) | {"body": record.content}
    except reader.faults as fault:
        reader.check_rights(fault)
        raise damaged(newest.sequence + 1, "cannot be read") from fault
    if head not in given_up:
        check_head(head, newest, pinned)
