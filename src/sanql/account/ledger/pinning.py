"""What keeps a ledger one: a place where its head is pinned has one writer at a time, its file one name.

SQLite's write-ahead log and its locks belong to the *name* of a file. Under a second name, or as a copy,
the same account would be written by two who do not see each other.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from sanql.errors import LedgerError

LOCK_SECONDS = 60.0
"""How long a lock of the ledger is waited for."""

_SECONDS_BETWEEN_LOOKS = 0.001, 0.05


@contextmanager
def holding(place: Path, seconds_max: float) -> Iterator[None]:
    """Hold a place against everybody else who pins there, whichever ledger is theirs.

    The lock is on a file of its own, since the place itself is replaced by what is pinned.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    held = FileIO(os.open(f"{place}.lock", flags, 0o600))
    with held:  # closes it where an interrupt came before it was closed below
        try:
            _take(held.fileno(), time.monotonic() + seconds_max)
            yield
        finally:
            held.close()


def _take(handle: int, deadline: float) -> None:
    pause, longest = _SECONDS_BETWEEN_LOOKS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LedgerError(
                    "ledger_busy", "the ledger is in use by others", "try again"
                ) from None
            time.sleep(pause)
            pause = min(2 * pause, longest)
        else:
            return


def sole_identity(ledger: Path) -> tuple[int, int] | None:
    """Return device and inode of the ledger's file, None where there is none.

    Raises LedgerError where the file has a second name, a hard link.
    """
    try:
        found = ledger.stat()
    except FileNotFoundError:
        return None
    names = found.st_nlink
    if names > 1:
        raise LedgerError(
            "ledger_linked",
            f"the file of the ledger {ledger.name} has {names} names (hard links): each would have a"
            " log, and so a budget, of its own",
            "delete the other names, after every process that uses one of them has ended; a backup is a"
            " copy, never a link",
        )
    return found.st_dev, found.st_ino


def second_head_missing(place: str) -> LedgerError:
    """Return the refusal of a ledger whose second head, once pinned, is gone."""
    return LedgerError(
        "ledger_head_missing",
        f"the second head of the ledger, pinned at {place!r}, is missing",
        "bring its disk or folder back; where it is lost for good, `sanql account move --head-lost`"
        " says so on record",
    )
