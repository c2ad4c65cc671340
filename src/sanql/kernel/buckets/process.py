"""A process over buckets as whoever started it sees it: San, or a task on another machine."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from sanql.kernel.buckets.messages import AddParts, BucketRequest, BucketTask, MergeParts
from sanql.kernel.channel import FRAME_BYTES_MAX, ChannelLost
from sanql.kernel.messages import END, PROGRESS, TABLE
from sanql.kernel.process import ConfinedProcess

WORKER = "sanql.kernel.buckets.worker"
"""The module of a process over buckets."""

_SECONDS_MAX = 86_400.0


class BucketProcess(ConfinedProcess):
    """A process that has buckets open, or writes them."""

    def __init__(self, request: BucketTask) -> None:
        super().__init__(WORKER, request)
        self.request = request

    def ask(
        self, request: BucketRequest, deadline: float, parts: Iterable[bytes] = ()
    ) -> Iterator[bytes]:
        """Yield the frames of a reply as they come; ChannelLost where it fails, or is late."""
        deadline = min(deadline, time.monotonic() + _SECONDS_MAX)
        self.await_ready(deadline)
        self.send(request, deadline)
        if isinstance(request, MergeParts | AddParts):
            for part in parts:
                self.send_bytes(part, deadline)
            self.send_bytes(b"", deadline)
        yield from frames_of(self, TABLE, deadline)

    def told(self) -> Iterator[bytes]:
        """Yield what a process that writes buckets tells; ChannelLost where it does not finish."""
        return frames_of(self, PROGRESS, None)


def frames_of(process: ConfinedProcess, wanted: bytes, deadline: float | None) -> Iterator[bytes]:
    """Yield the payloads of one kind, up to the end of a reply."""
    while True:
        kind, frame = process.receive(FRAME_BYTES_MAX, deadline)
        if kind == END:
            return
        if kind != wanted:
            raise ChannelLost
        yield bytes(frame)
