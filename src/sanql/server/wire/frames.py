"""Messages as they come in: each is announced with its length, and none is longer than it may be.

The codec would wait for a gigabyte. So the length is looked at here, before anything is kept of what
follows, and the codec is only given messages that are whole.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from pygwire import BackendConnection, ConnectionPhase, PygwireError
from pygwire.messages import PGMessage

from sanql.server.resets import reset_connection

STARTUP_BYTES_MAX = 10_000
SIGN_IN_BYTES_MAX = 4_096
_UNREAD_MAX = 64 << 10
_MAJOR, MINOR = 3, 2  # of the newest protocol that is spoken
_LENGTH = struct.Struct("!I")
_BEFORE = (
    ConnectionPhase.STARTUP,
    ConnectionPhase.SSL_NEGOTIATION,
    ConnectionPhase.GSS_NEGOTIATION,
)
_SIGNING_IN = (
    ConnectionPhase.AUTHENTICATING,
    ConnectionPhase.AUTHENTICATING_SASL_INITIAL,
    ConnectionPhase.AUTHENTICATING_SASL_CONTINUE,
)


class FrameFault(Exception):
    """What came is no message that may come now; `code` is its SQLSTATE."""

    def __init__(self, what: str, code: str = "08P01") -> None:
        super().__init__(what)
        self.what = what
        self.code = code


class Frames:
    """The messages of one connection, both ways."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        bytes_max: int,
        seconds_max: float,
    ) -> None:
        self._reader = reader
        self.writer = writer
        self._bytes_max = bytes_max
        self._seconds_max = seconds_max
        self.minor_wanted = 0
        """Which 3.… of the protocol the other side has asked for."""
        self._codec = BackendConnection()

    @property
    def phase(self) -> ConnectionPhase:
        """How far the connection has come."""
        return self._codec.phase

    async def receive(self, seconds_max: float | None = None) -> PGMessage | None:
        """Return the next message, None at the end; FrameFault of anything else.

        `seconds_max` is how long its first byte may be waited for; TimeoutError after it.
        """
        async with asyncio.timeout(seconds_max):
            frame = await self._frame()
        if frame is None:
            return None
        try:
            received = [*self._codec.receive(frame)]
        except PygwireError as fault:
            raise FrameFault("a message is malformed, or out of order") from fault
        except (ValueError, IndexError, struct.error) as fault:
            raise FrameFault("a message is malformed") from fault
        if len(received) != 1:
            raise FrameFault("a message is malformed")
        return received[0]

    def send(self, *messages: PGMessage) -> None:
        """Write messages, which leave with the next `flush`."""
        for message in messages:
            self.writer.write(self._codec.send(message))

    async def flush(self) -> None:
        """Wait until what was written can leave; whoever does not read is let go."""
        try:
            async with asyncio.timeout(self._seconds_max):
                await self.writer.drain()
        except TimeoutError:
            reset_connection(self.writer.transport)
            raise ConnectionAbortedError from None

    async def give_way(self) -> None:
        """Let others have their turn; what the other side does not read is waited for."""
        if self.writer.transport.get_write_buffer_size() > _UNREAD_MAX:
            await self.flush()
        await asyncio.sleep(0)

    async def start_tls(self, context: Any) -> None:
        """Go on over TLS; whatever came before it in clear text was somebody else's."""
        if self._reader._buffer:  # type: ignore[attr-defined]
            raise FrameFault("there are bytes between the request for TLS and its beginning")
        await self.writer.start_tls(context)

    async def _frame(self) -> bytes | None:
        head = await self._exactly(4 if self.phase in _BEFORE else 5)
        if head is None:
            return None
        (length,) = _LENGTH.unpack(head[-4:])
        most = self._most()
        if not 4 <= length <= most:
            raise FrameFault(f"a message has at most {most:,} bytes, and not {length:,}", "54000")
        async with asyncio.timeout(self._seconds_max):  # what was begun must come
            body = await self._exactly(length - 4)
        if body is None:
            raise FrameFault("the connection ended within a message")
        return head + (self._known_version(body) if self.phase in _BEFORE else body)

    def _known_version(self, body: bytes) -> bytes:
        """Return a beginning in a version that the codec knows: 3.0, or 3.2 of whoever asks for newer."""
        major, minor = struct.unpack("!HH", body[:4]) if len(body) >= 4 else (0, 0)
        if major != _MAJOR:
            return body
        self.minor_wanted = minor
        return struct.pack("!HH", _MAJOR, MINOR if minor >= MINOR else 0) + body[4:]

    def _most(self) -> int:
        if self.phase in _BEFORE:
            return STARTUP_BYTES_MAX
        return SIGN_IN_BYTES_MAX if self.phase in _SIGNING_IN else self._bytes_max

    async def _exactly(self, count: int) -> bytes | None:
        """Return so many bytes, or None where the other side has ended before the first of them."""
        if not count:
            return b""
        try:
            return await self._reader.readexactly(count)
        except asyncio.IncompleteReadError as cut:
            if cut.partial:
                raise FrameFault("the connection ended within a message") from None
            return None
        except ConnectionError:
            return None
