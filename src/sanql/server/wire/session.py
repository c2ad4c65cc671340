"""One connection over the wire, from its first message to its last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pygwire import TransactionStatus
from pygwire.messages import (
    AuthenticationOk,
    AuthenticationSASL,
    AuthenticationSASLContinue,
    AuthenticationSASLFinal,
    BackendKeyData,
    CancelRequest,
    CommandComplete,
    DataRow,
    EmptyQueryResponse,
    ErrorResponse,
    FieldDescription,
    GSSEncRequest,
    GSSResponse,
    NegotiateProtocolVersion,
    NoticeResponse,
    ParameterStatus,
    Query,
    ReadyForQuery,
    RowDescription,
    SASLInitialResponse,
    SASLResponse,
    SSLRequest,
    SSLResponse,
    StartupMessage,
    Terminate,
)

from sanql.errors import LedgerError, PolicyError, SanqlError, ServerError
from sanql.interrupts import Watch, watched_by
from sanql.numbers import decimal_text
from sanql.parse import Command, read_commands
from sanql.server.caller import Caller
from sanql.server.telling import internal, told_to_analysts
from sanql.server.wire.answering import (
    Columns,
    SpooledRows,
    WireReply,
    answer_command,
    catalogue_reply,
)
from sanql.server.wire.catalogue import Catalogue, CatalogueError
from sanql.server.wire.challenge import Challenge, ChallengeFailed
from sanql.server.wire.extended import EXTENDED, ExtendedProtocol
from sanql.server.wire.frames import MINOR, FrameFault, Frames
from sanql.server.wire.prepared import PreparedNames
from sanql.server.wire.problems import fields_of, plain_text
from sanql.server.wire.values import encoded
from sanql.server.wire.variables import Variables, reported_of

if TYPE_CHECKING:
    from sanql.account import Person
    from sanql.ask import SpooledAnswer
    from sanql.server.datasets import Dataset
    from sanql.server.wire.door import WireDoor

T = TypeVar("T")
_ROWS_AT_ONCE = 1_000
_NOTICE = {"S": "NOTICE", "V": "NOTICE", "C": "00000"}


@dataclass(frozen=True)
class Asker:
    """Whoever a connection is of, and the dataset that it asks."""

    dataset: Dataset
    person: Person

    @property
    def caller(self) -> Caller:
        """The same, as other doors know it."""
        return Caller(self.person.name, {self.dataset.name: (self.dataset, self.person)})


class WireSession:
    """One connection."""

    def __init__(self, door: WireDoor, frames: Frames, address: str) -> None:
        self._door = door
        self.frames = frames
        self._address = address
        self._tls = False
        self.status = TransactionStatus.IDLE
        self.variables = Variables({})
        self.prepared = PreparedNames()
        self._extended = ExtendedProtocol(self)
        self._asker: Asker | None = None
        self.running: Watch | None = None  # of the question that runs, if one does

    @property
    def asker(self) -> Asker:
        """Whoever this connection is of; nobody asks before they have signed in."""
        assert self._asker is not None  # noqa: S101
        return self._asker

    async def run(self) -> None:
        """Speak until the other side has ended, or has to."""
        try:
            if await self._start():
                await self._answer_all()
        except FrameFault as fault:
            await self._end(
                ServerError(
                    "wire_malformed",
                    f"the protocol is not kept: {fault.what}",
                    "speak PostgreSQL's protocol, as docs/wire.md says",
                ),
                fault.code,
            )
        except TimeoutError:
            await self._end(ServerError("wire_slow", "nothing came in time", "connect again"))
        except SanqlError as error:
            await self._end(error)

    async def _end(self, error: SanqlError, code: str = "") -> None:
        """Say why the connection ends here."""
        fields = fields_of(error, severity="FATAL") | ({"C": code} if code else {})
        self.frames.writer.write(ErrorResponse(fields).to_wire())
        await self.frames.flush()

    # ---- beginning

    async def _start(self) -> bool:
        """Come as far as the first question; return False where it was no connection to ask."""
        limits = self._door.service.settings.limits
        while True:
            message = await self.frames.receive(limits.header_seconds)
            match message:
                case SSLRequest() if self._door.tls is not None and not self._tls:
                    self.frames.send(SSLResponse(accepted=True))
                    await self.frames.flush()
                    await self.frames.start_tls(self._door.tls)
                    self._tls = True
                case SSLRequest():
                    self.frames.send(SSLResponse(accepted=False))
                    await self.frames.flush()
                case GSSEncRequest():
                    self.frames.send(GSSResponse(accepted=False))
                    await self.frames.flush()
                case CancelRequest(process_id, secret_key):
                    self._door.cancel(process_id, secret_key)
                    return False
                case StartupMessage():
                    await self._begin(message, limits.header_seconds)
                    return True
                case None:
                    return False
                case _:
                    raise FrameFault("the connection does not begin as one")

    async def _begin(self, startup: StartupMessage, seconds_max: float) -> None:
        unknown = [name for name in startup.params if name.startswith("_pq_.")]
        if self._door.tls is not None and not self._tls:
            raise ServerError("tls_needed", "this server is spoken to over TLS", "sslmode=require")
        if unknown or self.frames.minor_wanted not in (0, MINOR):
            spoken = MINOR if self.frames.minor_wanted >= MINOR else 0
            self.frames.send(NegotiateProtocolVersion(spoken, unknown))
        asker = await self._sign_in(startup.params, seconds_max)
        self._asker = asker
        version = await self._version()
        given = {name.lower(): value for name, value in startup.params.items()}
        self.variables = Variables(given, version)
        self.variables.begin(_usual_epsilon(asker))
        number, key = self._door.enter(self, asker.caller.key)
        reported = reported_of(version) | {
            "session_authorization": asker.person.name,
            "application_name": startup.params.get("application_name", ""),
        }
        self.frames.send(AuthenticationOk())
        self.frames.send(*(ParameterStatus(name, value) for name, value in reported.items()))
        self.frames.send(BackendKeyData(number, key), ReadyForQuery(self.status))
        await self.frames.flush()

    async def _version(self) -> str:
        """Return the version that tools are told, which is that of the catalogue they will read."""
        try:
            return (await self.catalogue()).version
        except SanqlError:
            return ""

    async def _sign_in(self, begun_with: dict[str, str], seconds_max: float) -> Asker:
        name = begun_with.get("user", "")
        signing_in, loop = self._door.service.signing_in, asyncio.get_running_loop()
        dataset = self._door.dataset(begun_with.get("database", ""), name)
        people = self._door.people_of(dataset)
        await loop.run_in_executor(None, signing_in.check_challenge, self._address, people, name)
        verifier = await loop.run_in_executor(None, people.challenge_of, name)
        challenge = Challenge(verifier, self._door.bound_to if self._tls else b"")
        self.frames.send(AuthenticationSASL(challenge.mechanisms))
        await self.frames.flush()
        try:
            first = await self.frames.receive(seconds_max)
            if not isinstance(first, SASLInitialResponse):
                raise ChallengeFailed
            answer = challenge.begin(first.mechanism, first.data or b"")
            self.frames.send(AuthenticationSASLContinue(answer))
            await self.frames.flush()
            last = await self.frames.receive(seconds_max)
            if not isinstance(last, SASLResponse):
                raise ChallengeFailed
            proof = await loop.run_in_executor(None, challenge.end, last.data)
        except ChallengeFailed:
            raise signing_in.challenge_failed(self._address, name) from None
        person = await loop.run_in_executor(None, people.named, name)
        if dataset is None or person is None or person.verifier != verifier:
            raise signing_in.challenge_failed(self._address, name)
        self.frames.send(AuthenticationSASLFinal(proof))
        return Asker(dataset, person)

    # ---- questions

    async def _answer_all(self) -> None:
        while True:
            message = await self.frames.receive()  # tools keep a connection open all day
            match message:
                case Query(text):
                    self.prepared.close("S", "")  # what has no name ends with the next text
                    self.prepared.close("P", "")
                    await self.attempt(self._answer(text), text)
                    await self.ready()
                case Terminate() | None:
                    return
                case _ if isinstance(message, EXTENDED):
                    await self._extended.take(message)
                case _:
                    raise FrameFault(f"{type(message).__name__} is not taken", "0A000")

    async def attempt(self, act: Coroutine[object, object, None], text: str = "") -> bool:
        """Return whether something could be done; where not, the other side is told why."""
        code: str | None = None
        try:
            await act
        except SanqlError as error:
            code = error.code
            self.frames.send(ErrorResponse(fields_of(self._told(error), text)))
        except CatalogueError as refused:
            code = "catalogue"
            self.frames.send(ErrorResponse(refused.fields))
        except (ConnectionError, FrameFault):
            raise
        except Exception as fault:
            code = "internal"
            self._door.service.log("fault", kind=type(fault).__name__)
            self.frames.send(ErrorResponse(fields_of(internal())))
        self._door.log_statement(self._asker, code)
        if code is not None and self.status is TransactionStatus.IN_TRANSACTION:
            self.status = TransactionStatus.ERROR_TRANSACTION
        return code is None

    def check_transaction(self, command: Command) -> None:
        """Refuse whatever comes after an error in a transaction, until that ends."""
        ends = command.kind == "transaction" and command.name in ("COMMIT", "ROLLBACK")
        if (
            self.status is TransactionStatus.ERROR_TRANSACTION
            and not ends
            and command.kind != "nothing"
        ):
            raise ServerError(
                "transaction_failed",
                "an error was met in this transaction, and nothing more is done in it",
                "ROLLBACK, then ask again; what was charged before the error stays charged",
            )

    async def ready(self) -> None:
        """Say that the next question may come; portals live as long as a transaction."""
        if self.status is TransactionStatus.IDLE:
            self.prepared.end_portals()
        self.frames.send(ReadyForQuery(self.status))
        await self.frames.flush()
        await self.frames.give_way()

    async def _answer(self, text: str) -> None:
        """Answer the statements of a text, one after another, until one cannot be."""
        for command in await self.in_turn(partial(read_commands, text)):
            reply = await self._reply(command)
            self.send_notices(reply)
            if reply.empty:
                self.frames.send(EmptyQueryResponse())
                continue
            sent = 0
            with reply.closing_rows():
                if reply.columns is not None:
                    self.send_columns(reply.columns, ())
                    plain = (False,) * len(reply.columns)
                    sent = await self.send_rows(reply.rows, reply.columns, plain)
            self.status = reply.status or self.status
            self.frames.send(CommandComplete(reply.confirmation(sent)))

    async def _reply(self, command: Command) -> WireReply:
        self.check_transaction(command)
        if command.kind == "catalogue":
            catalogue, person = await self.catalogue(), self.asker.person.name
            return catalogue_reply(await self.cancellable(catalogue.ask(person, command.text)))
        return await self.in_turn(
            partial(answer_command, self, self.asker, self.variables, command)
        )

    async def catalogue(self) -> Catalogue:
        """Return what knows the tables of the dataset that this connection asks."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self._door.catalogue_of, self.asker.dataset)

    async def cancellable(self, asked: Coroutine[object, object, T]) -> T:
        """Return what comes of asking the catalogue, which a cancelling request reaches too."""
        self.running = Watch()
        try:
            with watched_by(self.running):
                return await asked
        finally:
            self.running = None

    def _told(self, error: SanqlError) -> SanqlError:
        """Return what an analyst is told of an error; what is about the account is for its owner."""
        if isinstance(error, LedgerError | PolicyError):
            self._door.service.log("account", code=error.code, detail=error.message)
            return told_to_analysts(error)
        return error

    async def in_turn(self, act: Callable[[], T]) -> T:
        """Return what something gives that is done in its person's turn, if they still may ask."""
        service = self._door.service
        service.check_rate(self.asker.caller.key)
        loop = asyncio.get_running_loop()
        self._asker = await loop.run_in_executor(None, self._door.check_still, self.asker)
        self.running = Watch()  # also while it waits in line
        try:
            future = service.queue.submit(self.asker.caller.key, act)
            return await asyncio.shield(asyncio.wrap_future(future))
        finally:
            self.running = None

    def spooled(self, answer: SpooledAnswer) -> SpooledRows:
        """Return rows that wait in a file; a person has few of those open."""
        person = self.asker.caller.key
        try:
            self._door.open_spool(person)
        except SanqlError:
            answer.close()
            raise
        return SpooledRows(answer, partial(self._door.close_spool, person))

    def send_notices(self, reply: WireReply) -> None:
        """Send what is to be said of an answer besides its rows."""
        for notice in reply.notices:
            self.frames.send(NoticeResponse(_NOTICE | {"M": plain_text(notice)}))

    def send_columns(self, columns: Columns, formats: Sequence[int]) -> None:
        """Send names and types of columns, and in which format each will come."""
        each = formats if len(formats) > 1 else [*formats, 0][:1] * len(columns)
        described = [
            FieldDescription(plain_text(name), 0, 0, kind.oid, kind.size, -1, form)
            for (name, kind), form in zip(columns, each, strict=False)
        ]
        self.frames.send(RowDescription(described))

    async def send_rows(
        self, rows: Iterable[Sequence[object]], columns: Columns, binary: Sequence[bool]
    ) -> int:
        """Send rows; return how many they were."""
        number = 0
        for number, row in enumerate(rows, 1):
            cells = [
                encoded(value, kind, binary=form)
                for value, (_, kind), form in zip(row, columns, binary, strict=True)
            ]
            self.frames.send(DataRow(cells))
            if number % _ROWS_AT_ONCE == 0:
                await self.frames.give_way()
        return number


def _usual_epsilon(asker: Asker) -> str | None:
    """Return what a question of somebody costs where nothing else is said, as the policy has it."""
    declared = asker.dataset.policy.analysts.get(asker.person.name)
    usual = None if declared is None else declared.epsilon_per_query
    return None if usual is None else decimal_text(usual)
