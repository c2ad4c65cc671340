"""A connection over HTTP with limits that the protocol's library lacks: sizes and times of what comes in.

Whoever sends a header or a body too slowly, or one too large, is let go; others are not hurt.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from sanql.errors import ServerError
from sanql.server.http.problems import problem_reply
from sanql.server.settings import RequestLimits


def limited_protocol(limits: RequestLimits) -> type[asyncio.Protocol]:
    """Return the protocol of connections under some limits."""

    class LimitedConnection(_LimitedConnection):
        request_limits = limits

    return LimitedConnection


class _LimitedConnection(HttpToolsProtocol):
    request_limits: RequestLimits

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._header_bytes = self._received = 0
        self._in_header = True  # also before the first byte of a request
        self._waited: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.request_limits.connections:
            transport.abort()
            return
        self._wait(self.request_limits.idle_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._header_bytes = self._received = 0
        self._in_header = True
        self._wait(self.request_limits.header_seconds)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_header = False
        self._wait(self.request_limits.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._wait_no_more()
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self.parser is None or self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_header:
            self._received += len(data)
            self._check_size(self._received)

    def send_400_response(self, msg: str) -> None:
        """Say that a request is none, in the shape that every error has."""
        self._refuse(
            ServerError("request_invalid", "what was sent is no request of HTTP/1.1", "send one")
        )

    def _should_upgrade(self) -> bool:
        return False

    def _count(self, size: int) -> None:
        self._header_bytes += size
        self._check_size(self._header_bytes)

    def _check_size(self, size: int) -> None:
        if size > self.request_limits.header_bytes and not self.transport.is_closing():
            self._refuse(
                ServerError(
                    "header_too_large",
                    f"address and headers have more than {self.request_limits.header_bytes:,} bytes",
                    "send what is long in the body",
                )
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
            return
        if self.cycle is not None and self.cycle.response_started:
            self.transport.abort()
        else:
            self._refuse(ServerError("body_slow", "the request came too slowly", "send it at once"))

    def _refuse(self, error: ServerError) -> None:
        status, headers, body = problem_reply(error)
        lines = [STATUS_LINE[status]]
        headers |= {"content-length": str(len(body)), "connection": "close"}
        lines += [f"{name}: {value}\r\n".encode("ascii") for name, value in headers.items()]
        self.transport.write(b"".join([*lines, b"\r\n", body]))
        self.transport.close()
