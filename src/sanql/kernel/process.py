"""A process that touches rows, as whoever started it sees it: start, ask, discard."""

from __future__ import annotations

import atexit
import fcntl
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from sanql.kernel.affinity import processors
from sanql.kernel.channel import ChannelLost, receive, send
from sanql.kernel.environment import worker_environment
from sanql.kernel.held_folders import locked_spill, remove_folder, sweep_spills
from sanql.kernel.messages import FAILED, READY

WORKER = "sanql.kernel.worker"
"""The module of a process over a source."""

_START_SECONDS_MAX = 60.0
_REPLY_PIPE_BYTES = 1 << 20
_ENDING_SECONDS_MAX = 5.0  # between letting go of the pipes and being gone
_SIGNALS_OF_OTHERS = frozenset({signal.SIGKILL, signal.SIGTERM})


class ConfinedProcess:
    """A spawned worker of the kernel, its two pipes and its private spill directory.

    The lock on the directory is shared with the process, so it is free exactly when both are gone;
    that is how leftovers of a killed parent are told from directories in use.
    """

    def __init__(self, module: str, request: object) -> None:
        sweep_spills()
        self._spawned = _taken_ahead(module) or _Spawned(module)
        self._process = self._spawned.process
        assert self._process.stdin and self._process.stdout  # noqa: S101  (asked for below)
        self._requests = self._process.stdin.fileno()
        self._replies = self._process.stdout.fileno()
        os.set_blocking(self._requests, False)
        os.set_blocking(self._replies, False)
        with suppress(OSError):  # fewer turns for large answers, where the machine allows it
            fcntl.fcntl(self._replies, fcntl.F_SETPIPE_SZ, _REPLY_PIPE_BYTES)
        self._ready = False
        self._ready_deadline = time.monotonic() + _START_SECONDS_MAX
        with suppress(ChannelLost):  # a worker that died at once is noticed at the first reply
            self.send(request, self._ready_deadline)

    @property
    def spill(self) -> Path:
        """The directory for what does not fit into memory."""
        return self._spawned.spill

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

    def send(self, message: object, deadline: float) -> None:
        """Write one request; ChannelLost if it is not taken in time."""
        self.send_bytes(pickle.dumps(message), deadline)

    def send_bytes(self, payload: bytes, deadline: float) -> None:
        """Write what belongs to a request; ChannelLost if it is not taken in time."""
        send(self._requests, payload, deadline)

    def receive(self, bytes_max: int, deadline: float | None) -> tuple[bytes, memoryview]:
        """Return the next reply's kind and payload; a reported failure is ChannelLost too."""
        reply = memoryview(receive(self._replies, bytes_max, deadline))
        kind = bytes(reply[:1])
        if kind in (FAILED, b""):
            raise ChannelLost
        return kind, reply[1:]

    def await_ready(self, deadline: float = math.inf) -> None:
        """Return once the process has opened what it was told to, is confined, and waits for requests."""
        if not self._ready:
            self.receive_ready(min(self._ready_deadline, deadline))
            self._ready = True

    def receive_ready(self, deadline: float) -> None:
        """Return once the process says that it is ready; ChannelLost where it says anything else."""
        kind, _ = self.receive(1, deadline)
        if kind != READY:
            raise ChannelLost

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        self._process.kill()

    def discard(self) -> None:
        """Kill the process, and remove its spill directory."""
        self._spawned.end()


def start_ahead(module: str = WORKER) -> None:
    """Start a process before it is known what it will be asked: the next one of its module is this one.

    Until it is told, it opens nothing and reads no row. What is not wanted ends with this process. With
    one processor there is nothing to be had: it would only be in the way.
    """
    if processors() > 1 and not _ahead:
        with suppress(OSError):  # it is said when a process is wanted
            _ahead.append(_Spawned(module))


def _taken_ahead(module: str) -> _Spawned | None:
    """Return the process that was started ahead, if it is such a one, and as it was."""
    try:
        spawned = _ahead.pop()
    except IndexError:
        return None
    if spawned.owner != os.getpid():
        return None  # this process was forked: it is the parent's
    if spawned.module == module and spawned.process.poll() is None and spawned.spill.is_dir():
        return spawned
    spawned.end()
    return None


class _Spawned:
    """A process that has not been told anything yet, with its locked spill directory."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.owner = os.getpid()
        self.spill, self._lock = locked_spill()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(os.getpid()), self.spill],
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
            remove_folder(self.spill, self._lock)
            raise

    def end(self) -> None:
        """Kill the process, and remove its spill directory."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        if self._lock >= 0:
            remove_folder(self.spill, self._lock)
        self._lock = -1


_ahead: list[_Spawned] = []  # of this process: at most one


@atexit.register
def _end_ahead() -> None:
    while _ahead:
        spawned = _ahead.pop()
        if spawned.owner == os.getpid():
            spawned.end()
