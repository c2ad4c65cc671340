"""A connection over HTTP with limits that the protocol's library lacks: sizes and times of what comes in.

Whoever sends a header or a body too slowly, or one too large, or does not read their answer, is let go;
others are not hurt. Requests that came before the one at fault are answered first, so that a refusal is
never taken for the answer to another request.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from sanql.errors import ServerError
from sanql.server.http.problems import problem_reply
from sanql.server.resets import reset_connection
from sanql.server.settings import RequestLimits


def limited_protocol(limits: RequestLimits) -> type[asyncio.Protocol]:
    """Return the protocol of connections under some limits."""
    nobody: dict[_LimitedConnection, None] = {}

    class LimitedConnection(_LimitedConnection):
        request_limits = limits
        idle = nobody

    return LimitedConnection


class _LimitedConnection(HttpToolsProtocol):
    request_limits: RequestLimits
    idle: dict[_LimitedConnection, None]  # those with nothing to be answered, since longest first

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._reading: Literal["nothing", "header", "body"] = "nothing"
        self._deaf = False  # what still comes is not listened to
        self._header_bytes = self._received = self._begun = 0
        self._before: RequestResponseCycle | None = None
        self._refusal: ServerError | None = None
        self._waited: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.request_limits.connections:
            next(iter(self.idle), self._latest())._make_room()
        if not transport.is_closing():
            self.idle[self] = None
            self._wait(self.request_limits.idle_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self.idle.pop(self, None)
        self._wait_no_more()
        self._is_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.parser is None or self._deaf or self.transport.is_closing():
            return
        reading, begun = self._reading, self._begun
        super().data_received(data)
        if self._reading == "body" or self._deaf or self.transport.is_closing():
            return
        if self._waited is None and not self._answering():
            self._wait(self.request_limits.idle_seconds)  # what begins no request keeps nobody here
        if (reading, begun) == (self._reading, self._begun):
            self._received += len(data)
            if self._received > self.request_limits.header_bytes:
                self._refuse(self._too_large())

    def on_message_begin(self) -> None:
        self._reading = "header"
        self._begun += 1
        self._header_bytes = self._received = 0
        self._wait(self.request_limits.header_seconds)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        if self._reading == "header":  # what stands after a body says nothing about the request
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if _is_elsewhere(self.url, self.headers):
            raise _Stopped
        before = self.cycle
        super().on_headers_complete()
        self._before = before
        self._reading = "body"
        self.idle.pop(self, None)
        self._wait(self.request_limits.body_seconds)

    def on_message_complete(self) -> None:
        self._reading = "nothing"
        self._received = 0
        self._wait_no_more()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait(self.request_limits.body_seconds)  # until it is read
        elif not self._answering():
            self.idle[self] = None

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def pause_writing(self) -> None:
        super().pause_writing()
        seconds = self.request_limits.body_seconds
        self._unread = self.loop.call_later(seconds, reset_connection, self.transport)

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Say that a request is none, in the shape that every error has."""
        invalid = ServerError(
            "request_invalid", "what was sent is no request of HTTP/1.1", "send one"
        )
        self._refuse(self._refusal or invalid)

    def _should_upgrade(self) -> bool:
        return False

    def _unsupported_upgrade_warning(self) -> None:
        """Answer what asks for another protocol as if it did not, and nothing after it."""
        self._listen_no_more()

    def _make_room(self) -> None:
        """Go, so that somebody else may come: whoever has asked nothing for longest is hurt least."""
        self.connections.discard(self)
        self.idle.pop(self, None)
        reset_connection(self.transport)

    def _latest(self) -> _LimitedConnection:
        """Return who is waited for longest, to send a body or to read; this one where nobody is."""
        waited: list[tuple[float, _LimitedConnection]] = []
        for each in self.connections:
            assert isinstance(each, _LimitedConnection)  # noqa: S101  (there are no others here)
            timer = each._unread or (each._waited if each._reading == "body" else None)
            waited += [] if timer is None else [(timer.when(), each)]
        return min(waited, key=lambda pair: pair[0], default=(0.0, self))[1]

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self.request_limits.header_bytes:
            self._refusal = self._too_large()
            raise _Stopped

    def _too_large(self) -> ServerError:
        return ServerError(
            "header_too_large",
            f"address and headers have more than {self.request_limits.header_bytes:,} bytes",
            "send what is long in the body",
        )

    def _wait(self, seconds: float) -> None:
        self._wait_no_more()
        self._waited = self.loop.call_later(seconds, self._waited_too_long)

    def _wait_no_more(self) -> None:
        if self._waited is not None:
            self._waited.cancel()
            self._waited = None

    def _waited_too_long(self) -> None:
        self._waited = None
        if self.transport.is_closing():
            reset_connection(self.transport)
        elif self._reading == "nothing":
            self._close()
        else:
            self._refuse(ServerError("body_slow", "the request came too slowly", "send it at once"))

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _refuse(self, error: ServerError) -> None:
        """Refuse the request that is read; one that others come before goes without a word."""
        if self._reading == "body" and self.pipeline:
            self.pipeline.popleft()  # it waits for its turn, behind the one before
            self.cycle, self._reading = self._before, "nothing"  # type: ignore[assignment]
        if self._answering() and (self._reading != "body" or self.cycle.response_started):
            self._listen_no_more()
            return
        if self._reading != "body" or not self.cycle.response_started:
            self.transport.write(_refusal_bytes(error))
        self._close()

    def _listen_no_more(self) -> None:
        """Close the connection after the last answer that is under way."""
        self._deaf = True
        self._wait_no_more()
        if self._answering():
            self.cycle.keep_alive = False
        else:
            self._close()

    def _close(self) -> None:
        self.transport.close()
        self._wait(self.request_limits.body_seconds)  # until what was sent is read


class _Stopped(Exception):
    """What ends the reading of a request that is refused."""


def _is_elsewhere(target: bytes, headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request's target names another host than its header does.

    >>> host = [(b"host", b"localhost:80")]
    >>> [_is_elsewhere(each, host) for each in (b"/a", b"http://LocalHost:80/a", b"http://evil/a")]
    [False, False, True]
    """
    if target.startswith(b"/") or target == b"*":
        return False
    _, _, rest = target.partition(b"://")
    named = re.split(rb"[/?#]", rest, maxsplit=1)[0].lower()
    return [named] != [value.strip().lower() for name, value in headers if name == b"host"]


def _refusal_bytes(error: ServerError) -> bytes:
    status, headers, body = problem_reply(error)
    headers |= {"content-length": str(len(body)), "connection": "close"}
    lines = [f"{name}: {value}\r\n".encode("ascii") for name, value in headers.items()]
    return b"".join([STATUS_LINE[status], *lines, b"\r\n", body])
