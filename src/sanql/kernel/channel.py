"""Framed messages over a pipe: eight bytes of length, then the payload.

A deadline is a reading of `time.monotonic()`; None waits for ever. Whatever goes wrong between two
processes is one `ChannelLost`; only an end that was let go of is told from the rest.
"""

from __future__ import annotations

import os
import select
import struct
import time

_LENGTH = struct.Struct("!Q")
_PIPE_CHUNK = 1 << 20

FRAME_BYTES_MAX = 2 << 30
"""A frame is about a megabyte, or one row; this only holds off a process that has gone mad."""


class ChannelLost(Exception):
    """The other process died, was too slow or broke the framing."""


class ChannelClosed(ChannelLost):
    """The other process has let go of its end: it is gone, or going."""


def send(pipe: int, payload: bytes, deadline: float | None = None) -> None:
    """Write one message; with a deadline, the pipe must be non-blocking."""
    length = _LENGTH.pack(len(payload))
    for part in (length + payload,) if len(payload) < _PIPE_CHUNK else (length, payload):
        rest = memoryview(part)
        while rest:
            try:
                rest = rest[os.write(pipe, rest[:_PIPE_CHUNK]) :]
            except BlockingIOError:
                _wait(pipe, select.POLLOUT, deadline)
            except OSError as trouble:
                raise ChannelClosed from trouble


def receive(pipe: int, bytes_max: int, deadline: float | None = None) -> bytearray:
    """Return the next message, refusing one that announces more than `bytes_max`."""
    (length,) = _LENGTH.unpack(_read(pipe, _LENGTH.size, deadline))
    if length > bytes_max:
        raise ChannelLost
    return _read(pipe, length, deadline)


def _read(pipe: int, length: int, deadline: float | None) -> bytearray:
    received = bytearray()
    while len(received) < length:
        try:
            chunk = os.read(pipe, min(length - len(received), _PIPE_CHUNK))
        except BlockingIOError:
            _wait(pipe, select.POLLIN, deadline)
            continue
        except OSError as trouble:
            raise ChannelLost from trouble
        if not chunk:
            raise ChannelClosed
        received += chunk
    return received


def _wait(pipe: int, event: int, deadline: float | None) -> None:
    poll = select.poll()
    poll.register(pipe, event)
    left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
    if not poll.poll(left):
        raise ChannelLost
