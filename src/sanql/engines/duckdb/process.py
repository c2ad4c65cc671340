"""One worker process as its parent sees it: start, ask, discard."""

from __future__ import annotations

import fcntl
import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel import (
    END,
    FAILED,
    READY,
    TABLE,
    ChannelLost,
    Confirm,
    Serve,
    Statement,
    WorkerRequest,
    receive,
    send,
    worker_environment,
)

if TYPE_CHECKING:
    import pyarrow

_START_SECONDS_MAX = 60.0
# A frame is about a megabyte, or one row; this only holds off a worker that has gone mad.
_FRAME_BYTES_MAX = 2 << 30
_CONFIRM_SECONDS_MAX = 10.0  # for a worker that waits to say so
_REPLY_PIPE_BYTES = 1 << 20
_ENDING_SECONDS_MAX = 5.0  # between letting go of the pipes and being gone
_SIGNALS_OF_OTHERS = frozenset({signal.SIGKILL, signal.SIGTERM})
_SPILL_PREFIX = "sanql-spill-"
_UNLOCKED_PREFIX = "sanql-new-"  # a spill directory until it is locked, and has its name
# Nothing is in it yet, so there is time to tell one just made from one that a killed process left.
_UNLOCKED_SECONDS_MAX = 60.0


class WorkerProcess:
    """A spawned `sanql.kernel.worker`, its two pipes and its private spill directory.

    The lock on the directory is shared with the process, so it is free exactly when both are gone;
    that is how leftovers of a killed parent are told from directories in use.
    """

    def __init__(self, request: WorkerRequest) -> None:
        sweep_spills()
        self.spill, self._lock = locked_spill()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "sanql.kernel.worker", str(os.getpid()), self.spill],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=self.spill,
                env=worker_environment(),
                pass_fds=(self._lock,),
                start_new_session=True,
            )
        except BaseException:
            self._remove_spill()
            raise
        assert self._process.stdin and self._process.stdout  # noqa: S101  (asked for above)
        self._requests = self._process.stdin.fileno()
        self._replies = self._process.stdout.fileno()
        os.set_blocking(self._requests, False)
        os.set_blocking(self._replies, False)
        with suppress(OSError):  # fewer turns for large answers, where the machine allows it
            fcntl.fcntl(self._replies, fcntl.F_SETPIPE_SZ, _REPLY_PIPE_BYTES)
        with suppress(ChannelLost):  # a worker that died at once is noticed at the first reply
            self.send(request, time.monotonic() + _START_SECONDS_MAX)

    @property
    def pid(self) -> int:
        """The process id, for those who watch it."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the process still runs."""
        return self._process.poll() is None

    def ended_by_others(self) -> bool:
        """Return whether the process, which has let go of its pipes, was ended by another's signal.

        What a process brings upon itself (a fault, an abort for want of memory) has other signals.
        """
        with suppress(subprocess.TimeoutExpired):
            return -self._process.wait(_ENDING_SECONDS_MAX) in _SIGNALS_OF_OTHERS
        return False

    def send(self, message: WorkerRequest | Confirm | Statement, deadline: float) -> None:
        """Write one request; ChannelLost if it is not taken in time."""
        send(self._requests, pickle.dumps(message), deadline)

    def receive(self, bytes_max: int, deadline: float | None) -> tuple[bytes, memoryview]:
        """Return the next reply's kind and payload; a reported failure is ChannelLost too."""
        reply = memoryview(receive(self._replies, bytes_max, deadline))
        kind = bytes(reply[:1])
        if kind in (FAILED, b""):
            raise ChannelLost
        return kind, reply[1:]

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
        self._remove_spill()

    def _remove_spill(self) -> None:
        shutil.rmtree(self.spill, ignore_errors=True)
        with suppress(OSError):
            os.close(self._lock)
        self._lock = -1


class ServingProcess(WorkerProcess):
    """A worker process that has been told to serve queries."""

    def __init__(self, serve: Serve) -> None:
        super().__init__(serve)
        self._serve = serve
        self._ready = False
        self._ready_deadline = time.monotonic() + _START_SECONDS_MAX

    def await_ready(self, deadline: float = math.inf) -> None:
        """Return once the worker has opened and locked its source."""
        if not self._ready:
            self._receive_ready(min(self._ready_deadline, deadline))
            self._ready = True

    def confirm(self) -> None:
        """Return once the worker has said, from now on, that it has its source open and waits."""
        self.await_ready()
        deadline = time.monotonic() + _CONFIRM_SECONDS_MAX
        self.send(Confirm(self._serve.stamp), deadline)
        self._receive_ready(deadline)

    def _receive_ready(self, deadline: float) -> None:
        kind, _ = self.receive(1, deadline)
        if kind != READY:
            raise ChannelLost

    def run(
        self,
        statement: Statement,
        deadline: float,
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Give the result to `take` as it comes."""
        self.await_ready(deadline)
        self.send(statement, deadline)
        import pyarrow  # the first time, while the worker is busy

        if meanwhile is not None:
            meanwhile()
            if time.monotonic() > deadline:
                raise ChannelLost  # also where the reply has come by now: too late is too late
        kind, frame = self.receive(_FRAME_BYTES_MAX, deadline)
        while kind == TABLE:
            table = pyarrow.ipc.open_stream(pyarrow.py_buffer(frame)).read_all()
            table.validate(full=True)
            take(table.combine_chunks())
            kind, frame = self.receive(_FRAME_BYTES_MAX, deadline)
        if kind != END:
            raise ChannelLost


def locked_spill() -> tuple[Path, int]:
    """Return a spill directory and its lock, which it has had for as long as it has been called so."""
    made = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX))
    lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    # mkdtemp has seen to it that nobody else has this ending
    spill = made.with_name(_SPILL_PREFIX + made.name.removeprefix(_UNLOCKED_PREFIX))
    made.rename(spill)
    return spill, lock


def sweep_spills() -> None:
    """Remove at once the spill directories whose parent and worker were both killed."""
    place = Path(tempfile.gettempdir())
    for spill in place.glob(f"{_SPILL_PREFIX}*"):
        with suppress(OSError):
            _sweep(spill)
    for made in place.glob(f"{_UNLOCKED_PREFIX}*"):
        with suppress(OSError):
            if time.time() - made.lstat().st_mtime > _UNLOCKED_SECONDS_MAX:
                _sweep(made)


def _sweep(spill: Path) -> None:
    """Remove a directory of ours that nobody holds."""
    handle = os.open(spill, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(spill, ignore_errors=True)
    finally:
        os.close(handle)
