"""Values as PostgreSQL writes them: the type of a column of an answer, its text and binary form."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

_EPOCH = date(2000, 1, 1)
_MOMENT = datetime(2000, 1, 1)


@dataclass(frozen=True)
class WireType:
    """A type of PostgreSQL, by its number in the catalogue; `size` is negative where it varies.

    Values of a type that is `written` are bytes that the other side is sent as they are.
    """

    name: str
    oid: int
    size: int
    text: Callable[[Any], str]
    binary: Callable[[Any], bytes]
    written: bool = False


def _float_text(value: float) -> str:
    if value != value:  # noqa: PLR0124  (not a number)
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _microseconds(value: datetime) -> int:
    passed = value.replace(tzinfo=None) - _MOMENT
    return (passed.days * 86_400 + passed.seconds) * 10**6 + passed.microseconds


def _time_of_day(value: time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 10**6 + value.microsecond


def _numeric(value: Decimal) -> bytes:
    """Return a number as groups of four digits, which is how PostgreSQL sends it."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # noqa: S101  (a number that is finite)
    scale = max(0, -exponent)
    whole = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole = whole.rjust(scale + 1, "0")
    before, after = whole[: len(whole) - scale], whole[len(whole) - scale :]
    before = before.lstrip("0")
    before = before.rjust(-(-len(before) // 4) * 4, "0")
    after = after.ljust(-(-len(after) // 4) * 4, "0")
    groups = [
        int((before + after)[place : place + 4]) for place in range(0, len(before + after), 4)
    ]
    weight = len(before) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    weight = weight if groups else 0
    head = struct.pack("!hhHh", len(groups), weight, 0x4000 if sign and groups else 0, scale)
    return head + struct.pack(f"!{len(groups)}h", *groups)


def _packed(form: str) -> Callable[[Any], bytes]:
    packing = struct.Struct(form)
    return packing.pack


BOOL = WireType("bool", 16, 1, lambda v: "t" if v else "f", _packed("!?"))
INT8 = WireType("int8", 20, 8, str, _packed("!q"))
INT4 = WireType("int4", 23, 4, str, _packed("!i"))
TEXT = WireType("text", 25, -1, str, lambda v: str(v).encode())
FLOAT8 = WireType("float8", 701, 8, _float_text, _packed("!d"))
DATE = WireType("date", 1082, 4, date.isoformat, lambda v: struct.pack("!i", (v - _EPOCH).days))
TIME = WireType("time", 1083, 8, time.isoformat, lambda v: struct.pack("!q", _time_of_day(v)))
TIMESTAMP = WireType(
    "timestamp",
    1114,
    8,
    lambda v: v.replace(tzinfo=None).isoformat(" "),
    lambda v: struct.pack("!q", _microseconds(v)),
)
NUMERIC = WireType(
    "numeric",
    1700,
    -1,
    lambda v: f"{Decimal(v):f}",
    lambda v: _numeric(Decimal(v)),
)


def written_type(oid: int, size: int) -> WireType:
    """Return a type whose values have been written by somebody else."""
    return WireType("written", oid, size, str, bytes, written=True)


def type_of(kind: pyarrow.DataType) -> WireType:
    """Return the type of a column of an answer; what PostgreSQL has no type for is text."""
    from pyarrow import types

    if types.is_boolean(kind):
        return BOOL
    if types.is_integer(kind):
        bits = kind.bit_width + types.is_unsigned_integer(kind)  # one more, to be without a sign
        return INT4 if bits <= 32 else INT8 if bits <= 64 else NUMERIC
    if types.is_floating(kind):
        return FLOAT8
    if types.is_decimal(kind):
        return NUMERIC
    if types.is_date(kind):
        return DATE
    if types.is_time(kind):
        return TIME
    if types.is_timestamp(kind):
        return TIMESTAMP
    return TEXT


def encoded(value: object, kind: WireType, *, binary: bool) -> bytes | None:
    """Return a value as it is sent; None is NULL."""
    if value is None:
        return None
    if kind.written:
        return bytes(value)  # type: ignore[call-overload, no-any-return]
    return kind.binary(value) if binary else kind.text(value).encode()
