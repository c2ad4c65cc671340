"""A question put to a server: waited for as long as it takes, cancelled where whoever asks gives up."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from sanql.client.problems import error_of
from sanql.client.transport import Reply, Transport
from sanql.errors import SanqlError
from sanql.interrupts import Terminated

WAIT_FIRST, WAIT_MOST = 0.05, 1.0  # seconds between two looks
Progress = Callable[[str], None]


def ask_server(
    transport: Transport, body: Mapping[str, Any], progress: Progress | None
) -> Mapping[str, Any]:
    """Return the plain data of an answer; sent twice, a question is still charged once."""
    key = secrets.token_hex(16)
    try:
        reply = transport.post("/v1/query", body, key=key, patient=True)
        return _wait(transport, _path(reply), progress) if reply.later else reply.shape
    except (KeyboardInterrupt, Terminated) as interrupt:
        interrupt.add_note(_cancelled(transport, body, key))
        raise


def _path(reply: Reply) -> str:
    """Return where a question is followed: on the same server, whatever else it says."""
    return f"/v1/questions/{quote(str(reply.shape['id']), safe='')}"


def _wait(transport: Transport, path: str, progress: Progress | None) -> Mapping[str, Any]:
    """Look how far a question has come, until it has an answer."""
    pause, said = WAIT_FIRST, ""
    while True:
        state = transport.get(path)
        match state["status"]:
            case "answered":
                answer: Mapping[str, Any] = state["answer"]
                return answer
            case "failed" | "cancelled":
                raise error_of(state["error"])
        if progress is not None and state["progress"] != said:
            said = str(state["progress"])
            progress(said)
        time.sleep(pause)
        pause = min(WAIT_MOST, pause * 1.5)


def _cancelled(transport: Transport, body: Mapping[str, Any], key: str) -> str:
    """End a question on the server, and return what is to be said of it.

    Under its key it is the same question: the server says which it is, and is told to end it.
    """
    try:
        transport.delete(_path(transport.post("/v1/questions", body, key=key)))
    except (SanqlError, KeyError):
        return "interrupted; the server could not be told, and what the question was charged stays"
    return "interrupted; the question is cancelled on the server, and what it was charged stays"
