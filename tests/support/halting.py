"""Workers that stand still, so that what happens meanwhile can be looked at."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sanql.ask import Session


@contextmanager
def halted(session: Session) -> Iterator[None]:
    """Let the workers of a session, which must have been asked before, stand still in this block."""
    opened = session.data.opened
    assert opened is not None, "ask something first: there are no workers yet"
    pids = opened.workers.pids()
    assert os.getpid() not in pids, "the engine of this process cannot be halted"
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):  # whose question was cancelled is ended
                os.kill(pid, signal.SIGCONT)


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that comes soon."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
