"""Parameters as they are typed at a command line: NAME=VALUE, or NAME:type=VALUE."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from sanql.errors import Refused

if TYPE_CHECKING:
    from sanql.parse import Value

_PARAMETER = re.compile(
    r"(?P<name>\w{1,60})(?::(?P<kind>\w+))?=(?P<value>.*)", re.ASCII | re.DOTALL
)
_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})(e[+-]?\d{1,3})?", re.ASCII | re.I)
WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def typed(assignments: Iterable[str]) -> dict[str, Value]:
    """Return values by name, each typed by what its text looks like or by the type named.

    >>> typed(["age=40", "city=Bern", "zip:text=3000", "since:date=2026-01-31"])["zip"]
    '3000'
    """
    values: dict[str, Value] = {}
    for text in assignments:
        match = _PARAMETER.fullmatch(text)
        if match is None:
            raise _unreadable(text)
        if match["name"] in values:
            raise Refused(
                "parameter_twice", f"the parameter {match['name']} is given twice", "give it once"
            )
        values[match["name"]] = _value(match["value"], match["kind"], text)
    return values


def _value(value: str, kind: str | None, text: str) -> Value:
    if kind is not None:
        if kind not in KINDS:
            raise _unreadable(text)
        try:
            return KINDS[kind](value)
        except (ValueError, ArithmeticError, KeyError):
            raise _unreadable(text) from None
    if value.lower() in WORDS:
        return WORDS[value.lower()]
    return _number(value) if _NUMBER.fullmatch(value) else value


def _number(value: str) -> int | Decimal:
    if not _NUMBER.fullmatch(value):
        raise ValueError(value)
    return int(value) if _WHOLE.fullmatch(value) else Decimal(value)


def _boolean(value: str) -> bool | None:
    return WORDS[value.lower()]


KINDS: dict[str, Callable[[str], Value]] = {
    "text": str,
    "number": _number,
    "boolean": _boolean,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}


def _unreadable(text: str) -> Refused:
    return Refused(
        "parameter_invalid",
        f"the parameter {text[:60]!r} cannot be read",
        f"write NAME=VALUE, or NAME:type=VALUE with a type of {', '.join(KINDS)}: "
        "--param age=40 --param since:date=2026-01-31",
    )
