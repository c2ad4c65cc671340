"""A real server on loopback over the demo hospital, and clients with tokens of it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
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
