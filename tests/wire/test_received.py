"""Parameters are what a client of PostgreSQL meant by them, sent as text or in binary."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer

from sanql.errors import ServerError
from sanql.question import Type
from sanql.server.wire.received import OID_OF, received, some_value

VALUES: list[tuple[str, st.SearchStrategy[Any]]] = [
    ("truth", st.booleans()),
    ("whole", st.integers(-(2**63), 2**63 - 1)),
    ("real", st.floats(allow_nan=False, allow_infinity=False)),
    ("decimal", st.decimals(allow_nan=False, allow_infinity=False, places=7)
     | st.builds(lambda n, p: Decimal(n).scaleb(p), st.integers(-(10**30), 10**30),
                 st.integers(-30, 30))),
    ("text", st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
    ("date", st.dates()),
    ("timestamp", st.datetimes()),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("form", [PyFormat.TEXT, PyFormat.BINARY])
@pytest.mark.parametrize(("name", "values"), VALUES, ids=[name for name, _ in VALUES])
def test_what_a_client_sends_is_read_as_it_was_meant(
    name: str, values: st.SearchStrategy[Any], form: PyFormat
) -> None:
    @given(values)
    def check(value: Any) -> None:
        client = Transformer()
        (sent,) = client.dump_sequence([value], [form])
        types, formats = client.types or (0,), client.formats or [0]
        assert sent is not None
        found = received(bytes(sent), types[0] or 25, binary=formats[0] == 1, number=1)
        assert found == value and type(found) is type(value)

    check()


@pytest.mark.parametrize(
    ("oid", "sent", "value"),
    [
        (1082, b"2024-02-29 +00", date(2024, 2, 29)),  # as the driver of Java writes a date
        (1082, b"2024-02-29 00:00:00", date(2024, 2, 29)),
        (1114, b"2024-02-29 12:30:01.5+02", datetime(2024, 2, 29, 12, 30, 1, 500000)),
        (1114, b"2024-02-29T12:30", datetime(2024, 2, 29, 12, 30)),
        (1114, b"2024-02-29", datetime(2024, 2, 29)),
        (16, b"TRUE", True),
        (16, b"off", False),
        (20, b" +7 ", 7),
        (1700, b"1e3", Decimal(1000)),
        (0, b"x", "x"),
        (25, None, None),
    ],
)
def test_spellings_that_postgresql_takes_are_taken(
    oid: int, sent: bytes | None, value: object
) -> None:
    assert received(sent, oid, binary=False, number=1) == value


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("oid", [16, 20, 21, 23, 26, 700, 701, 1700, 1082, 1114, 25, 1043, 0])
def test_whatever_else_comes_is_refused_by_number_and_never_quoted(oid: int, binary: bool) -> None:
    @given(st.binary(max_size=40))
    @example(b"1_000")
    @example("１".encode())
    @example(b"9999-99-99")
    @example(b"\xff\xfe")
    @example(b"\x00\x7f\x7f\xff\x00\x00\x00\x00")
    @example(b"\x80\x00\x00\x00\x00\x00\x00\x00")
    @example(b"\x7f\xff\xff\xff")
    def check(sent: bytes) -> None:
        try:
            received(sent, oid, binary=binary, number=3)
        except ServerError as refused:
            assert refused.code == "parameter_malformed" and "$3" in refused.message
            assert "9999" not in refused.message

    check()


def test_long_numbers_take_no_longer_than_others() -> None:
    for oid in (700, 701, 1700, 20, 1082, 1114):
        with pytest.raises(ServerError):
            received(b"1" * 250_000 + b"x", oid, binary=False, number=1)


def test_types_that_no_constant_has_are_refused_by_name() -> None:
    for oid in (1184, 1083, 114, 1007, 17, 600, 2**32 - 1):
        with pytest.raises(ServerError, match=str(oid)):
            received(b"x", oid, binary=False, number=1)


def test_each_type_of_a_question_has_a_value_to_try_it_with() -> None:
    for kind in set(Type) - {Type.NULL}:
        assert some_value(OID_OF[kind]) is not None
