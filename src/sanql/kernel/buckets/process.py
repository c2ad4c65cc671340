"""A process over buckets as whoever started it sees it: San, or a task on another machine."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from sanql.kernel.buckets.messages import BucketRequest, MergeParts, OpenBuckets, Spread
from sanql.kernel.channel import ChannelLost, receive, send
from sanql.kernel.environment import worker_environment
from sanql.kernel.messages import END, PROGRESS, READY, TABLE

_START_SECONDS_MAX = 60.0
_SECONDS_MAX = 86_400.0
_FRAME_BYTES_MAX = 2 << 30
_PREFIX = "sanql-buckets-"


class BucketProcess:
    """A spawned `sanql.kernel.buckets.worker`, its two pipes and its spill directory."""

    def __init__(self, request: OpenBuckets | Spread) -> None:
        _sweep()
        self.request = request
        self._spill = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        command = [sys.executable, "-P", "-m", "sanql.kernel.buckets.worker"]
        try:
            self._process = subprocess.Popen(
                [*command, str(os.getpid()), self._spill],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=self._spill,
                env=worker_environment(),
                start_new_session=True,
            )
        except BaseException:
            shutil.rmtree(self._spill, ignore_errors=True)
            raise
        assert self._process.stdin and self._process.stdout  # noqa: S101  (asked for above)
        self._requests = self._process.stdin.fileno()
        self._replies = self._process.stdout.fileno()
        for pipe in (self._requests, self._replies):
            os.set_blocking(pipe, False)
        with suppress(ChannelLost):  # one that died at once is noticed at the first reply
            self._send(pickle.dumps(request), time.monotonic() + _START_SECONDS_MAX)
        self._ready = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the process still runs."""
        return self._process.poll() is None

    def await_ready(self, deadline: float) -> None:
        """Return once the process is confined and waits for requests."""
        if not self._ready:
            if bytes(receive(self._replies, 1, deadline)) != READY:
                raise ChannelLost
            self._ready = True

    def ask(
        self, request: BucketRequest, deadline: float, parts: Iterable[bytes] = ()
    ) -> Iterator[bytes]:
        """Yield the frames of a reply as they come; ChannelLost where it fails, or is late."""
        deadline = min(deadline, time.monotonic() + _SECONDS_MAX)
        self.await_ready(min(deadline, time.monotonic() + _START_SECONDS_MAX))
        self._send(pickle.dumps(request), deadline)
        if isinstance(request, MergeParts):
            for part in parts:
                self._send(part, deadline)
            self._send(b"", deadline)
        while True:
            reply = memoryview(receive(self._replies, _FRAME_BYTES_MAX, deadline))
            if bytes(reply) == END:
                return
            if bytes(reply[:1]) != TABLE:
                raise ChannelLost
            yield bytes(reply[1:])

    def told(self) -> Iterator[bytes]:
        """Yield what a process that writes buckets tells; ChannelLost where it does not finish."""
        while True:
            reply = bytes(receive(self._replies, _FRAME_BYTES_MAX, None))
            if reply == END:
                return
            if reply[:1] != PROGRESS:
                raise ChannelLost
            yield reply[1:]

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        self._process.kill()

    def discard(self) -> None:
        """Kill the process, and remove its spill directory."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        shutil.rmtree(self._spill, ignore_errors=True)

    def _send(self, payload: bytes, deadline: float) -> None:
        send(self._requests, payload, deadline)


def _sweep() -> None:
    """Remove the spill directories of those that were killed together with what they had started."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        parent = left.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError):
            if left.lstat().st_uid == os.geteuid() and not Path("/proc", parent).exists():
                shutil.rmtree(left, ignore_errors=True)
