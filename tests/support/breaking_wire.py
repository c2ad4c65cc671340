"""A wire to a database that breaks where a test says: before a commit arrives, or is confirmed."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Literal

Breaking = Literal["", "before", "after"]


class BreakingWire:
    """A port of this machine that leads to another one."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open = set[socket.socket]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.breaking: Breaking = ""
        """Where the next commit is lost; it says nothing again once it was."""
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, port: int) -> None:
        """Lead to another port from now on; what is connected is broken off."""
        self._target = port
        for side in [*self._open]:
            _cut(side)

    def close(self) -> None:
        """Lead nowhere any more."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            client.close()
            return
        self._open.add(client)
        lost = threading.Event()
        back = threading.Thread(target=self._answer, args=(server, client, lost), daemon=True)
        back.start()
        self._ask(client, server, lost)
        if lost.is_set():
            back.join(10)  # the server has confirmed, to nobody
        self._open.discard(client)
        for side in (client, server):
            _cut(side)

    def _ask(self, client: socket.socket, server: socket.socket, lost: threading.Event) -> None:
        while said := _received(client):
            if b"COMMIT\x00" in said and self.breaking:
                breaking, self.breaking = self.breaking, ""
                if breaking == "before":
                    return
                lost.set()
            try:
                server.sendall(said)
            except OSError:
                return
            if lost.is_set():
                return

    def _answer(self, server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        while said := _received(server):
            if lost.is_set():
                return
            try:
                client.sendall(said)
            except OSError:
                return


def _cut(side: socket.socket) -> None:
    """Close a socket in which another thread may be waiting."""
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
    side.close()


def _received(side: socket.socket) -> bytes:
    try:
        return side.recv(1 << 16)
    except OSError:
        return b""
