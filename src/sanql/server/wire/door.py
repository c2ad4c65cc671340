"""The door of the wire: where it listens, who has come in, and whom a cancellation is for."""

from __future__ import annotations

import asyncio
import hmac
import ssl
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sanql.ask import schema_of
from sanql.entropy import OsEntropy
from sanql.errors import SanqlError, ServerError
from sanql.server.wire.catalogue import Catalogue
from sanql.server.wire.frames import Frames
from sanql.server.wire.session import Asker, WireSession

if TYPE_CHECKING:
    from sanql.account import People
    from sanql.server.datasets import Dataset
    from sanql.server.service import Service

_NUMBERS = 1 << 31
_SPOOLS_MAX = 8  # of one person: each is a file


@dataclass(frozen=True)
class _Inside:
    """A connection of somebody who has signed in, and the key that cancels what runs there."""

    key: bytes
    session: WireSession
    person: str


class WireDoor:
    """All connections over the wire of one server."""

    def __init__(
        self,
        service: Service,
        tls: ssl.SSLContext | None = None,
        bound_to: bytes = b"",
        connections_max: int = 500,
    ) -> None:
        self.service = service
        self.tls = tls
        self.bound_to = bound_to
        self._connections_max = connections_max
        self._inside: dict[int, _Inside] = {}
        self._counting = threading.Lock()
        self._spools: Counter[str] = Counter()
        self._catalogues: dict[str, Catalogue] = {}
        self._newcomers: dict[WireSession, asyncio.Task[None]] = {}  # who came first is first

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak with whoever has connected; where they are many, whoever waits outside longest goes."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (this is a coroutine of one)
        address = writer.get_extra_info("peername") or ("",)
        limits = self.service.settings.limits
        frames = Frames(reader, writer, limits.body_bytes, limits.body_seconds)
        session = WireSession(self, frames, address[0])
        self._newcomers[session] = task
        if len(self._newcomers) + len(self._inside) > self._connections_max:
            next(iter(self._newcomers.values())).cancel()
        try:
            await session.run()
        except (ConnectionError, ssl.SSLError):
            pass  # they have gone
        except asyncio.CancelledError:
            pass  # they have to go
        finally:
            self._leave(session)
            writer.close()

    def enter(self, session: WireSession, person: str) -> tuple[int, bytes]:
        """Return the number and the key by which a connection's question is cancelled."""
        others = sum(each.person == person for each in self._inside.values())
        if others >= self._connections_max // 2:
            raise ServerError(
                "connections_too_many",
                f"{others} connections of yours are open already",
                "close some of them, or let a pool hold fewer",
            )
        number = int.from_bytes(OsEntropy().bytes(4), "big") % _NUMBERS
        while number in self._inside:
            number = (number + 1) % _NUMBERS
        key = OsEntropy().bytes(4)
        self._newcomers.pop(session, None)
        self._inside[number] = _Inside(key, session, person)
        return number, key

    def cancel(self, number: int, key: bytes) -> None:
        """End the question that runs on a connection, if the key is its own; say nothing either way."""
        known = self._inside.get(number)
        right = hmac.compare_digest(b"" if known is None else known.key, key)
        if known is not None and right and known.session.running is not None:
            known.session.running.cancel()

    def dataset(self, wanted: str, user: str) -> Dataset | None:
        """Return the dataset that is meant; tools that name none name the user in its place."""
        there = {dataset.name: dataset for dataset in self.service.datasets}
        if wanted in there:
            return there[wanted]
        only = wanted in ("", user) and len(there) == 1
        return next(iter(there.values())) if only else None

    def people_of(self, dataset: Dataset | None) -> People:
        """Return those who may ask a dataset; where there is none, others, who are challenged in vain."""
        return (dataset or next(iter(self.service.datasets))).people

    def open_spool(self, person: str) -> None:
        """Count one more answer of a person that waits in a file; refuse too many."""
        with self._counting:
            if self._spools[person] >= _SPOOLS_MAX:
                raise ServerError(
                    "portals_too_many",
                    f"{_SPOOLS_MAX} answers of yours wait to be read already",
                    "read them to their end, or close their portals",
                )
            self._spools[person] += 1

    def close_spool(self, person: str) -> None:
        """Count one less."""
        with self._counting:
            self._spools[person] -= 1

    def catalogue_of(self, dataset: Dataset) -> Catalogue:
        """Return the catalogue of a dataset, as its tables are now; ServerError where there is none."""
        catalogue = self._catalogues.setdefault(dataset.name, Catalogue(dataset.name))
        with dataset.used() as session:
            schema = schema_of(session)
        catalogue.prepare(schema)
        return catalogue

    def prepare(self) -> None:
        """Have the catalogues of all datasets ready before anybody asks; say where one cannot be."""
        for dataset in self.service.datasets:
            try:
                self.catalogue_of(dataset)
            except SanqlError as error:
                self.service.log("catalogue", dataset=dataset.name, code=error.code)
            except Exception as fault:  # questions are answered without it
                self.service.log("fault", kind=type(fault).__name__)

    def close(self) -> None:
        """End the catalogues."""
        for catalogue in self._catalogues.values():
            catalogue.close()

    def check_still(self, asker: Asker) -> Asker:
        """Return the asker as they are known now; AccessDenied where their token is not good any more."""
        return Asker(*self.service.signing_in.still(asker.dataset.name, asker.person))

    def log_statement(self, asker: Asker | None, code: str | None) -> None:
        """Write down that somebody has sent something, and how it ended; never what it was."""
        person, dataset = (asker.person.name, asker.dataset.name) if asker else (None, None)
        self.service.log("wire", code=code, person=person, dataset=dataset)

    def _leave(self, session: WireSession) -> None:
        """Forget a connection; what runs for it is ended, and its charge stays."""
        self._newcomers.pop(session, None)
        for number in [n for n, each in self._inside.items() if each.session is session]:
            del self._inside[number]
        session.prepared.end_portals()
        if session.running is not None:
            session.running.cancel()
