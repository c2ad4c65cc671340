"""Pairs of stored values that are, or might be taken for, one value: by storage and by declared type.

A pair is `alike` where San reads one value from both; otherwise both stay apart in everything. Types of
which no value may be read as anything are in `REFUSED`.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from sanql.kernel.stored_types import ColumnType


@dataclass(frozen=True)
class Pair:
    """Two stored values, and whether San reads one value from both.

    Of a database they are SQL, of a CSV file what stands between two commas, of Parquet arrays of one
    value; these may have two types, in parts of a table that were written differently.
    """

    values: tuple[str, str] | tuple[pa.Array, pa.Array]
    alike: bool


@dataclass(frozen=True)
class Pairs:
    """The pairs of one stored type, for one type that a policy may declare for it."""

    stored: str
    declared: ColumnType
    pairs: tuple[Pair, ...]


# decimals are read as reals are, by the same expressions
REALS: tuple[ColumnType, ...] = ("float",)
NUMBERS: tuple[ColumnType, ...] = ("float", "integer")
TIMES: tuple[ColumnType, ...] = ("timestamp", "date")


def _bits(kind: pa.DataType, *patterns: bytes) -> pa.Array:
    return pa.Array.from_buffers(kind, len(patterns), [None, pa.py_buffer(b"".join(patterns))])


# stored type, what it is declared as, the pair, whether it is read as one value
_DATABASE: list[tuple[str, tuple[ColumnType, ...], str, str, bool]] = [
    ("DOUBLE", (*NUMBERS, "decimal"), "0e0", "-(0e0::DOUBLE)", True),
    ("FLOAT", NUMBERS, "0e0", "-(0e0::FLOAT)", True),
    ("DOUBLE", REALS, "'nan'", "'-nan'", True),
    ("FLOAT", REALS, "'nan'", "'-nan'", True),
    ("DOUBLE", ("integer",), "'nan'", "'-inf'", True),
    ("DOUBLE", ("integer",), "2.4e0", "1.6e0", True),
    ("DOUBLE", REALS, "'inf'", "'-inf'", True),
    ("DECIMAL(3,1)", (*NUMBERS,), "1.0", "1.00", True),
    ("DECIMAL(38,20)", REALS, "0.1", "0.10000000000000000001", True),
    ("DECIMAL(18,3)", ("integer",), "1.000", "1.004", True),
    ("BIGINT", REALS, "9007199254740992", "9007199254740993", True),
    ("HUGEINT", REALS, "9007199254740992", "9007199254740993", True),
    ("HUGEINT", ("integer", "text"), "1", "170141183460469231731687303715884105727", False),
    ("HUGEINT", ("integer",), "170141183460469231731687303715884105727",
     "-170141183460469231731687303715884105728", True),
    ("UBIGINT", ("integer",), "18446744073709551615", "9223372036854775808", True),
    ("UHUGEINT", ("integer", "text"), "5", "340282366920938463463374607431768211455", False),
    ("UTINYINT", (*NUMBERS, "boolean", "text"), "1", "1::BIGINT", True),
    ("UBIGINT", (*REALS, "boolean", "text"), "1", "1::HUGEINT", True),
    ("HUGEINT", ("boolean",), "1", "-1", True),
    ("UHUGEINT", (*REALS, "boolean"), "1", "1::BIGINT", True),
    ("TINYINT", ("boolean",), "1", "-1", True),
    ("BIGINT", ("boolean",), "1", "2", True),
    ("BOOLEAN", ("boolean", "text"), "true", "2::BOOLEAN", True),
    ("DATE", TIMES, "'2024-02-29'", "'2024-02-29 00:00:00'::TIMESTAMP", True),
    ("DATE", TIMES, "'infinity'", "'-infinity'", True),
    ("TIMESTAMP", ("date",), "'2024-02-29'", "'2024-02-29 23:59:59.999999'", True),
    ("TIMESTAMP", TIMES, "'infinity'", "'-infinity'", True),
    ("TIMESTAMP_S", TIMES, "'2024-02-29 12:00:00'", "'2024-02-29 12:00:00.4'::TIMESTAMP", True),
    ("TIMESTAMP_MS", TIMES, "'2024-02-29 12:00:00'", "'2024-02-29 12:00:00.0004'::TIMESTAMP", True),
    ("TIMESTAMP_NS", TIMES, "'2024-02-29 12:00:00.000001000'", "'2024-02-29 12:00:00.000001400'",
     True),
    ("TIMESTAMP WITH TIME ZONE", TIMES, "'2024-02-29 12:00:00+00'", "'2024-02-29 13:00:00+01'",
     True),
    ("TIMESTAMP WITH TIME ZONE", ("date",), "'2024-02-29 00:00:00+00'", "'2024-02-29 23:30:00+00'",
     True),
    ("VARCHAR", ("text",), "'Z\u00fcrich'", "'Zu\u0308rich'", False),
    ("VARCHAR", ("text",), "'abc'", "'ABC'", False),
    ("VARCHAR", ("text",), "'abc'", "'abc '", False),
    ("VARCHAR", ("text",), "'abc'", "'abc' || chr(0)", False),
    ("VARCHAR", ("text",), "''", "chr(0)", False),
    ("VARCHAR", ("text",), "''", "NULL", False),
    ("VARCHAR", ("text",), "'stra\u00dfe'", "'strasse'", False),
    ("VARCHAR", ("text",), "'\u212b'", "'\u00c5'", False),
    ("VARCHAR", ("text",), "repeat('a', 4096)", "repeat('a', 4096) || 'b'", True),
    ("VARCHAR", REALS, "'0'", "'-0e5'", True),
    ("VARCHAR", REALS, "'nan'", "'-NaN'", True),
    ("VARCHAR", ("float", "decimal", "integer"), "'1.0'", "'1.00'", True),
    ("VARCHAR", ("integer",), "'1'", "' +01 '", True),
    ("VARCHAR", ("boolean",), "'true'", "'T'", True),
    ("VARCHAR", ("timestamp",), "'2024-02-29 12:00:00'", "'2024-02-29T12:00:00Z'", True),
    ("VARCHAR", ("timestamp",), "'2024-02-29 12:00:00.1234561'", "'2024-02-29 12:00:00.123456'",
     True),
    ("VARCHAR", ("date",), "'2024-02-29'", "' 2024-2-29 '", True),
    ("UUID", ("text",), "'aaaaaaaa-0000-4000-8000-00000000000f'",
     "'{AAAAAAAA-0000-4000-8000-00000000000F}'", True),
    ("VARCHAR", ("text",), "'aaaaaaaa-0000-4000-8000-00000000000f'",
     "'AAAAAAAA-0000-4000-8000-00000000000F'", False),
    ("ENUM('zoe', 'amy', 'Amy')", ("text",), "'amy'", "'amy'::VARCHAR", True),
    ("ENUM('zoe', 'amy', 'Amy')", ("text",), "'amy'", "'Amy'", False),
]  # fmt: skip

_CSV: list[tuple[tuple[ColumnType, ...], str, str, bool]] = [
    (NUMBERS, "0", "-0", True),
    (REALS, "0", "-0.0e-7", True),
    (REALS, "0", "-1e-400", True),
    (REALS, "nan", "-nan", True),
    (REALS, "nan", "NaN", True),
    (REALS, "1e400", "inf", True),
    (REALS, "inf", "-inf", True),
    (NUMBERS, "1.0", "1.00", True),
    (NUMBERS, "1", " +01 ", True),
    (NUMBERS, "1", '"1"', True),
    (NUMBERS, "1000", "1_000", True),
    (REALS, "0.1", "0.1000000000000000055511151231257827", True),
    (("integer",), "1", "1.4", True),
    (("integer",), "9223372036854775807", "9223372036854775808", False),
    (("integer",), "99999999999999999999", "none", True),
    (("boolean",), "true", "TRUE", True),
    (("boolean",), "true", "t", True),
    (("boolean",), "true", "1", True),
    (("boolean",), "true", "yes", True),
    (("boolean",), "false", "n", True),
    (("boolean",), "on", "none", True),
    (("timestamp",), "2024-02-29 12:00:00", "2024-02-29T12:00:00Z", True),
    (("timestamp",), "2024-02-29 12:00:00.123456", "2024-02-29 12:00:00.1234569", True),
    (("timestamp", "date"), "2024-02-29", "2024-02-29 00:00:00", True),
    (("date",), "2024-02-29", "2024-2-29", True),
    (TIMES, "infinity", "someday", True),
    (("timestamp",), "2024-02-29 12:00:00", "2024-02-29 12:00:00+01", True),
    (("text",), "abc", '"abc"', True),
    (("text",), "abc", "ABC", False),
    (("text",), "abc", "abc ", False),
    (("text",), "Z\u00fcrich", "Zu\u0308rich", False),
    (("text",), "1.0", "1.00", False),
    (("text",), "AAAAAAAA-0000-4000-8000-00000000000F", "aaaaaaaa-0000-4000-8000-00000000000f",
     False),
]  # fmt: skip


# what data frames have columns of, with rows that have no value; pandas makes objects of the rest
_FRAMED = (
    "double double",
    "float float",
    "timestamp[us] timestamp[ns, tz=+09:00]",
    "string large_string",
)
_Stored = tuple[tuple[ColumnType, ...], pa.Array, pa.Array, bool]


def _reals() -> Iterator[_Stored]:
    for kind, form in ((pa.float64(), "<d"), (pa.float32(), "<f"), (pa.float16(), "<e")):
        one, other = struct.pack(form, 0.0), struct.pack(form, -0.0)
        yield NUMBERS, _bits(kind, one), _bits(kind, other), True
    quiet = _bits(pa.float64(), struct.pack("<Q", 0x7FF8_0000_0000_0000))
    for pattern in (0xFFF8_0000_0000_BEEF, 0x7FF0_0000_0000_0001, 0x7FF0_0000_0000_0000):
        yield REALS, quiet, _bits(pa.float64(), struct.pack("<Q", pattern)), True
    yield REALS, pa.array([0.5]), pa.array([0.5], pa.float32()), True
    yield REALS, pa.array([0.0]), _bits(pa.float32(), struct.pack("<f", -0.0)), True


def _exact_numbers() -> Iterator[_Stored]:
    one = Decimal("1.5")
    wide = pa.array([one], pa.decimal128(20, 4))
    for kind in (pa.decimal32(5, 2), pa.decimal64(12, 1), pa.decimal256(38, 30)):
        yield NUMBERS, wide, pa.array([one], kind), True
    near = Decimal("0.10000000000000000001")
    fine = pa.decimal128(38, 20)
    yield REALS, pa.array([Decimal("0.1")], fine), pa.array([near], fine), True
    yield REALS, pa.array([Decimal("0.5")], fine), pa.array([0.5]), True
    yield NUMBERS, pa.array([7], pa.int8()), pa.array([7], pa.uint64()), True
    yield ("text",), pa.array([7], pa.int8()), pa.array(["7"]), True
    yield ("boolean",), pa.array([1], pa.int8()), pa.array([200], pa.uint8()), True
    yield ("boolean",), pa.array([True]), pa.array([-1], pa.int32()), True
    yield ("integer",), pa.array([2**64 - 1], pa.uint64()), pa.array([2**63], pa.uint64()), True
    yield REALS, pa.array([2**53]), pa.array([2**53 + 1]), True


def _moments() -> Iterator[_Stored]:
    noon = pa.array([dt.datetime(2024, 2, 29, 12)], pa.timestamp("us"))
    zoned = noon.cast(pa.timestamp("ms")).view(pa.timestamp("ms", "America/New_York"))
    yield TIMES, noon, zoned, True
    yield TIMES, noon.view(pa.timestamp("us", "UTC")), zoned, True
    yield TIMES, noon, noon.cast(pa.timestamp("ns")).view(pa.timestamp("ns", "+09:00")), True
    midnight = pa.array([dt.datetime(2024, 2, 29)], pa.timestamp("us"))
    yield TIMES, pa.array([dt.date(2024, 2, 29)]), midnight, True
    yield ("date",), midnight, noon, True
    count = pa.array([10**18, 10**18 + 400], pa.int64()).view(pa.timestamp("ns"))
    yield TIMES, count[:1], count[1:], True
    beyond = pa.array([2**63 - 1, -(2**63)], pa.int64()).view(pa.timestamp("ms"))
    yield TIMES, beyond[:1], beyond[1:], True
    days = pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32())
    yield TIMES, days[:1], days[1:], True


def _words() -> Iterator[_Stored]:
    for one, other in (
        ("Z\u00fcrich", "Zu\u0308rich"), ("abc", "ABC"), ("abc", "abc "), ("abc", "abc\0"),
        ("aaaaaaaa-0000-4000-8000-00000000000f", "AAAAAAAA-0000-4000-8000-00000000000F"),
    ):  # fmt: skip
        yield ("text",), pa.array([one]), pa.array([other]), False
    amy = pa.array(["amy"])
    yield ("text",), amy, amy.dictionary_encode(), True
    yield ("text",), amy, pa.array(["amy"], pa.large_string()), True
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["amy", "amy"]))
    yield ("text",), twice[:1], twice[1:], True
    broken = pa.array([b"\xff\xfe", b"\xc3"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 2, broken.buffers())
    yield ("text",), text[:1], text[1:], True
    yield NUMBERS, pa.array(["1.0"]), pa.array(["1.00"]), True
    yield REALS, pa.array(["0"]), pa.array(["-0e3"]), True


# stored types of a database of which no value may be read as anything
REFUSED = (
    "INTERVAL", "TIME", "TIME WITH TIME ZONE", "BLOB", "BIT", "BIGNUM", "JSON",
    "DOUBLE[]", "DOUBLE[2]", "STRUCT(x DOUBLE)", "MAP(VARCHAR, DOUBLE)", "UNION(x DOUBLE, y VARCHAR)",
)  # fmt: skip


def of_database() -> list[Pairs]:
    """Return the pairs of a database file: their values are SQL of the stored type."""
    listed = (
        (stored, declared, Pair((one, other), alike))
        for stored, kinds, one, other, alike in _DATABASE
        for declared in kinds
    )
    return _by_type(listed)


def of_csv() -> list[Pairs]:
    """Return the pairs of a CSV file: what stands between two commas."""
    listed = (
        ("CSV", declared, Pair((one, other), alike))
        for kinds, one, other, alike in _CSV
        for declared in kinds
    )
    return _by_type(listed)


def of_parquet() -> list[Pairs]:
    """Return the pairs of Parquet files, the second value of each in parts of its own."""
    found = [*_reals(), *_exact_numbers(), *_moments(), *_words()]
    listed = (
        (f"{one.type} {other.type}", declared, Pair((one, other), alike))
        for kinds, one, other, alike in found
        for declared in kinds
    )
    return _by_type(listed)


def of_frames() -> list[Pairs]:
    """Return the pairs of Parquet files that data frames can be written to."""
    return [column for column in of_parquet() if column.stored in _FRAMED]


def _by_type(listed: Iterable[tuple[str, ColumnType, Pair]]) -> list[Pairs]:
    columns: dict[tuple[str, ColumnType], list[Pair]] = {}
    for stored, declared, pair in listed:
        columns.setdefault((stored, declared), []).append(pair)
    return [Pairs(*kind, tuple(pairs)) for kind, pairs in columns.items()]
