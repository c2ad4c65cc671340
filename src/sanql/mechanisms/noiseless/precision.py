"""Balls of a chosen precision, computed by one thread at a time.

flint has one precision for all threads, and lines of nodes are shared and grow (`fourier`). Threads
that computed at once would go on with each other's bits, which makes bounds loose, and read lines
that are half grown, which makes them wrong. A fork waits too: the child would keep what it finds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_ONE_AT_A_TIME = RLock()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with balls of so many bits, while no other thread does."""
    from flint import ctx

    with _ONE_AT_A_TIME, ctx.workprec(bits):
        yield


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ONE_AT_A_TIME.acquire,
        after_in_parent=_ONE_AT_A_TIME.release,
        after_in_child=_ONE_AT_A_TIME.release,
    )
