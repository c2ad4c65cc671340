"""A text from the wire → rows and notices: a setting, a transaction, an explanation, or a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pygwire import TransactionStatus

from sanql.ask import (
    Request,
    SpooledAnswer,
    ask_with,
    explain_request,
    read_request,
    spool_publicly,
)
from sanql.interrupts import Watch, watched_by
from sanql.numbers import number_lower, number_upper
from sanql.parse import Command, QuestionText, read_command
from sanql.server.caller import check_role
from sanql.server.wire.values import FLOAT8, TEXT, WireType, type_of

if TYPE_CHECKING:
    from sanql.results import Answer, Balance
    from sanql.server.wire.session import Asker, WireSession
    from sanql.server.wire.variables import Variables

Columns = list[tuple[str, WireType]]


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


def answer_command(
    session: WireSession, asker: Asker, variables: Variables, text: str
) -> WireReply:
    """Return what a text is answered with; call it in its person's turn."""
    command = read_command(text)
    match command.kind:
        case "nothing":
            return WireReply(empty=True)
        case "set":
            variables.set(command.name, command.value)
            return WireReply("SET")
        case "reset":
            variables.reset(command.name)
            return WireReply("RESET")
        case "show":
            return _shown(asker, variables, command)
        case "transaction":
            return _transaction(command)
        case "explain":
            return _explained(asker, variables, command)
        case "question":
            return _answered(session, asker, variables, command)


def _transaction(command: Command) -> WireReply:
    """Return the confirmation of a transaction, which changes nothing: there is nothing to take back."""
    begins = command.name in ("BEGIN", "START TRANSACTION")
    ends = command.name in ("COMMIT", "ROLLBACK")
    status = TransactionStatus.IN_TRANSACTION if begins else TransactionStatus.IDLE
    return WireReply(command.name, status=status if begins or ends else None)


def _shown(asker: Asker, variables: Variables, command: Command) -> WireReply:
    if command.name == "sanql.budget":
        names = ("account", "spent_epsilon", "left_epsilon", "spent_delta", "left_delta")
        columns: Columns = [(names[0], TEXT), *((name, FLOAT8) for name in names[1:])]
        with asker.dataset.used() as session:
            own = asker.person.role == "analyst"
            shown = session.balances(asker.person.name) if own else session.ledger.balances()
        return WireReply("SHOW", columns, [*map(_balance, shown)])
    return WireReply("SHOW", [(command.name, TEXT)], [(variables.shown(command.name),)])


def _balance(balance: Balance) -> tuple[Any, ...]:
    spent, left = balance.spent_upper, balance.remaining_lower
    return (
        balance.account,
        number_upper(spent.epsilon),
        number_lower(left.epsilon),
        number_upper(spent.delta),
        number_lower(left.delta),
    )


def _explained(asker: Asker, variables: Variables, command: Command) -> WireReply:
    check_role(asker.person, "analyst")
    with asker.dataset.used() as session:
        explanation = explain_request(session, _request(asker, variables, command.text))
    lines = [(line,) for line in str(explanation).splitlines()]
    return WireReply("EXPLAIN", [("QUERY PLAN", TEXT)], lines)


def _answered(
    session: WireSession, asker: Asker, variables: Variables, command: Command
) -> WireReply:
    check_role(asker.person, "analyst")
    request = _request(asker, variables, command.text)
    watch = session.running = Watch()
    try:
        with asker.dataset.used() as opened, watched_by(watch):
            answer = ask_with(opened, request, spool_publicly)
    finally:
        session.running = None
    if isinstance(answer, SpooledAnswer):
        table = answer.answer.table
        columns = [(field.name, type_of(field.type)) for field in table.schema]
        return WireReply("SELECT", columns, _spooled(answer), counted=True)
    return _reply_of(answer, interval_columns=variables.interval_columns)


def _reply_of(answer: Answer, *, interval_columns: bool) -> WireReply:
    named = [(field.name, type_of(field.type)) for field in answer.table.schema]
    ends = answer.intervals if interval_columns else {}
    columns = [
        column
        for name, kind in named
        for column in (
            (name, kind),
            *((f"{name}_{end}", FLOAT8) for end in ("low", "high") if name in ends),
        )
    ]
    rows = [
        tuple(
            value
            for (name, _), cell in zip(named, row, strict=True)
            for value in (cell, *(ends[name][place] if name in ends else ()))
        )
        for place, row in enumerate(answer.rows)
    ]
    return WireReply("SELECT", columns, rows, tuple(answer.footer()), counted=True)


def _spooled(answer: SpooledAnswer) -> Iterator[tuple[Any, ...]]:
    try:
        for part in answer.parts():
            yield from part.rows
    finally:
        answer.close()


def _request(asker: Asker, variables: Variables, text: str) -> Request:
    asked = QuestionText(text)
    passed = {
        name: value
        for name, value in variables.options.items()
        if name not in asked.options and not _is_price_of(name, asked.options)
    }
    return read_request(asked, asker.person.name, passed, door="wire")


def _is_price_of(name: str, written: dict[str, str]) -> bool:
    """Return whether a question that says its price itself needs no price that was set."""
    return name in ("epsilon", "accuracy") and bool({"epsilon", "accuracy"} & written.keys())
