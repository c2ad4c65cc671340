"""A connection to a server on which anything can be sent, as no client of HTTP would."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import parse_headers
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60  # after which a test is in vain; nothing is timed


@dataclass(frozen=True)
class RawReply:
    """One reply: status, headers by their names in lower case, and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of an error, which has the shape that all have."""
        shape = json.loads(self.body)
        assert self.headers["content-type"] == "application/problem+json", self
        assert shape["status"] == self.status, self
        return str(shape["code"])


class RawConnection:
    """Bytes to and from a server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), SECONDS)
        self._incoming = self.socket.makefile("rb")

    def send(self, data: bytes) -> bool:
        """Send bytes; return False where the server has gone before it took them."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def send_no_more(self) -> None:
        """Close the one half of the connection on which requests go."""
        self.socket.shutdown(socket.SHUT_WR)

    def reply(self) -> RawReply | None:
        """Return the next reply; None where the server closes the connection instead."""
        try:
            line = self._incoming.readline()
            if not line:
                return None
            version, status, _ = line.decode("ascii").split(" ", 2)
            assert version == "HTTP/1.1", line
            headers = {name.lower(): value for name, value in parse_headers(self._incoming).items()}
            if int(status) < 200:
                return RawReply(int(status), headers, b"")
            size = int(headers["content-length"])
            body = self._incoming.read(size)
            assert len(body) == size, "a reply was cut"
        except ConnectionResetError:
            return None
        return RawReply(int(status), headers, body)

    def replies(self) -> list[RawReply]:
        """Return every reply until the server closes the connection."""
        return [*iter(self.reply, None)]

    def close(self) -> None:
        self._incoming.close()
        self.socket.close()


@contextmanager
def raw_connection(url: str) -> Iterator[RawConnection]:
    """Hold a connection to a server."""
    connection = RawConnection(url)
    try:
        yield connection
    finally:
        connection.close()


def raw_request(
    target: str = "/health", *lines: str, method: str = "GET", body: bytes | None = None
) -> bytes:
    """Return a request with a Host and some more lines of header, as it stands."""
    sized = [] if body is None else [f"Content-Length: {len(body)}"]
    header = [f"{method} {target} HTTP/1.1", "Host: localhost", *lines, *sized, "", ""]
    return "\r\n".join(header).encode("latin-1") + (body or b"")


def raw_question(token: str, shape: dict[str, Any], *lines: str, route: str = "query") -> bytes:
    """Return a question as a request."""
    whose = (f"Authorization: Bearer {token}", "Content-Type: application/json")
    body = json.dumps(shape).encode()
    return raw_request(f"/v1/{route}", *whose, *lines, method="POST", body=body)
