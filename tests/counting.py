"""Work counted instead of timed: how many calls Python makes, the same on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Understanding an ordinary question takes some thousand calls. The longest text that passes the
# limits takes a few hundred thousand; something quadratic in it would take tens of millions.
CALLS_MAX = 1_000_000


@contextmanager
def at_most(calls: int = CALLS_MAX) -> Iterator[None]:
    """Assert that what is done inside makes no more calls than this, however it ends."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
    assert count <= calls
