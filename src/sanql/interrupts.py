"""How questions end before their answer: interrupted here, or cancelled by whoever waits elsewhere.

What an interrupted question had been charged is added to the interrupt as a note.

An interrupt in Python (Ctrl-C) and SIGTERM to the command stay what they are, and carry a note. Charges
are noted before they are reserved, so that no interrupt comes between a charge and its note: one that
comes while the ledger writes says that it does not know.

A question that somebody waits for elsewhere has a `Watch`: it says how far it has come, and can be
cancelled. A charge that was made stays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sanql.errors import Unavailable

if TYPE_CHECKING:
    from sanql.account import Charge

NOTHING = "interrupted; nothing was charged"
Stage = Literal["reserving", "charged", "answered"]


class Terminated(SystemExit):
    """What SIGTERM raises in the command, which then ends as after Ctrl-C."""


@dataclass
class Charging:
    """A charge, and how far it has come."""

    charge: Charge
    stage: Stage = "reserving"


_CHARGES: ContextVar[list[Charging] | None] = ContextVar("charges", default=None)


def charging(charge: Charge) -> Charging:
    """Remember a charge that is about to be reserved, and how far its question has come."""
    noted = Charging(charge)
    charges = _CHARGES.get()
    if charges is not None:
        charges.append(noted)
    return noted


@contextmanager
def noting_charges_on_interrupt() -> Iterator[None]:
    """Add to an interrupt what was charged in this block; nested blocks add it once."""
    if _CHARGES.get() is not None:
        yield
        return
    charges: list[Charging] = []
    token = _CHARGES.set(charges)
    try:
        yield
    except (KeyboardInterrupt, Terminated) as interrupt:
        if not getattr(interrupt, "__notes__", None):  # a server may have said what it charged
            interrupt.add_note(_in_words(charges))
        raise
    finally:
        _CHARGES.reset(token)


class Watch:
    """One question as whoever waits for it sees it; safe to share among threads."""

    def __init__(self) -> None:
        self.stage = "reading the question"
        self.cancelled = False
        self._mutex = threading.Lock()
        self._stop: Callable[[], None] | None = None

    def cancel(self) -> None:
        """End the question as soon as can be; what it was charged stays."""
        with self._mutex:
            self.cancelled = True
            if self._stop is not None:
                self._stop()

    @contextmanager
    def _stopping_by(self, stop: Callable[[], None]) -> Iterator[None]:
        with self._mutex:
            self._stop = stop
            if self.cancelled:
                stop()
        try:
            yield
        finally:
            with self._mutex:
                self._stop = None


_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    """Let a watch see, and cancel, what is asked in this block."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


@contextmanager
def stoppable(stage: str, stop: Callable[[], None]) -> Iterator[None]:
    """Say how far the question has come, and how to end what is done in this block."""
    watch = _WATCH.get()
    if watch is None:
        yield
        return
    watch.stage = stage
    with watch._stopping_by(stop):
        yield


def is_cancelled() -> bool:
    """Return whether whoever waits for this question has cancelled it."""
    watch = _WATCH.get()
    return watch is not None and watch.cancelled


def cancelled(*, charged: bool) -> Unavailable:
    """Return what is said of a question that was cancelled."""
    what = "it had been charged, and the charge stays" if charged else "nothing was charged"
    return Unavailable(
        "question_cancelled",
        f"the question was cancelled; {what}",
        "ask again if it is still needed",
    )


def _in_words(charges: list[Charging]) -> str:
    """Return what had been charged when the interrupt came."""
    if not charges:
        return NOTHING
    from fractions import Fraction

    from sanql.numbers import show_upper

    epsilon = sum((noted.charge.epsilon for noted in charges), Fraction(0))
    delta = sum((noted.charge.delta for noted in charges), Fraction(0))
    price = f"epsilon {show_upper(epsilon)} (delta {show_upper(delta)})"
    stages = {noted.stage for noted in charges}
    if "reserving" in stages:
        return f"interrupted; up to {price} may have been charged: `sanql ledger list` tells"
    charged = f"interrupted; the question had been charged {price}, and the charge stays"
    free = ": its answer is on record, and asking again is free"
    return charged + (free if stages == {"answered"} else "")
