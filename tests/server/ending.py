"""The word to end, as Ctrl-C, a shell or an operator says it, and what was made of it."""

from __future__ import annotations

import signal
from types import FrameType

TOLD: list[int] = []  # the signals that said so


def listen() -> None:
    """From now on, leave when told to; after & a shell has SIGINT ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def end(number: int, _: FrameType | None) -> None:
    """Leave as after Ctrl-C: whatever was started goes too."""
    TOLD.append(number)
    raise SystemExit(128 + number)


def leave_if_told() -> None:
    """Leave where the word was lost: what is raised while an object is finalized goes nowhere."""
    if TOLD:
        raise SystemExit(128 + TOLD[0])
