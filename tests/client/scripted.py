"""A server on loopback that answers each connection as a test has written, faults included."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Act = Callable[[socket.socket, "Received"], None]


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Scripted:
    """Where it listens, and what it has received."""

    url: str
    received: list[Received] = field(default_factory=list)


@contextmanager
def scripted(*acts: Act, context: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    """Hold a server that treats each request, in a connection of its own, as the next act says."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        scheme = "https" if context is not None else "http"
        server = Scripted(f"{scheme}://127.0.0.1:{listening.getsockname()[1]}")

        def serve() -> None:
            for act in acts:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return  # the test is over
                with connection:
                    _serve_one(connection, act, server, context)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def _serve_one(
    connection: socket.socket, act: Act, server: Scripted, context: ssl.SSLContext | None
) -> None:
    try:
        if context is not None:
            connection = context.wrap_socket(connection, server_side=True)
        request = _receive(connection)
        server.received.append(request)
        act(connection, request)
    except (OSError, ssl.SSLError):
        pass  # the client went away, as some of them should


def _receive(connection: socket.socket) -> Received:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    while len(body) < int(headers.get("content-length", "0")):
        body += _some(connection)
    method, path, _ = first.split(" ")
    return Received(method, path, headers, body)


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise OSError("ended")
    return data


def answering(shape: object, status: int = 200, **headers: str) -> Act:
    """Return the act of answering with JSON."""
    content = json.dumps(shape).encode()
    return saying(content, status, "application/json", **headers)


def saying(content: bytes, status: int = 200, media: str = "text/html", **headers: str) -> Act:
    """Return the act of answering with these bytes."""
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = (
        f"HTTP/1.1 {status} x\r\ncontent-type: {media}\r\ncontent-length: {len(content)}\r\n"
        f"connection: close\r\n{more}\r\n"
    )

    def act(connection: socket.socket, _: Received) -> None:
        connection.sendall(head.encode("ascii") + content)

    return act


def reset(connection: socket.socket, _: Received) -> None:
    """End the connection at once, before a byte has been said."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def cut(connection: socket.socket, _: Received) -> None:
    """End the connection in the middle of an answer."""
    connection.sendall(b"HTTP/1.1 200 x\r\ncontent-length: 1000\r\n\r\n{")
