"""Forked processes that are killed or interrupted at a chosen line of the ledger's code.

Children are forked, not spawned, so that hundreds fit in a minute; they share nothing with the
parent but the ledger and a pipe on which they say what has returned.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import sanql.account

FILES = {
    str(path)
    for folder in ("ledger", "stores")
    for path in Path(sanql.account.__file__).with_name(folder).glob("*.py")
}


class Child:
    """A forked process; what it says is read when it has ended."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                work(lambda word: void(os.write(write, f"{word}\n".encode())))
                status = 0
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(write)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def ended(self) -> tuple[list[str], int]:
        with os.fdopen(self._read) as pipe:
            said = pipe.read().split()
        _, status = os.waitpid(self.pid, 0)
        return said, os.waitstatus_to_exitcode(status)


def void(_: object) -> None:
    return None


def die_at_line(number: int) -> None:
    """Kill this process at the n-th line of the ledger's code that it executes from now on."""
    at_line(number, lambda: os.kill(os.getpid(), signal.SIGKILL))


def interrupt_at_line(number: int) -> None:
    """Raise what Ctrl-C raises at the n-th line of the ledger's code."""

    def interrupt() -> None:
        sys.settrace(None)
        raise KeyboardInterrupt

    at_line(number, interrupt)


def at_line(number: int, act: Callable[[], None]) -> None:
    left = number

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                act()
        return trace

    sys.settrace(trace)


def first_visits(prepare: Callable[[], Any], work: Callable[[Any], None]) -> list[int]:
    """Count the lines of the ledger's code that some work executes; return when each comes first."""

    def watch(say: Callable[[str], None]) -> None:
        seen: set[tuple[str, int]] = set()
        count = 0

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal count
            if frame.f_code.co_filename not in FILES:
                return None
            if event == "line":
                count += 1
                place = (frame.f_code.co_filename, frame.f_lineno)
                if place not in seen:
                    seen.add(place)
                    say(str(count))
            return trace

        prepared = prepare()
        sys.settrace(trace)
        work(prepared)
        sys.settrace(None)

    said, _ = Child(watch).ended()
    return [int(word) for word in said]
