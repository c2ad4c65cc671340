"""A text from the wire → rows and notices: a setting, a transaction, an explanation, or a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pygwire import TransactionStatus

from sanql.ask import (
    Request,
    SpooledAnswer,
    answer_columns,
    ask_with,
    explain_request,
    interval_columns,
    read_request,
    spool_publicly,
)
from sanql.errors import ServerError
from sanql.interrupts import Watch, watched_by
from sanql.numbers import number_lower, number_upper
from sanql.parse import Command, QuestionText, Value
from sanql.server.caller import check_role
from sanql.server.wire.values import FLOAT8, TEXT, WireType, type_of, written_type

if TYPE_CHECKING:
    import pyarrow

    from sanql.results import Answer, Balance
    from sanql.server.wire.catalogue.asking import CatalogueAnswer
    from sanql.server.wire.session import Asker, WireSession
    from sanql.server.wire.variables import Variables

Columns = list[tuple[str, WireType]]

_BUDGET: Columns = [
    ("account", TEXT),
    *((name, FLOAT8) for name in ("spent_epsilon", "left_epsilon", "spent_delta", "left_delta")),
]
_PLAN: Columns = [("QUERY PLAN", TEXT)]


@dataclass(frozen=True)
class WireReply:
    """What is sent for a text; without columns it is only confirmed. `status` where that has changed."""

    tag: str = ""
    columns: Columns | None = None
    rows: Iterable[Sequence[Any]] = ()
    notices: tuple[str, ...] = ()
    status: TransactionStatus | None = None
    empty: bool = False
    counted: bool = False  # whether the rows are counted in its confirmation

    def close(self) -> None:
        """Let go of rows that nobody will read."""
        end = getattr(self.rows, "close", None)
        if end is not None:
            end()

    @contextmanager
    def closing_rows(self) -> Iterator[None]:
        """Let go of rows in the end, however far they were read."""
        try:
            yield
        finally:
            self.close()

    def confirmation(self, rows: int) -> str:
        """Return the words that end it, after so many rows."""
        return f"{self.tag} {rows}" if self.counted else self.tag


def answer_command(
    session: WireSession,
    asker: Asker,
    variables: Variables,
    command: Command,
    values: Sequence[Value] | None = None,
) -> WireReply:
    """Return what a text is answered with; call it in its person's turn."""
    match command.kind:
        case "nothing":
            return WireReply(empty=True)
        case "set":
            keep = variables.set_for_transaction if command.local else variables.set
            keep(command.name, command.value)
            return WireReply("SET")
        case "reset":
            variables.reset(command.name)
            return WireReply("RESET")
        case "discard":
            variables.reset("all")
            session.prepared.deallocate("all")
            return WireReply("DISCARD ALL")
        case "show":
            return _shown(asker, variables, command)
        case "transaction":
            failed = session.status is TransactionStatus.ERROR_TRANSACTION
            return _transaction(command, variables, failed=failed)
        case "explain":
            return _explained(asker, variables, command, values)
        case "deallocate":
            session.prepared.deallocate(command.name)
            return WireReply("DEALLOCATE ALL" if command.name == "all" else "DEALLOCATE")
        case "confirm":
            return WireReply(command.name)
        case "unoffered":
            raise ServerError(
                "command_not_offered",
                f"{command.name} is not offered",
                "ask with a plain SELECT, whose answer is small: without a cursor on the server (psql: "
                "\\unset FETCH_COUNT), and prepared by the driver rather than in SQL",
            )
        case "question" | "catalogue":  # which is answered before it comes here
            return _answered(session, asker, variables, command, values)


def columns_of(
    asker: Asker, variables: Variables, command: Command, values: Sequence[Value] | None
) -> Columns | None:
    """Return the columns that a text will be answered with; nothing is run, and nothing spent."""
    match command.kind:
        case "show":
            return _BUDGET if command.name == "sanql.budget" else [(command.name, TEXT)]
        case "explain":
            return _PLAN
        case "question":
            check_role(asker.person, "analyst")
            request = _request(asker, variables, command.text, values)
            with asker.dataset.used() as session:
                named = _named(answer_columns(session, request))
                ends = interval_columns(session, request) if variables.interval_columns else ()
            return _with_ends(named, ends)
        case _:
            return None


def _transaction(command: Command, variables: Variables, *, failed: bool) -> WireReply:
    """Return the confirmation of a transaction: there is nothing to take back but settings."""
    begins = command.name in ("BEGIN", "START TRANSACTION")
    ends = command.name in ("COMMIT", "ROLLBACK")
    if begins:
        variables.begin_transaction()
    if ends:
        variables.end_transaction(kept=command.name == "COMMIT" and not failed)
    status = TransactionStatus.IN_TRANSACTION if begins else TransactionStatus.IDLE
    name = "ROLLBACK" if ends and failed else command.name
    return WireReply(name, status=status if begins or ends else None)


def _shown(asker: Asker, variables: Variables, command: Command) -> WireReply:
    if command.name == "sanql.budget":
        with asker.dataset.used() as session:
            own = asker.person.role == "analyst"
            shown = session.balances(asker.person.name) if own else session.ledger.balances()
        return WireReply("SHOW", _BUDGET, [*map(_balance, shown)])
    return WireReply("SHOW", [(command.name, TEXT)], [(variables.shown(command.name),)])


def _balance(balance: Balance) -> tuple[Any, ...]:
    spent, left = balance.spent_upper, balance.remaining_lower
    return (
        balance.account if balance.protects is None else f"{balance.account} ({balance.protects})",
        number_upper(spent.epsilon),
        number_lower(left.epsilon),
        number_upper(spent.delta),
        number_lower(left.delta),
    )


def _explained(
    asker: Asker, variables: Variables, command: Command, values: Sequence[Value] | None
) -> WireReply:
    check_role(asker.person, "analyst")
    with asker.dataset.used() as session:
        explanation = explain_request(session, _request(asker, variables, command.text, values))
    lines = [(line,) for line in str(explanation).splitlines()]
    return WireReply("EXPLAIN", _PLAN, lines)


def _answered(
    session: WireSession,
    asker: Asker,
    variables: Variables,
    command: Command,
    values: Sequence[Value] | None,
) -> WireReply:
    check_role(asker.person, "analyst")
    request = _request(asker, variables, command.text, values)
    watch = session.running or Watch()
    with asker.dataset.used() as opened, watched_by(watch):
        answer = ask_with(opened, request, spool_publicly)
    if isinstance(answer, SpooledAnswer):
        columns = _named(answer.answer.table.schema)
        return WireReply("SELECT", columns, session.spooled(answer), counted=True)
    return _reply_of(answer, with_ends=variables.interval_columns)


def _reply_of(answer: Answer, *, with_ends: bool) -> WireReply:
    named = _named(answer.table.schema)
    ends = answer.intervals if with_ends else {}
    columns = _with_ends(named, ends)
    rows = [
        tuple(
            value
            for (name, _), cell in zip(named, row, strict=True)
            for value in (cell, *(ends[name][place] if name in ends else ()))
        )
        for place, row in enumerate(answer.rows)
    ]
    hint = "SET sanql.intervals = columns shows the intervals beside the values"
    notices = (*answer.footer(), *([hint] if answer.intervals and not with_ends else []))
    return WireReply("SELECT", columns, rows, notices, counted=True)


def _named(schema: pyarrow.Schema) -> Columns:
    return [(field.name, type_of(field.type)) for field in schema]


def _with_ends(named: Columns, ends: Collection[str]) -> Columns:
    """Return columns, each of those in `ends` followed by the two of its interval."""
    return [
        column
        for name, kind in named
        for column in (
            (name, kind),
            *((f"{name}_{end}", FLOAT8) for end in ("low", "high") if name in ends),
        )
    ]


def catalogue_reply(answer: CatalogueAnswer) -> WireReply:
    """Return what the catalogue has answered, as it is sent on."""
    columns = answer.columns
    named = (
        None
        if columns is None
        else [(each.name, written_type(each.type_oid, each.type_size)) for each in columns]
    )
    return WireReply(answer.tag, named, answer.rows)


class SpooledRows:
    """Rows that wait in a file; whoever has begun to read them closes it, at the end or before."""

    def __init__(self, answer: SpooledAnswer, closed: Callable[[], None]) -> None:
        self._answer = answer
        self._closed = closed
        self._open = True
        self._rows = (row for part in answer.parts() for row in part.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        try:
            return next(self._rows)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        if self._open:
            self._open = False
            self._rows.close()
            self._answer.close()
            self._closed()


def _request(
    asker: Asker, variables: Variables, text: str, values: Sequence[Value] | None
) -> Request:
    asked = QuestionText(text, tuple(values) if values else None)
    passed = {
        name: value
        for name, value in variables.options.items()
        if name not in asked.options and not _is_price_of(name, asked.options)
    }
    return read_request(asked, asker.person.name, passed, door="wire")


def _is_price_of(name: str, written: dict[str, str]) -> bool:
    """Return whether a question that says its price itself needs no price that was set."""
    return name in ("epsilon", "accuracy") and bool({"epsilon", "accuracy"} & written.keys())
