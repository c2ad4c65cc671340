"""What would be sent to the engine, as an explanation shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

PARAMETERS_SHOWN = 20  # of a list


class ShownStatement(Protocol):
    """SQL and its parameters: the engine's statement, or what a server says of it."""

    @property
    def sql(self) -> str:
        """The SELECT."""

    @property
    def parameters(self) -> tuple[object, ...]:
        """Its parameters."""

    def in_full(self) -> str:
        """Return all that the engine is told, in order."""


@dataclass(frozen=True)
class ReceivedStatement:
    """A statement that a server would send; its parameters are as `statement_to_dict` wrote them."""

    sql: str
    parameters: tuple[object, ...]
    whole: str

    def in_full(self) -> str:
        """Return all that the engine would be told, in order."""
        return self.whole

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> ReceivedStatement:
        """Return the statement of a shape that `statement_to_dict` is part of."""
        return cls(shape["sql"], tuple(shape["parameters"]), shape["sql_in_full"])


def statement_to_dict(statement: ShownStatement) -> dict[str, Any]:
    """Return a statement as plain data; long lists of values are cut."""
    return {
        "sql": statement.sql,
        "parameters": _parameters(statement),
        "sql_in_full": statement.in_full(),
    }


def _parameters(statement: ShownStatement) -> list[object]:
    """Return parameters as plain data, those that are long cut; what was received is so already."""
    if isinstance(statement, ReceivedStatement):
        return list(statement.parameters)
    return [_plain(value) for value in statement.parameters]


def _plain(value: object) -> object:
    if isinstance(value, list) and len(value) > PARAMETERS_SHOWN:
        more = len(value) - PARAMETERS_SHOWN
        return [*map(_plain, value[:PARAMETERS_SHOWN]), f"… {more} more"]
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
