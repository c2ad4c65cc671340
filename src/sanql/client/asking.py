"""A question put to a server: waited for as long as it takes, cancelled where whoever asks gives up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from sanql.client.problems import error_of, unreadable
from sanql.client.transport import Transport
from sanql.entropy import OsEntropy
from sanql.errors import SanqlError
from sanql.interrupts import Terminated

WAIT_FIRST, WAIT_MOST = 0.05, 1.0  # seconds between two looks
Progress = Callable[[str], None]


def ask_server(
    transport: Transport, path: str, body: Mapping[str, Any], progress: Progress | None
) -> Mapping[str, Any]:
    """Return the plain data of an answer, or of several; sent twice, it is still charged once."""
    key = OsEntropy().bytes(16).hex()
    try:
        reply = transport.post(path, body, key=key, patient=True)
        return _wait(transport, reply.shape["id"], progress) if reply.later else reply.shape
    except KeyError:
        raise unreadable() from None
    except (KeyboardInterrupt, Terminated) as interrupt:
        interrupt.add_note(_cancelled(transport, key))
        raise


def _path(number: object) -> str:
    """Return where a question is followed: on the same server, whatever it says."""
    return f"/v1/questions/{quote(str(number), safe='')}"


def _wait(transport: Transport, number: object, progress: Progress | None) -> Mapping[str, Any]:
    """Look how far a question has come, until it has an answer."""
    pause, said = WAIT_FIRST, ""
    while True:
        state = transport.get(_path(number))
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


def _cancelled(transport: Transport, key: str) -> str:
    """End a question on the server, where it runs under its key; return what is to be said of it."""
    try:
        transport.delete(_path(key))
    except SanqlError as error:
        if error.code == "question_unknown":
            return "interrupted; no such question runs on the server, and what it was charged stays"
        return "interrupted; the server could not be told, and what the question was charged stays"
    return "interrupted; the question is cancelled on the server, and what it was charged stays"
