"""A real server on loopback over the demo hospital, and clients with tokens of it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from sanql.account import Role
from sanql.server import RunningServer, ServerSettings, json_log, serving
from sanql.server.datasets import Dataset

COUNT = "SELECT COUNT(*) FROM people"


@dataclass
class Served:
    """A server, what it has logged, and tokens by name."""

    server: RunningServer
    logged: io.StringIO
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def datasets(self) -> list[Dataset]:
        return [*self.server.service.datasets]

    def token(self, name: str, role: Role = "analyst") -> str:
        """Return the token of a person, who is added where they are not there yet."""
        if name not in self.tokens:
            for dataset in self.datasets:
                _, self.tokens[name] = dataset.people.add(
                    name, role, token=self.tokens.get(name, "")
                )
        return self.tokens[name]

    def client(self, name: str = "ana", role: Role = "analyst", **more: Any) -> httpx.Client:
        """Return somebody's client; close it, or hold it in a with block."""
        headers = {"authorization": f"Bearer {self.token(name, role)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **more)

    def events(self) -> list[dict[str, Any]]:
        """Return what was logged."""
        return [json.loads(line) for line in self.logged.getvalue().splitlines()]


@contextmanager
def served(policies: Sequence[Path], settings: ServerSettings | None = None) -> Iterator[Served]:
    """Hold a server over policies, in this process, on a port of its own."""
    logged = io.StringIO()
    with serving(policies, settings, log=json_log(logged)) as server:
        yield Served(server, logged)


@dataclass
class ServedByProcess:
    """A server in a process of its own, as `sanql serve` starts it."""

    process: subprocess.Popen[str]
    url: str = ""
    said: list[str] = field(default_factory=list)

    def wait_for(self, event: str) -> dict[str, Any]:
        """Return the next event of a kind that it logs; an error, with all it said, if it ends first."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith("{") and (found := json.loads(line))["event"] == event:
                return dict(found)
        raise AssertionError(f"the server ended before {event!r}:\n{''.join(self.said)}")

    def stop(self, seconds: float = 60) -> int:
        """Have it stop, and return its exit code; all it said is in `said`."""
        self.process.send_signal(signal.SIGTERM)
        rest = self.process.communicate(timeout=seconds)[1]
        self.said += rest.splitlines(keepends=True)
        return self.process.returncode


@contextmanager
def serve_process(
    *arguments: object,
    address: str = "127.0.0.1:0",
    environment: Mapping[str, str] | None = None,
    ready: bool = True,
) -> Iterator[ServedByProcess]:
    """Hold a server in a process of its own; it is killed in the end where it still runs."""
    command = [sys.executable, "-m", "sanql", "serve", *map(str, arguments), "--http", address]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    )
    started = ServedByProcess(process)
    try:
        started.url = started.wait_for("listening")["url"]
        if ready:
            started.wait_for("ready")
        yield started
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
