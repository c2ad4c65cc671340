"""Requests with an idempotency key: charged once, however often they are sent, and answered alike.

Under the same key the same request has the answer on record, also where it was asked for afresh, after a
crash, or by another process; while it is running it is waited for. One that ended without an answer stays
so: it was charged, and is not charged again until it is asked under another key. What costs nothing (a
repeat, an exact release, rows of public tables) binds no key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sanql.account import Asked, AskedQuestion, KeyTaken
from sanql.ask.session import Session
from sanql.engines import unavailable
from sanql.errors import Refused

T = TypeVar("T")
Rebuilt = TypeVar("Rebuilt")


class KeyedRequest(Protocol):
    """What may be sent under an idempotency key: one question, or several asked together."""

    @property
    def analyst(self) -> str:
        """Who asks."""
        ...

    @property
    def said(self) -> Asked:
        """What was asked, as the ledger keeps it."""
        ...

    @property
    def idempotency_key(self) -> str | None:
        """The key, as it was typed."""
        ...


def once(
    session: Session,
    request: KeyedRequest,
    act: Callable[[], T],
    rebuild: Callable[[AskedQuestion], Rebuilt],
) -> Rebuilt | T:
    """Return what `act` gives for a request, or what it gave when it was asked under the same key.

    `rebuild` makes that of the answer on record.
    """
    key = request.said.idempotency if request.idempotency_key is not None else None
    if key is None or session.ledger.scratch:
        return act()
    charged = session.ledger.questions.under(key, request.analyst)
    if charged is None:
        try:
            return act()
        except KeyTaken:  # the same was sent twice at once
            charged = session.ledger.questions.under(key, request.analyst)
    if charged is None or charged.request not in (key.request, None):
        raise _reused(request)
    return rebuild(_answered(session, request, charged.asked))


def _answered(session: Session, request: KeyedRequest, asked: AskedQuestion) -> AskedQuestion:
    """Return a question that was charged, once it has its answer."""
    if asked.outcome == "running":
        with session.ledger.asking(request.analyst, asked.question):
            pass  # whoever asks has settled it, or is gone
        asked = session.ledger.questions.again(request.analyst, asked)
    if asked.outcome != "answered":
        raise unavailable()
    return asked


def _reused(request: KeyedRequest) -> Refused:
    return Refused(
        "idempotency_key_reused",
        f"the idempotency key {request.idempotency_key!r} was given to another request of yours",
        "take a key of its own for each request, such as a random number",
    )
