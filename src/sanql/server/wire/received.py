"""Parameters as PostgreSQL's clients send them: bytes and the number of a type → a value."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sanql.errors import ServerError
from sanql.parse import Value
from sanql.question import Type

UNSAID = (0, 705)
"""The numbers by which a client says that it leaves the type to the server."""

OID_OF = {
    Type.INTEGER: 20,
    Type.REAL: 701,
    Type.TEXT: 25,
    Type.BOOLEAN: 16,
    Type.DATE: 1082,
    Type.TIMESTAMP: 1114,
}
"""The type that a parameter is said to have, where its place in the question tells it."""

_WHOLE = re.compile(r"\s*([+-]?[0-9]{1,40})\s*", re.ASCII)
_NUMBER = re.compile(
    r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?|NaN|[+-]?Infinity)\s*",
    re.ASCII,
)
_DAY = re.compile(r"\s*(\d{4}-\d{2}-\d{2})(?:[ T][0-9:.+-]*)?\s*", re.ASCII)
# a zone behind it is passed over, as PostgreSQL does where a moment has none
_MOMENT = re.compile(
    r"\s*(\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?)"
    r"(?:\s?[+-]\d{2}(?::?\d{2}){0,2}|Z)?\s*",
    re.ASCII,
)
_LETTERS_MAX = 200  # of what is no text
_TRUE = frozenset({"t", "true", "y", "yes", "on", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "off", "0"})
_FIRST_DAY = date(2000, 1, 1)
_FIRST_MOMENT = datetime(2000, 1, 1)
_NOT_A_NUMBER, _INFINITE, _NEGATIVE = 0xC000, (0xD000, 0xF000), 0x4000


@dataclass(frozen=True)
class _Received:
    """How a type is read; `some` is a value of it, to try a question with."""

    name: str
    text: Callable[[str], Value]
    binary: Callable[[bytes], Value]
    some: Value


def received(value: bytes | None, oid: int, *, binary: bool, number: int) -> Value:
    """Return the value of a parameter; ServerError where its type is not known, or it is none of it."""
    kind = _KINDS.get(oid)
    if kind is None:
        raise ServerError(
            "parameter_type_unknown",
            f"parameter ${number} has a type of PostgreSQL (number {oid}) that no constant of San has",
            "pass a number, a text, a truth value, a date or a timestamp without a zone",
        )
    if value is None:
        return None
    try:
        return kind.binary(value) if binary else kind.text(value.decode())
    except (ValueError, ArithmeticError, struct.error):
        raise ServerError(
            "parameter_malformed",
            f"parameter ${number} cannot be read as {kind.name}",
            f"pass a value of that type, or cast it in the question: ${number}::text",
        ) from None


def some_value(oid: int) -> Value:
    """Return a value of a type, in place of one that is not there yet."""
    kind = _KINDS.get(oid)
    return None if kind is None else kind.some


def _matched(form: re.Pattern[str], text: str) -> str:
    found = form.fullmatch(text) if len(text) <= _LETTERS_MAX else None
    if found is None:
        raise ValueError
    return found[1]


def _truth(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError
    return word in _TRUE


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError
    return text


def _numeric(value: bytes) -> Decimal:
    """Return a number that came as groups of four digits."""
    count, weight, sign, _ = struct.unpack_from("!HhHH", value)
    if sign == _NOT_A_NUMBER or sign in _INFINITE:
        return Decimal("NaN")
    groups = struct.unpack(f"!{count}H", value[8:])
    if sign not in (0, _NEGATIVE) or any(group > 9_999 for group in groups) or count > 100:
        raise ValueError
    digits = "".join(f"{group:04}" for group in groups) or "0"
    made = Decimal(f"{digits}E{4 * (weight + 1 - count)}")
    return made.copy_negate() if sign else made  # which rounds nothing


def _unpacked(form: str) -> Callable[[bytes], Any]:
    packing = struct.Struct(form)
    return lambda value: packing.unpack(value)[0]


def _day(value: bytes) -> date:
    return _FIRST_DAY + timedelta(days=struct.unpack("!i", value)[0])


def _moment(value: bytes) -> datetime:
    return _FIRST_MOMENT + timedelta(microseconds=struct.unpack("!q", value)[0])


def _whole(form: str, name: str) -> _Received:
    return _Received(name, lambda text: int(_matched(_WHOLE, text)), _unpacked(form), 1)


def _real(form: str) -> _Received:
    return _Received("number", lambda text: float(_matched(_NUMBER, text)), _unpacked(form), 1.0)


_TEXT = _Received("text", _plain, lambda value: _plain(value.decode()), "")
_KINDS = {
    16: _Received("truth value", _truth, _unpacked("!?"), True),
    20: _whole("!q", "whole number"),
    21: _whole("!h", "whole number"),
    23: _whole("!i", "whole number"),
    26: _whole("!I", "whole number"),
    700: _real("!f"),
    701: _real("!d"),
    1700: _Received("number", lambda t: Decimal(_matched(_NUMBER, t)), _numeric, Decimal(1)),
    1082: _Received("date", lambda t: date.fromisoformat(_matched(_DAY, t)), _day, _FIRST_DAY),
    1114: _Received(
        "timestamp",
        lambda text: datetime.fromisoformat(_matched(_MOMENT, text)),
        _moment,
        _FIRST_MOMENT,
    ),
    **dict.fromkeys((0, 18, 19, 25, 705, 1042, 1043), _TEXT),
}
