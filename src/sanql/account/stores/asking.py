"""One asker at a time: identical questions asked at once wait for the first of them, and find its answer.

The lock is one byte of a file beside the ledger, at a place made of analyst and question. An open file
holds it, so it keeps threads apart as well as processes, and is free at once when its process dies.
It only saves charges. Where it cannot be had, or is held for too long, the question goes on and is
charged; what is answered and what is charged, the ledger alone decides.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import FileIO
from pathlib import Path

_SECONDS_BETWEEN_LOOKS = 0.005, 0.05
_LOCK = struct.Struct("hhqqi4x")  # type, whence, start, length, process (none: the file holds it)


@contextmanager
def asking_alone(ledger: Path, analyst: str, question: str, seconds_max: float) -> Iterator[None]:
    """Hold what this analyst asks against all who ask the same; wait for them at most so long."""
    held = None
    with suppress(OSError):
        place = f"{ledger}.asking"
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        held = FileIO(os.open(place, flags, 0o600))
    with held or nullcontext():  # closes it where an interrupt came before it was closed below
        try:
            if held is not None:
                _wait(held.fileno(), _byte_of(analyst, question), time.monotonic() + seconds_max)
            yield
        finally:
            if held is not None:
                held.close()


def _byte_of(analyst: str, question: str) -> int:
    """Return a place that two different questions share about never; then one waits in vain."""
    named = hashlib.sha256(f"{question} {analyst}".encode()).digest()
    return int.from_bytes(named[:8], "big") >> 2


def _wait(handle: int, byte: int, deadline: float) -> None:
    """Take the lock, or give up: where there is no such lock, and when it is too late."""
    command = getattr(fcntl, "F_OFD_SETLK", None)
    wanted = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    pause, longest = _SECONDS_BETWEEN_LOOKS
    while command is not None and time.monotonic() < deadline:
        try:
            fcntl.fcntl(handle, command, wanted)
        except BlockingIOError:
            time.sleep(pause)
            pause = min(2 * pause, longest)
        except OSError:
            return
        else:
            return
