"""The system that is installed here, started as its owner starts it, in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sanql.audit.attack import Doors
from sanql.errors import ServerError

_STOP_SECONDS = 60


@contextmanager
def served_by_process(policy: Path) -> Iterator[Doors]:
    """Hold `sanql serve` over a policy, on ports of its own."""
    command = [sys.executable, "-m", "sanql", "serve", str(policy), "--http", "127.0.0.1:0"]
    command += ["--wire", "127.0.0.1:0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield _listening(process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listening(process: subprocess.Popen[str]) -> Doors:
    """Return where a server listens, once it can be asked; what it logs later is read and let go."""
    said: dict[str, str] = {}
    for line in process.stderr or ():
        said |= json.loads(line) if line.startswith("{") else {}
        if said.get("event") in ("ready", "listening") and {"url", "wire"} <= said.keys():
            threading.Thread(target=_drain, args=[process], daemon=True).start()
            return Doors(said["url"], said["wire"])
    raise ServerError(
        "server_ended",
        "the server of the audit ended before it could be asked",
        "see what `sanql serve` says",
    )


def _drain(process: subprocess.Popen[str]) -> None:
    for _ in process.stderr or ():
        pass
