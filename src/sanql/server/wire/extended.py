"""The extended protocol: a statement is prepared, bound to values, described and executed.

Preparing and describing run nothing and spend nothing. A portal is answered once, when it is first
executed; its rows are then sent as many at a time as are asked for. After an error whatever comes is
passed over until the other side says that it starts anew (Sync).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from pygwire.messages import (
    Bind,
    BindComplete,
    Close,
    CloseComplete,
    CommandComplete,
    Describe,
    EmptyQueryResponse,
    Execute,
    Flush,
    NoData,
    ParameterDescription,
    Parse,
    ParseComplete,
    PGMessage,
    PortalSuspended,
    Sync,
)

from sanql.errors import ServerError
from sanql.parse import QuestionText, Value, parameter_types, read_commands
from sanql.server.telling import internal
from sanql.server.wire.answering import (
    Columns,
    WireReply,
    answer_command,
    catalogue_reply,
    columns_of,
)
from sanql.server.wire.prepared import Portal, Prepared
from sanql.server.wire.received import OID_OF, UNSAID, received, some_value

if TYPE_CHECKING:
    from sanql.server.wire.session import WireSession

_PARAMETERS_MAX = 1_000
_DIGITS_MAX = 9
EXTENDED = (Parse, Bind, Describe, Execute, Close, Flush, Sync)
"""The messages of this protocol."""


class ExtendedProtocol:
    """One connection's statements and portals."""

    def __init__(self, session: WireSession) -> None:
        self._session = session
        self._skipping = False  # until the next Sync, after an error

    async def take(self, message: PGMessage) -> None:
        """Do what a message asks for, and say so."""
        if isinstance(message, Sync):
            self._skipping = False
            await self._session.ready()
        elif isinstance(message, Flush):
            await self._session.frames.flush()
        elif not self._skipping:
            await self._session.frames.give_way()
            self._skipping = not await self._session.attempt(self._act(message), _text_of(message))

    async def _act(self, message: PGMessage) -> None:
        match message:
            case Parse():
                await self._parse(message)
            case Bind():
                await self._bind(message)
            case Describe("S", name):
                await self._describe_statement(self._session.prepared.statement(name))
            case Describe(_, name):
                await self._describe_portal(self._session.prepared.portal(name))
            case Execute(name, rows_max):
                await self._execute(self._session.prepared.portal(name), rows_max)
            case Close(kind, name):
                self._session.prepared.close(kind, name)
                self._session.frames.send(CloseComplete())

    async def _parse(self, message: Parse) -> None:
        made = await self._session.in_turn(partial(self._prepared, message))
        if made.command.kind == "catalogue":
            catalogue = await self._session.catalogue()
            person = self._session.asker.person.name
            described = catalogue.describe(person, made.command.text, message.param_types)
            told = await self._session.cancellable(described)
            columns = catalogue_reply(told).columns
            made = Prepared(made.command, tuple(told.parameter_types), columns, described=True)
        self._session.prepared.prepare(message.statement, made)
        self._session.frames.send(ParseComplete())

    def _prepared(self, message: Parse) -> Prepared:
        commands = read_commands(message.query)
        if len(commands) > 1:
            raise ServerError(
                "several_statements",
                f"{len(commands)} statements are prepared as one",
                "prepare one statement at a time",
            )
        (command,) = commands
        if command.kind not in ("question", "explain"):
            return Prepared(command)
        with self._session.asker.dataset.used() as session:
            found = parameter_types(QuestionText(command.text), session.tables)
        numbered = {
            int(name) if len(name) < _DIGITS_MAX else 10**_DIGITS_MAX: kind
            for name, kind in found.items()
            if name.isdecimal()
        }
        said = dict(enumerate(message.param_types, 1))
        if max([*numbered, len(said)], default=0) > _PARAMETERS_MAX:
            raise _wrong(f"a statement has at most {_PARAMETERS_MAX:,} parameters")
        types = tuple(
            said[number]
            if said.get(number, 0) not in UNSAID
            else OID_OF[numbered[number]]
            if number in numbered
            else 25
            for number in range(1, max([*numbered, len(said)], default=0) + 1)
        )
        return Prepared(command, types)

    async def _bind(self, message: Bind) -> None:
        prepared = self._session.prepared.statement(message.statement)
        values: tuple[Value, ...] = ()
        if prepared.parameter_types and prepared.command.kind != "catalogue":
            read = partial(_values, message, prepared.parameter_types)
            values = await self._session.in_turn(read)
        elif prepared.command.kind != "catalogue":
            values = _values(message, ())
        if not set(message.result_formats) <= {0, 1}:
            raise _wrong("a format is 0 for text or 1 for binary")
        portal = Portal(prepared, values, tuple(message.result_formats), message)
        self._session.prepared.open(message.portal, portal)
        self._session.frames.send(BindComplete())

    async def _describe_statement(self, prepared: Prepared) -> None:
        if not prepared.described:
            some = [some_value(oid) for oid in prepared.parameter_types]
            prepared.columns = await self._columns(prepared, some)
            prepared.described = True
        self._session.frames.send(ParameterDescription([*prepared.parameter_types]))
        self._send_columns(prepared.columns, ())

    async def _describe_portal(self, portal: Portal) -> None:
        portal.columns, portal.described = portal.prepared.columns, True
        if portal.prepared.command.kind != "catalogue":
            portal.columns = await self._columns(portal.prepared, portal.values)
        self._send_columns(portal.columns, portal.formats)

    async def _columns(self, prepared: Prepared, values: Sequence[Value]) -> Columns | None:
        session = self._session
        asked = partial(columns_of, session.asker, session.variables, prepared.command, values)
        return await session.in_turn(asked)

    def _send_columns(self, columns: Columns | None, formats: Sequence[int]) -> None:
        if columns is None:
            self._session.frames.send(NoData())
        else:
            self._session.send_columns(columns, formats)

    async def _execute(self, portal: Portal, rows_max: int) -> None:
        reply = portal.reply
        if reply is None:
            reply = await self._reply(portal)
            portal.begin(reply)
            if portal.is_told and not _alike(portal.told, reply.columns):
                raise internal()  # rather than bytes that are read as something else
            self._session.send_notices(reply)
        if reply.empty:
            self._session.frames.send(EmptyQueryResponse())
            return
        columns = reply.columns or []
        rows = islice(portal.rows, rows_max) if rows_max else portal.rows
        sent = await self._session.send_rows(rows, columns, portal.is_binary(len(columns)))
        if rows_max and sent == rows_max:
            self._session.frames.send(PortalSuspended())
            return
        self._session.status = reply.status or self._session.status
        self._session.frames.send(CommandComplete(reply.confirmation(sent)))

    async def _reply(self, portal: Portal) -> WireReply:
        prepared, bound = portal.prepared, portal.bound
        self._session.check_transaction(prepared.command)
        if prepared.command.kind != "catalogue":
            return await self._session.in_turn(partial(self._answered, portal))
        catalogue = await self._session.catalogue()
        types, values = prepared.parameter_types, bound.param_values
        formats = bound.param_formats, bound.result_formats
        asked = self._session.asker.person.name, prepared.command.text
        executed = catalogue.execute(*asked, types, values, *formats)
        return catalogue_reply(await self._session.cancellable(executed))

    def _answered(self, portal: Portal) -> WireReply:
        """Answer a portal; call it in its person's turn."""
        session, prepared = self._session, portal.prepared
        asked = session.asker, session.variables, prepared.command, portal.values
        if portal.is_told or len(portal.formats) > 1:  # before anything is charged
            columns = columns_of(*asked)
            portal.is_binary(len(columns or ()))
            if portal.is_told and not _alike(portal.told, columns):
                raise ServerError(
                    "columns_changed",
                    "the columns are not those that were described",
                    "prepare it anew; nothing has been charged",
                )
        return answer_command(session, *asked)


def _alike(told: Columns | None, columns: Columns | None) -> bool:
    """Return whether columns are of the types that were told; a name may have a value in it."""
    return [kind for _, kind in told or ()] == [kind for _, kind in columns or ()]


def _values(message: Bind, types: Sequence[int]) -> tuple[Value, ...]:
    """Return the values of a statement's parameters."""
    values, formats = message.param_values, message.param_formats
    if len(values) != len(types):
        raise _wrong(f"{len(values)} values come, and the statement has {len(types)} parameters")
    if (len(formats) > 1 and len(formats) != len(values)) or not set(formats) <= {0, 1}:
        raise _wrong("a format is 0 for text or 1 for binary, one for all values or one for each")
    each = formats * len(values) if len(formats) == 1 else formats or [0] * len(values)
    return tuple(
        received(value, oid, binary=form == 1, number=number)
        for number, (value, oid, form) in enumerate(zip(values, types, each, strict=True), 1)
    )


def _wrong(what: str) -> ServerError:
    return ServerError("parameters_wrong", what, "bind what the statement was described with")


def _text_of(message: PGMessage) -> str:
    """Return the text that the place of an error is counted in; of a name, nothing is known here."""
    return message.query if isinstance(message, Parse) else ""
