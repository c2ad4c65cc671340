"""Ending a connection at once, whether or not the other side reads."""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET

_AT_ONCE = struct.pack("ii", 1, 0)


def reset_connection(transport: asyncio.WriteTransport) -> None:
    """Reset a connection: else its end would wait, in the system, behind answers that nobody takes."""
    with suppress(OSError):  # it is gone already
        transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, _AT_ONCE)
    transport.abort()
