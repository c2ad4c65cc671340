"""An interrupt at a chosen line of a module."""

from __future__ import annotations

import gc
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any


@contextmanager
def interrupted_at(
    line: int, module: ModuleType, told: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Raise what Ctrl-C raises before a line of a module, counted from the first that is run.

    `told` is called just before it. Lines at which no interrupt comes are left out: `try:`, which does
    nothing, and that of a `with` when its block has ended, after which nothing comes before its end.
    """
    count, before = 0, dict[FrameType, int]()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename != module.__file__:
            return None
        if event != "line":
            return trace
        may_come = _may_come(frame, before.get(frame, 0))
        before[frame] = frame.f_lineno
        count += may_come
        if may_come and count == line:
            sys.settrace(None)
            told()
            raise KeyboardInterrupt
        return trace

    gc.disable()  # what is raised while rubbish is collected is lost
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)
        gc.enable()


def _may_come(frame: FrameType, before: int) -> bool:
    """Return whether an interrupt may come here, after the line that was run before in this call."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    ended = line.startswith("with ") and before > frame.f_lineno
    return line != "try:" and not ended
