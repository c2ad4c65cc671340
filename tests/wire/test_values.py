"""Values arrive as a client of PostgreSQL reads them, in text and in binary."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import Transformer
from psycopg.pq import Format

from sanql.server.wire.values import NUMERIC, encoded, type_of

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=None) | st.builds(
    lambda whole, places: Decimal(whole).scaleb(-places),
    st.integers(-(10**37), 10**37),
    st.integers(0, 30),
)


def read(content: bytes, oid: int, form: Format) -> Any:
    return Transformer().get_loader(oid, form).load(content)


VALUES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.uint32(), st.integers(0, 2**32 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.decimal128(38, 0), st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal)),
    (pa.uint64(), st.integers(0, 2**64 - 1).map(Decimal)),
    (pa.string(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
    (pa.date32(), st.dates()),
    (pa.time64("us"), st.times()),
    (pa.timestamp("us"), st.datetimes()),
]


@pytest.mark.slow
@pytest.mark.parametrize("form", [Format.TEXT, Format.BINARY])
@pytest.mark.parametrize(("kind", "values"), VALUES, ids=[str(kind) for kind, _ in VALUES])
def test_a_client_reads_what_was_meant(
    kind: pa.DataType, values: st.SearchStrategy[Any], form: Format
) -> None:
    wire = type_of(kind)

    @given(values)
    def check(value: Any) -> None:
        content = encoded(value, wire, binary=form is Format.BINARY)
        assert content is not None
        found = read(content, wire.oid, form)
        assert found == value and type(found) is type(value)

    check()


@given(DECIMALS)
def test_decimals_keep_their_digits(value: Decimal) -> None:
    for form in (Format.TEXT, Format.BINARY):
        content = encoded(value, NUMERIC, binary=form is Format.BINARY)
        assert content is not None
        assert read(content, NUMERIC.oid, form) == value


def test_what_is_no_value_is_null_and_no_number_is_told() -> None:
    assert encoded(None, NUMERIC, binary=True) is None
    for value in (float("nan"), float("inf"), float("-inf")):
        content = encoded(value, type_of(pa.float64()), binary=False)
        assert repr(read(content or b"", 701, Format.TEXT)) == repr(value)
    assert type_of(pa.list_(pa.int64())).name == "text"
    days = [date(1, 1, 1), date(2000, 1, 1), date(9999, 12, 31)]
    for day in days:
        assert (
            read(encoded(day, type_of(pa.date32()), binary=True) or b"", 1082, Format.BINARY) == day
        )
    moment = datetime(1999, 12, 31, 23, 59, 59, 999_999)
    assert (
        encoded(moment, type_of(pa.timestamp("us")), binary=False) == b"1999-12-31 23:59:59.999999"
    )
    assert encoded(time(1, 2), type_of(pa.time64("us")), binary=False) == b"01:02:00"
