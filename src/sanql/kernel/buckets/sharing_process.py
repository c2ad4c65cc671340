"""A process that shares rows out, finds their units or writes them, as its task sees it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from sanql.kernel.buckets.process import WORKER, frames_of
from sanql.kernel.buckets.sharing import SharingTask
from sanql.kernel.messages import PROGRESS, TABLE
from sanql.kernel.process import ConfinedProcess

_SECONDS_MAX = 86_400.0  # that anything is waited for
_NUMBER_BYTES = 4


class SharingProcess(ConfinedProcess):
    """A process with one task; ChannelLost where it fails."""

    def __init__(self, request: SharingTask) -> None:
        super().__init__(WORKER, request)

    def given_away(self) -> Iterator[bytes]:
        """Yield the frames of rows that are shared out, each with its place."""
        return frames_of(self, TABLE, None)

    def has_several(self, keys: Iterable[bytes]) -> bytes:
        """Return what is told of keys: whether one is there twice."""
        self.await_ready()
        self._send_all(keys)
        return b"".join(frames_of(self, PROGRESS, None))

    def with_units(self, keys: Iterable[bytes], rows: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the frames of rows with their units, each with its place."""
        self.await_ready()
        self._send_all(keys)
        self._send_all(rows)
        yield from frames_of(self, TABLE, None)

    def write(self, bucket: int, rows: Iterable[bytes]) -> Iterator[bytes]:
        """Have a bucket written; yield what is told of each of its files."""
        self.await_ready()
        self.send_bytes(bucket.to_bytes(_NUMBER_BYTES, "big"), _deadline())
        self._send_all(rows)
        yield from frames_of(self, PROGRESS, None)

    def _send_all(self, frames: Iterable[bytes]) -> None:
        for frame in frames:
            self.send_bytes(frame, _deadline())
        self.send_bytes(b"", _deadline())


def _deadline() -> float:
    return time.monotonic() + _SECONDS_MAX
