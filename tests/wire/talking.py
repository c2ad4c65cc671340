"""A connection over the wire whose every message is written by hand, after an ordinary beginning."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from sanql.account import Role
from support.serving import Served

Reply = tuple[str, bytes]


class Talk:
    """Messages to and from a server, whoever signed in."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened

    def send(self, kind: str, body: bytes = b"") -> Self:
        """Send a message, whatever it is."""
        self.socket.sendall(kind.encode() + struct.pack("!I", len(body) + 4) + body)
        return self

    def parse(self, name: str, sql: str, types: Sequence[int] = ()) -> Self:
        """Prepare a statement."""
        counted = struct.pack(f"!H{len(types)}I", len(types), *types)
        return self.send("P", name.encode() + b"\0" + sql.encode() + b"\0" + counted)

    def bind(
        self,
        portal: str,
        statement: str,
        values: Sequence[bytes | None] = (),
        formats: Sequence[int] = (),
    ) -> Self:
        """Bind a statement to values, which are text."""
        body = (
            portal.encode()
            + b"\0"
            + statement.encode()
            + b"\0"
            + struct.pack("!HH", 0, len(values))
        )
        for value in values:
            body += (
                struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
            )
        return self.send("B", body + struct.pack(f"!H{len(formats)}H", len(formats), *formats))

    def describe(self, kind: str, name: str) -> Self:
        """Ask what a statement (S) or portal (P) is."""
        return self.send("D", kind.encode() + name.encode() + b"\0")

    def close(self, kind: str, name: str) -> Self:
        """Close a statement or portal."""
        return self.send("C", kind.encode() + name.encode() + b"\0")

    def execute(self, portal: str, rows_max: int = 0) -> Self:
        """Have a portal's rows sent."""
        return self.send("E", portal.encode() + b"\0" + struct.pack("!I", rows_max))

    def sync(self) -> Self:
        """Say that all was said."""
        return self.send("S")

    def simple(self, sql: str) -> list[Reply]:
        """Return what a text is answered with."""
        self.send("Q", sql.encode() + b"\0")
        return self.until_ready()

    def until_ready(self) -> list[Reply]:
        """Return what comes up to the next invitation, without notices and settings."""
        replies: list[Reply] = []
        while not replies or replies[-1][0] != "Z":
            kind, body = self.receive()
            if kind not in "NS":
                replies.append((kind, body))
        return replies

    def state_of_error(self) -> str:
        """Return the SQLSTATE of the one error that comes up to the next invitation."""
        (error,) = [body for kind, body in self.until_ready() if kind == "E"]
        fields = {field[:1]: field[1:] for field in error.split(b"\0") if field}
        return fields[b"C"].decode()

    def receive(self) -> Reply:
        """Return the next message."""
        head = self._exactly(5)
        return head[:1].decode(), self._exactly(struct.unpack("!I", head[1:])[0] - 4)

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            if not part:
                raise ConnectionError(f"it ended after {found!r}")
            found += part
        return found

    def sign_in(self, name: str, token: str, database: str) -> None:
        """Begin, and answer the challenge."""
        said = {"user": name, "database": database}
        body = struct.pack("!HH", 3, 0)
        body += b"".join(f"{key}\0{value}\0".encode() for key, value in said.items()) + b"\0"
        self.socket.sendall(struct.pack("!I", len(body) + 4) + body)
        assert self.receive()[0] == "R"
        bare = f"n=,r={secrets.token_urlsafe(18)}"
        first = f"n,,{bare}".encode()
        self.send("p", b"SCRAM-SHA-256\0" + struct.pack("!I", len(first)) + first)
        challenge = self.receive()[1][4:].decode()
        parts = dict(part.split("=", 1) for part in challenge.split(","))
        salted = hashlib.pbkdf2_hmac(
            "sha256", token.encode(), base64.b64decode(parts["s"]), int(parts["i"])
        )
        key = hmac.digest(salted, b"Client Key", "sha256")
        last = f"c=biws,r={parts['r']}"
        signature = hmac.digest(
            hashlib.sha256(key).digest(), f"{bare},{challenge},{last}".encode(), "sha256"
        )
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))
        self.send("p", f"{last},p=".encode() + proof)
        self.until_ready()


@contextmanager
def talk_to(server: Served, name: str, *, role: Role = "analyst") -> Iterator[Talk]:
    """Hold a connection of somebody who has signed in."""
    host, _, port = server.server.wire.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as opened:
        talk = Talk(opened)
        talk.sign_in(name, server.token(name, role), "hospital")
        yield talk
