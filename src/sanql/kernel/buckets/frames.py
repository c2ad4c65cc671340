"""Rows as bytes that travel between processes: an Arrow stream, with a number before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sanql.kernel.channel import FRAME_BYTES_MAX, receive
from sanql.kernel.worker import frame

if TYPE_CHECKING:
    import pyarrow

REQUESTS = 0
_NUMBER_BYTES = 4
Numbered = tuple[int, "pyarrow.Table"]
"""Some rows, and the number of what they are of."""


def numbered_frame(found: Numbered) -> bytes:
    """Return some rows as bytes that say what they are of."""
    return found[0].to_bytes(_NUMBER_BYTES, "big") + frame(found[1])


def split_frame(numbered: bytes) -> tuple[int, bytes]:
    """Return the number before some rows, and the rows as a stream."""
    return int.from_bytes(numbered[:_NUMBER_BYTES], "big"), numbered[_NUMBER_BYTES:]


def read_stream(stream: bytes | bytearray | memoryview) -> pyarrow.Table:
    """Return the rows of a stream."""
    import pyarrow

    return pyarrow.ipc.open_stream(pyarrow.py_buffer(stream)).read_all()


def arriving_frames() -> Iterator[bytearray]:
    """Yield what the parent sends, until it is empty."""
    while arrived := receive(REQUESTS, FRAME_BYTES_MAX):
        yield arrived


def arriving_numbered() -> Iterator[Numbered]:
    """Yield the rows that the parent sends, with their numbers."""
    for arrived in arriving_frames():
        place = int.from_bytes(arrived[:_NUMBER_BYTES], "big")
        yield place, read_stream(memoryview(arrived)[_NUMBER_BYTES:])
