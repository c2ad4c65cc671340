"""A server while it runs: sockets, signals, and an orderly end.

SIGTERM and SIGINT: no new question is taken, those that run are finished, or ended after a time, and then
their charge is voided on record. SIGHUP: the policies are read again.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from sanql.errors import ServerError
from sanql.kernel import stay_on_one
from sanql.server.datasets import Datasets
from sanql.server.file_limits import connections_that_fit
from sanql.server.http.app import http_app
from sanql.server.http.connection import limited_protocol
from sanql.server.http.handshakes import over_tls, tls_context
from sanql.server.logs import Log, json_log
from sanql.server.service import Service
from sanql.server.settings import ServerSettings

if TYPE_CHECKING:
    from sanql.server.wire import WireDoor

_STARTING_SECONDS = 60.0
_NEWCOMERS_WAITING = 2_048
_OBJECTS_BETWEEN_COLLECTIONS = 20_000
_NEWCOMERS_AT_ONCE = 16  # so that whoever has to make room for them has gone before files run out


class RunningServer:
    """One server: its service, and where it listens."""

    def __init__(
        self,
        policies: Sequence[Path],
        settings: ServerSettings,
        *,
        version: str,
        log: Log | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        context = None
        if settings.certificate is not None:
            context = tls_context(settings.certificate, settings.key)
        self._socket = _listening(settings.host, settings.port, "--http")
        self._wire: socket.socket | None = None
        try:
            if settings.wire is not None:
                self._wire = _listening(*settings.wire, "--wire")
            datasets = Datasets(policies, progress)
        except BaseException:
            self._socket.close()
            if self._wire is not None:
                self._wire.close()
            raise
        self.service = Service(datasets, settings, log or json_log())
        scheme = "https" if settings.certificate is not None else "http"
        self.url = f"{scheme}://{_shown(self._socket)}"
        self.wire = "" if self._wire is None else _shown(self._wire)
        """Where it listens for tools that speak PostgreSQL, if it does."""
        self._context = context
        self._connections = connections_that_fit(settings.limits.connections)
        self._over_wire = self._connections // 4 if self._wire is not None else 0
        self._uvicorn = uvicorn.Server(self._config(settings, version, context))
        self._door: WireDoor | None = None
        self._all_listen = threading.Event()
        self._failed: BaseException | None = None

    def _config(
        self, settings: ServerSettings, version: str, context: ssl.SSLContext | None
    ) -> uvicorn.Config:
        limits = settings.limits
        fitting = replace(limits, connections=self._connections - self._over_wire)
        connection: Callable[..., asyncio.Protocol] = limited_protocol(fitting)
        if context is not None:
            connection = over_tls(connection, context, limits.header_seconds)
        return uvicorn.Config(
            http_app(self.service, version),
            http=connection,  # type: ignore[arg-type]
            ws="none",
            loop="asyncio",
            lifespan="off",
            backlog=_NEWCOMERS_AT_ONCE,
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=round(limits.idle_seconds),
            timeout_graceful_shutdown=round(limits.stop_seconds),
        )

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until a signal says to stop; call it in the main thread."""

        def begin() -> None:
            stay_on_one()
            _spare_the_collector()
            ready()

        try:
            asyncio.run(self._serve(begin, signals=True))
        finally:
            gc.unfreeze()  # or libraries would find at the end what nobody has let go of, and say so

    def stop(self) -> None:
        """Ask it to stop."""
        self._uvicorn.should_exit = True

    async def _serve(self, ready: Callable[[], None], *, signals: bool) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._note_fault)
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self.stop)
            loop.add_signal_handler(signal.SIGHUP, self._reload)
        self._uvicorn.config.load()
        self._uvicorn.lifespan = self._uvicorn.config.lifespan_class(self._uvicorn.config)
        await self._uvicorn.startup(sockets=[self._socket])
        self._socket.listen(_NEWCOMERS_WAITING)
        self.service.log("listening", url=self.url)
        opening = loop.run_in_executor(None, self._prepare, ready)
        wire = None
        try:
            wire = await self._open_wire()  # while workers start
            await self._uvicorn.main_loop()
        finally:
            self.service.begin_to_stop()
            self.service.log("stopping")
            if wire is not None:
                wire.close()
            await self._uvicorn.shutdown(sockets=[self._socket])
            await asyncio.wait([opening])
            await loop.run_in_executor(None, self._close)
            self.service.log("stopped")

    async def _open_wire(self) -> asyncio.Server | None:
        try:
            return None if self._wire is None else await self._listen_for_tools(self._wire)
        finally:
            self._all_listen.set()

    async def _listen_for_tools(self, opened: socket.socket) -> asyncio.Server:
        from sanql.server.wire import WireDoor, bound_to_certificate

        certificate = self.service.settings.certificate
        bound_to = b"" if certificate is None else bound_to_certificate(certificate)
        self._door = door = WireDoor(self.service, self._context, bound_to, self._over_wire)
        self.service.log("listening", wire=self.wire)
        return await asyncio.start_server(door.connect, sock=opened)

    def _note_fault(self, loop: object, context: Mapping[str, object]) -> None:
        """Write down that a fault was met outside of any request, and its kind alone."""
        self.service.log("fault", kind=type(context.get("exception")).__name__)

    def _prepare(self, ready: Callable[[], None]) -> None:
        try:
            self.service.prepare(self._all_listen.wait)
            self.service.log("ready")
            ready()
            if self._door is not None:
                self._door.prepare()
            for dataset in self.service.datasets:
                dataset.rehearse()
        except BaseException as fault:
            self._failed = fault
            self.stop()

    def _close(self) -> None:
        if self._door is not None:
            self._door.close()
        self.service.close()

    def _reload(self) -> None:
        threading.Thread(target=self._reload_now, daemon=True).start()

    def _reload_now(self) -> None:
        for policy, outcome in self.service.datasets.reload().items():
            self.service.log("reloaded", policy=policy, outcome=outcome)

    def check(self) -> None:
        """Raise what kept it from serving, if anything did."""
        if self._failed is not None:
            raise self._failed


@contextmanager
def serving(
    policies: Sequence[Path],
    settings: ServerSettings | None = None,
    *,
    version: str = "0",
    log: Log | None = None,
) -> Iterator[RunningServer]:
    """Hold a server that runs in a thread of this process, and is ready."""
    settings = settings or ServerSettings(port=0)
    server = RunningServer(policies, settings, version=version, log=log)
    ready = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(server._serve(ready.set, signals=False)), daemon=True
    )
    thread.start()
    try:
        deadline = _STARTING_SECONDS
        while not ready.wait(0.02) and thread.is_alive() and deadline > 0:
            deadline -= 0.02
        server.check()
        yield server
    finally:
        server.stop()
        thread.join()


def _spare_the_collector() -> None:
    """Have Python look for unreachable cycles less often, and never among what lives as long as this."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 20)


def _shown(opened: socket.socket) -> str:
    host, port = opened.getsockname()[:2]
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def _listening(host: str, port: int, option: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with its protocol named, or asyncio would not send small replies at once
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(_NEWCOMERS_WAITING)
    except OSError as fault:
        opened.close()
        raise ServerError(
            "address_unusable",
            f"{host}:{port} cannot be listened on: {fault.strerror}",
            f"end whatever listens there, or name another port with {option}",
        ) from None
    return opened
