"""A server in a process of its own, over TLS, and a table of the clients that were seen to ask it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme

from sanql.demo import make_hospital
from support.serving import serve_process

TABLE = Path(__file__).parents[2] / "docs" / "clients.md"
HEAD = """\
# Clients that ask San

Written by `make clients`, which asks a served demo hospital with each of them, over TLS: a question with
a parameter, its repetition for free, the tables there are, and one that is refused.

| client | version | what was seen |
|---|---|---|
"""


@dataclass(frozen=True)
class Address:
    """Where the server is, and somebody who may ask it."""

    host: str
    port: int
    token: str
    certificate: Path

    @property
    def url(self) -> str:
        """The same as an address of libpq."""
        return (
            f"postgresql://ana:{self.token}@{self.host}:{self.port}/hospital"
            f"?sslmode=verify-full&sslrootcert={self.certificate}"
        )


@dataclass
class Seen:
    """What was seen of each client, in the order of the tests."""

    rows: dict[str, tuple[str, list[str]]] = field(default_factory=dict)

    def __call__(self, client: str, version: str, what: str) -> None:
        self.rows.setdefault(client, (version, []))[1].append(what)


@pytest.fixture(scope="session")
def seen() -> Iterator[Seen]:
    """Return what a test tells of its client; it is written down where SANQL_CLIENTS says so."""
    noted = Seen()
    yield noted
    if os.environ.get("SANQL_CLIENTS") == "write":
        lines = [f"| {n} | {v} | {', '.join(w)} |\n" for n, (v, w) in noted.rows.items()]
        TABLE.write_text(HEAD + "".join(lines), encoding="utf-8")


@pytest.fixture(scope="session")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    folder = tmp_path_factory.mktemp("clients")
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key, root = (folder / name for name in ("cert.pem", "key.pem", "root.pem"))
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    key.chmod(0o600)
    authority.cert_pem.write_to_path(str(root))
    root.chmod(0o644)
    policy = make_hospital(folder / "hospital")
    policy.parent.chmod(0o700)
    add = [sys.executable, "-m", "sanql", "user", "add", "ana", "--role", "analyst"]
    token = subprocess.run(
        [*add, "-p", str(policy)], check=True, capture_output=True, text=True
    ).stdout.strip()
    wire = ("--wire", "127.0.0.1:0", "--tls", certificate, key)
    with serve_process(policy, *wire, ready=False) as server:
        address = server.wait_for("listening")["wire"]
        server.wait_for("ready")
        host, _, port = str(address).rpartition(":")
        yield Address(host, int(port), token, root)


@pytest.fixture
def run_apart(tmp_path: Path) -> Callable[..., str]:
    """Return what runs a program and gives what it printed."""

    def run(*command: object, input: str = "", **environment: str) -> str:
        done = subprocess.run(
            [*map(str, command)], input=input, capture_output=True, text=True, timeout=120,
            check=False, cwd=tmp_path, env={**os.environ, **environment},
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return run


def listed(printed: str) -> dict[str, object]:
    """Return the object that a program printed as its last line of JSON."""
    (*_, line) = [each for each in printed.splitlines() if each.startswith("{")]
    return dict(json.loads(line))
