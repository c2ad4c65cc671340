"""One connection over the wire, from its first message to its last."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

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
from sanql.server.caller import Caller
from sanql.server.telling import internal, told_to_analysts
from sanql.server.wire.answering import WireReply, answer_command
from sanql.server.wire.challenge import Challenge, ChallengeFailed
from sanql.server.wire.frames import MINOR, FrameFault, Frames
from sanql.server.wire.problems import fields_of, plain_text
from sanql.server.wire.values import encoded
from sanql.server.wire.variables import REPORTED, Variables

if TYPE_CHECKING:
    from sanql.account import Person
    from sanql.interrupts import Watch
    from sanql.server.datasets import Dataset
    from sanql.server.wire.door import WireDoor

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
        self._frames = frames
        self._address = address
        self._tls = False
        self._status = TransactionStatus.IDLE
        self._variables = Variables({})
        self._asker: Asker | None = None
        self.running: Watch | None = None  # of the question that runs, if one does

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
        self._frames.writer.write(ErrorResponse(fields).to_wire())
        await self._frames.flush()

    # ---- beginning

    async def _start(self) -> bool:
        """Come as far as the first question; return False where it was no connection to ask."""
        limits = self._door.service.settings.limits
        while True:
            message = await self._frames.receive(limits.header_seconds)
            match message:
                case SSLRequest() if self._door.tls is not None and not self._tls:
                    self._frames.send(SSLResponse(accepted=True))
                    await self._frames.flush()
                    await self._frames.start_tls(self._door.tls)
                    self._tls = True
                case SSLRequest():
                    self._frames.send(SSLResponse(accepted=False))
                    await self._frames.flush()
                case GSSEncRequest():
                    self._frames.send(GSSResponse(accepted=False))
                    await self._frames.flush()
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
        if unknown or self._frames.minor_wanted not in (0, MINOR):
            spoken = MINOR if self._frames.minor_wanted >= MINOR else 0
            self._frames.send(NegotiateProtocolVersion(spoken, unknown))
        asker = await self._sign_in(startup.params, seconds_max)
        self._asker = asker
        self._variables = Variables({name.lower(): v for name, v in startup.params.items()})
        number, key = self._door.enter(self, asker.caller.key)
        reported = REPORTED | {
            "session_authorization": asker.person.name,
            "application_name": startup.params.get("application_name", ""),
        }
        self._frames.send(AuthenticationOk())
        self._frames.send(*(ParameterStatus(name, value) for name, value in reported.items()))
        self._frames.send(BackendKeyData(number, key), ReadyForQuery(self._status))
        await self._frames.flush()

    async def _sign_in(self, begun_with: dict[str, str], seconds_max: float) -> Asker:
        name = begun_with.get("user", "")
        signing_in, loop = self._door.service.signing_in, asyncio.get_running_loop()
        dataset = self._door.dataset(begun_with.get("database", ""), name)
        people = self._door.people_of(dataset)
        await loop.run_in_executor(None, signing_in.check_challenge, self._address, people, name)
        verifier = await loop.run_in_executor(None, people.challenge_of, name)
        challenge = Challenge(verifier, self._door.bound_to if self._tls else b"")
        self._frames.send(AuthenticationSASL(challenge.mechanisms))
        await self._frames.flush()
        try:
            first = await self._frames.receive(seconds_max)
            if not isinstance(first, SASLInitialResponse):
                raise ChallengeFailed
            answer = challenge.begin(first.mechanism, first.data or b"")
            self._frames.send(AuthenticationSASLContinue(answer))
            await self._frames.flush()
            last = await self._frames.receive(seconds_max)
            if not isinstance(last, SASLResponse):
                raise ChallengeFailed
            proof = await loop.run_in_executor(None, challenge.end, last.data)
        except ChallengeFailed:
            raise signing_in.challenge_failed(self._address, name) from None
        person = await loop.run_in_executor(None, people.named, name)
        if dataset is None or person is None or person.verifier != verifier:
            raise signing_in.challenge_failed(self._address, name)
        self._frames.send(AuthenticationSASLFinal(proof))
        return Asker(dataset, person)

    # ---- questions

    async def _answer_all(self) -> None:
        while True:
            message = await self._frames.receive()  # tools keep a connection open all day
            match message:
                case Query(text):
                    await self._answer(text)
                case Terminate() | None:
                    return
                case _:
                    raise FrameFault(f"{type(message).__name__} is not taken", "0A000")

    async def _answer(self, text: str) -> None:
        """Answer a text of the simple protocol, or say why not; another may follow."""
        code: str | None = None
        try:
            reply = await self._reply(text)
            for notice in reply.notices:
                self._frames.send(NoticeResponse(_NOTICE | {"M": plain_text(notice)}))
            if reply.empty:
                self._frames.send(EmptyQueryResponse())
            else:
                sent = await self._send_rows(reply)
                self._frames.send(
                    CommandComplete(f"{reply.tag} {sent}" if reply.counted else reply.tag)
                )
            self._status = reply.status or self._status
        except SanqlError as error:
            code = error.code
            self._frames.send(ErrorResponse(fields_of(self._told(error), text)))
        except ConnectionError:
            raise
        except Exception as fault:
            code = "internal"
            self._door.service.log("fault", kind=type(fault).__name__)
            self._frames.send(ErrorResponse(fields_of(internal())))
        self._frames.send(ReadyForQuery(self._status))
        await self._frames.flush()
        self._door.log_statement(self._asker, code)

    def _told(self, error: SanqlError) -> SanqlError:
        """Return what an analyst is told of an error; what is about the account is for its owner."""
        if isinstance(error, LedgerError | PolicyError):
            self._door.service.log("account", code=error.code, detail=error.message)
            return told_to_analysts(error)
        return error

    async def _reply(self, text: str) -> WireReply:
        assert self._asker is not None  # noqa: S101  (nobody asks before they have signed in)
        service, asker = self._door.service, self._asker
        service.check_rate(asker.caller.key)
        loop = asyncio.get_running_loop()
        asker = self._asker = await loop.run_in_executor(None, self._door.check_still, asker)
        act = partial(answer_command, self, asker, self._variables, text)
        future = service.queue.submit(asker.caller.key, act)
        return await asyncio.shield(asyncio.wrap_future(future))

    async def _send_rows(self, reply: WireReply) -> int:
        """Send what there is of rows; return how many they were."""
        if reply.columns is None:
            return 0
        number = 0
        described = [
            FieldDescription(plain_text(name), 0, 0, kind.oid, kind.size, -1, 0)
            for name, kind in reply.columns
        ]
        self._frames.send(RowDescription(described))
        for number, row in enumerate(reply.rows, 1):
            cells = [
                encoded(value, kind, binary=False)
                for value, (_, kind) in zip(row, reply.columns, strict=True)
            ]
            self._frames.send(DataRow(cells))
            if number % _ROWS_AT_ONCE == 0:
                await self._frames.flush()
        return number
