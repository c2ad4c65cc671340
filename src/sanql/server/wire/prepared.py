"""What a connection has prepared: statements, and portals with the rows that are still to be sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pygwire.messages import Bind

from sanql.errors import ServerError
from sanql.parse import Command, Value
from sanql.server.wire.answering import Columns, WireReply

STATEMENTS_MAX = 1_000
PORTALS_MAX = 20
_LETTERS_MAX = 4 << 20
_NAME_MAX = 200
T = TypeVar("T")


@dataclass
class Prepared:
    """A statement: its text, and the types of its parameters; `columns` once it was described."""

    command: Command
    parameter_types: tuple[int, ...] = ()
    columns: Columns | None = None
    described: bool = False


@dataclass
class Portal:
    """A statement with its values; once it has been executed it holds the rows to come."""

    prepared: Prepared
    values: tuple[Value, ...]
    formats: tuple[int, ...]
    bound: Bind
    columns: Columns | None = None
    described: bool = False
    reply: WireReply | None = None
    rows: Iterator[Sequence[Any]] = field(default_factory=lambda: iter(()))

    @property
    def is_told(self) -> bool:
        """Whether the other side was told which columns will come."""
        return self.described or self.prepared.described

    @property
    def told(self) -> Columns | None:
        """What they were told."""
        return self.columns if self.described else self.prepared.columns

    def begin(self, reply: WireReply) -> None:
        """Hold what the statement is answered with."""
        self.reply, self.rows = reply, iter(reply.rows)

    def close(self) -> None:
        """Let go of rows that nobody will ask for."""
        if self.reply is not None:
            self.reply.close()

    def is_binary(self, count: int) -> tuple[bool, ...]:
        """Return which of so many columns are asked for in binary."""
        if len(self.formats) <= 1:
            return (self.formats == (1,),) * count
        if len(self.formats) != count:
            raise ServerError(
                "formats_wrong",
                f"{len(self.formats)} formats are asked for, and there are {count} columns",
                "ask for one format, or for one of each column",
            )
        return tuple(each == 1 for each in self.formats)


class PreparedNames:
    """The statements and portals of one connection, by name; the one without a name is replaced."""

    def __init__(self) -> None:
        self._statements: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}

    def prepare(self, name: str, prepared: Prepared) -> None:
        """Keep a statement."""
        _check_name(name)
        if name and name in self._statements:
            raise ServerError(
                "statement_exists",
                f"there is a prepared statement {name[:60]!r} already",
                "close it first, or take another name",
            )
        self._statements.pop(name, None)
        letters = sum(len(each.command.text) for each in self._statements.values())
        if len(self._statements) >= STATEMENTS_MAX or letters > _LETTERS_MAX:
            raise ServerError(
                "statements_too_many",
                f"{len(self._statements):,} statements are prepared already",
                "close some of them: DEALLOCATE ALL",
            )
        self._statements[name] = prepared

    def statement(self, name: str) -> Prepared:
        """Return a statement."""
        found = self._statements.get(name)
        if found is None:
            raise ServerError(
                "statement_unknown",
                f"there is no prepared statement {name[:60]!r}",
                "prepare it on this connection",
            )
        return found

    def open(self, name: str, portal: Portal) -> None:
        """Keep a portal."""
        _check_name(name)
        if name and name in self._portals:
            raise ServerError(
                "portal_exists", f"there is a portal {name[:60]!r} already", "close it first"
            )
        self._drop_portal(name)
        if len(self._portals) >= PORTALS_MAX:
            raise ServerError(
                "portals_too_many", f"{PORTALS_MAX} portals are open already", "close some of them"
            )
        self._portals[name] = portal

    def portal(self, name: str) -> Portal:
        """Return a portal."""
        found = self._portals.get(name)
        if found is None:
            raise ServerError(
                "portal_unknown", f"there is no portal {name[:60]!r}", "bind a statement to it"
            )
        return found

    def close(self, kind: str, name: str) -> None:
        """Forget a statement (S) or a portal (P), if it is there."""
        if kind == "S":
            self._statements.pop(name, None)
        else:
            self._drop_portal(name)

    def deallocate(self, name: str) -> None:
        """Forget a statement that must be there; `all` is all of them."""
        if name == "all":
            self._statements.clear()
        else:
            self.statement(name)
            del self._statements[name]

    def end_portals(self) -> None:
        """Forget all portals, as at the end of every transaction."""
        for name in [*self._portals]:
            self._drop_portal(name)

    def _drop_portal(self, name: str) -> None:
        dropped = self._portals.pop(name, None)
        if dropped is not None:
            dropped.close()


def _check_name(name: str) -> None:
    if len(name) > _NAME_MAX:
        raise ServerError(
            "name_too_long",
            f"a name of a statement or portal has at most {_NAME_MAX} letters",
            "take a shorter one",
        )
