"""Newcomers over TLS: whoever has not shaken hands is counted and timed, and let go where they are many.

The event loop's own way would not tell anybody of a connection before its handshake is over: half-open
ones could take every file that the server may open.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sanql.errors import ServerError

_NEWCOMERS_MAX = 100


def tls_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """Return what TLS is spoken with: a certificate and its key, 1.2 or newer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        for file in (certificate, key or certificate):
            file.open("rb").close()  # which says of which one it is that it is missing
        context.load_cert_chain(certificate, key)
    except OSError as fault:  # of which every fault of TLS is one
        named = fault.filename or f"the certificate {certificate.name} and its key"
        raise ServerError(
            "certificate_unusable",
            f"{named} cannot be used: {fault.strerror}",
            "name a certificate and its unencrypted key, both in PEM form: --tls cert.pem key.pem",
        ) from None
    return context


def over_tls(
    connection: Callable[..., asyncio.Protocol], context: ssl.SSLContext, seconds_max: float
) -> Callable[..., asyncio.Protocol]:
    """Return what makes connections that begin once hands are shaken, within so many seconds."""
    newcomers: dict[_Newcomer, None] = {}  # who came first is first

    def make(**arguments: Any) -> asyncio.Protocol:
        return _Newcomer(lambda: connection(**arguments), context, seconds_max, newcomers)

    return make


class _Newcomer(asyncio.Protocol):
    def __init__(
        self,
        begin: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        seconds_max: float,
        newcomers: dict[_Newcomer, None],
    ) -> None:
        self._begin = begin
        self._context = context
        self._seconds_max = seconds_max
        self._newcomers = newcomers
        self._transport: asyncio.Transport | None = None
        self._shaking: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  (of a socket)
        self._transport = transport
        self._newcomers[self] = None
        if len(self._newcomers) > _NEWCOMERS_MAX:
            next(iter(self._newcomers))._make_room()
        self._shaking = asyncio.get_running_loop().create_task(self._shake_hands(transport))

    async def _shake_hands(self, transport: asyncio.Transport) -> None:
        early = _Early()
        try:
            secured = await asyncio.get_running_loop().start_tls(
                transport, early, self._context, server_side=True,
                ssl_handshake_timeout=self._seconds_max,
            )  # fmt: skip
        except OSError:  # of which every fault of TLS is one: they spoke something else, or left
            secured = None
        finally:
            self._newcomers.pop(self, None)
        if secured is None:
            transport.abort()
        else:
            early.go_on(secured, self._begin())

    def _make_room(self) -> None:
        self._newcomers.pop(self, None)
        if self._transport is not None:
            self._transport.abort()


class _Early(asyncio.Protocol):
    """What came between the handshake and the moment when it is taken note of."""

    def __init__(self) -> None:
        self._came: list[Callable[[asyncio.Protocol], object]] = []

    def data_received(self, data: bytes) -> None:
        self._came.append(lambda connection: connection.data_received(data))

    def eof_received(self) -> bool:
        self._came.append(lambda connection: connection.eof_received())
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._came.append(lambda connection: connection.connection_lost(exc))

    def go_on(self, transport: asyncio.Transport, connection: asyncio.Protocol) -> None:
        """Hand everything over to the connection."""
        transport.set_protocol(connection)
        connection.connection_made(transport)
        for each in self._came:
            each(connection)
