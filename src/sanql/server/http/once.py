"""What analysts ask, read from a request, and answered once however often it is sent under one key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request as HttpRequest

from sanql.account import Person
from sanql.ask import SpooledAnswer
from sanql.interrupts import Watch, watched_by
from sanql.server.caller import check_role
from sanql.server.datasets import Dataset
from sanql.server.http.bodies import take_text
from sanql.server.http.exchange import (
    body_of,
    caller_of,
    chosen,
    line_of,
    queued,
    service_of,
    waited_for,
)
from sanql.server.questions import cancelled_before

T = TypeVar("T")
Read = Callable[[dict[str, Any], str, str | None], T]
"""What reads a body, asked by an analyst under a key or none."""


async def asked_of(http: HttpRequest, read: Read[T]) -> tuple[Dataset, Person, T]:
    """Return what is asked, of which dataset, by whom: the analyst is the credential's person."""
    caller, body = await caller_of(http), await body_of(http)
    dataset, person = chosen(http, caller, take_text(body, "dataset"))
    check_role(person, "analyst")
    return dataset, person, read(body, person.name, http.headers.get("idempotency-key"))


async def once_under_key(
    http: HttpRequest,
    dataset: Dataset,
    person: Person,
    asked: object,
    answered: Callable[[], bytes | SpooledAnswer],
) -> bytes | SpooledAnswer:
    """Return what a question gives; sent again under its key while it runs, it is the same question."""
    key = http.headers.get("idempotency-key")
    if key is None:
        return await queued(http, dataset, person, answered)
    service, begun = service_of(http), False

    def start(watch: Watch) -> Future[bytes | SpooledAnswer]:
        nonlocal begun
        begun = True
        return service.queue.submit(line_of(http), partial(watched, dataset, watch, answered))

    owner = dataset.name, person.name
    running = service.kept.under_key(owner, key, asked, start)
    try:
        content: bytes | SpooledAnswer = await waited_for(running.future)
    except asyncio.CancelledError:
        if running.future.cancelled():
            raise cancelled_before() from None
        raise
    if isinstance(content, SpooledAnswer) and not begun:  # which whoever began it reads
        return await queued(http, dataset, person, answered)
    return content


def watched(dataset: Dataset, watch: Watch, answered: Callable[[], T]) -> T:
    """Return what is answered while somebody watches how far it has come, and may end it."""
    with dataset.used(), watched_by(watch):
        return answered()
