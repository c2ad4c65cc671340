"""On which processors a process runs.

Of a server's threads one computes at a time, whatever the number of processors. Where they are spread
over several, each change from one thread to the next wakes another processor, which takes longer than
many a step of a question. So they stay on one, and the processes that touch rows have all of them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PROCESSORS = "SANQL_PROCESSORS"
"""What in a worker's environment says where it may run."""

_THREADS = Path("/proc/self/task")
_OWN = Path("/proc/thread-self/stat")
_PLACE_OF_PROCESSOR = 36  # in a line of state, counted from what follows the name

_AT_FIRST: frozenset[int] = (
    frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
)


def processors() -> int:
    """Return on how many processors this process may run: as many threads are of use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processors_at_first() -> str:
    """Return where this process could run when it began, as `run_on` reads it; empty if unknown."""
    return ",".join(map(str, sorted(_AT_FIRST)))


def run_on(written: str) -> None:
    """Run where somebody says, who was let; where that cannot be, as before."""
    with suppress(OSError, ValueError):
        os.sched_setaffinity(0, {int(number) for number in written.split(",")})


def stay_on_one() -> None:
    """Keep all threads of this process, and those to come, on one processor: where this one runs."""
    with suppress(
        OSError, ValueError, IndexError
    ):  # no Linux, or not let: nothing is lost but speed
        state = _OWN.read_text(encoding="ascii", errors="replace").rpartition(")")[2]
        here = {int(state.split()[_PLACE_OF_PROCESSOR])}
        for thread in _THREADS.iterdir():
            with suppress(OSError):  # it has ended meanwhile
                os.sched_setaffinity(int(thread.name), here)
