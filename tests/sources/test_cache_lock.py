"""The lock of prepared copies is given back whichever line an interrupt comes at."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sanql.sources import cache as cache_module
from sanql.sources.cache import Cache
from support.interrupts import interrupted_at


def is_free(lock: Path) -> bool:
    handle = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def test_it_is_free_again_while_somebody_keeps_the_interrupt(tmp_path: Path) -> None:
    cache, kept = Cache(tmp_path / "a.ledger"), list[KeyboardInterrupt]()
    with cache.writing("a"):
        assert not is_free(cache.folder / "lock")
    for line in range(1, 40):
        try:
            with interrupted_at(line, cache_module), cache.writing("a"):
                pass
        except KeyboardInterrupt as interrupt:
            kept.append(interrupt)
        assert is_free(cache.folder / "lock"), line
    assert 5 < len(kept) < 39, "every line was interrupted once"
