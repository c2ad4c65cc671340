"""Every type a Parquet file can have is read whatever its rows hold, or refused by its type alone.

For each type: a file with a normal row and one with the extremes of its bits beside it. Both are
prepared, and the normal row reads the same in both; what does not fit is NULL in its own row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanql.catalog.description import PreparedSource
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.engines.preparation import describe, prepare
from sanql.errors import PolicyError
from sanql.kernel.messages import Statement
from sanql.kernel.stored_types import ColumnType
from sanql.policy.model import Policy

pytestmark = pytest.mark.slow

MakePolicy = Callable[..., Policy]

NUMBERS: tuple[ColumnType, ...] = ("integer", "decimal", "float")
WORDS: tuple[ColumnType, ...] = ("integer", "float", "text")
TIMES: tuple[ColumnType, ...] = ("date", "timestamp")
NOON = dt.datetime(2024, 2, 29, 12)
LONGS = [0, 2**63 - 1, -(2**63), -(2**63) + 1, 2**62, -(2**62), 253402300800 * 10**6]


def bits(kind: pa.DataType, *values: int) -> pa.Array:
    """Return an array whose values have these bits, whether or not the type allows them."""
    width = kind.bit_width // 8
    raw = b"".join(value.to_bytes(width, "little", signed=True) for value in values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(raw)])


def edges(kind: pa.DataType) -> pa.Array:
    """Return the extremes of as many bits as the type has, and their neighbours."""
    top = 2 ** (kind.bit_width - 1)
    return bits(kind, top - 1, -top, 1 - top, top // 2, -1)


def moments(unit: str, zone: str | None) -> tuple[pa.Array, pa.Array]:
    kind = pa.timestamp(unit, zone)
    return pa.array([NOON], kind), pa.array(LONGS, pa.int64()).view(kind)


def broken(kind: pa.DataType) -> pa.Array:
    """Return texts of any layout, most of which are not UTF-8."""
    raw = pa.array([b"\xff\xfe", b"\xc3", b"a\x00b", b"", None, b"\xed\xa0\x80"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 6, raw.buffers(), null_count=1)
    return text if kind == pa.string() else text.cast(kind)


def decimals(kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    return pa.array([Decimal(5)], kind), edges(kind)


# type → (its normal row, its extremes), what it may be declared as
VALUES: dict[str, tuple[tuple[pa.Array, pa.Array], tuple[ColumnType, ...]]] = {
    **{
        f"timestamp {unit} {zone}": (moments(unit, zone), TIMES)
        for unit in ("ms", "us", "ns")
        for zone in (None, "UTC", "America/New_York")
    },
    **{
        str(kind): ((pa.array([5], kind), edges(kind)), (*NUMBERS, "text", "boolean"))
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    },
    **{
        str(kind): (
            (pa.array([5], kind), pa.array([0, 2**kind.bit_width - 1], kind)),
            (*NUMBERS, "text", "boolean"),
        )
        for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    },
    **{
        str(kind): (
            (
                pa.array([5.0], kind),
                pa.array([float("nan"), float("inf"), float("-inf"), -0.0, 6e4, None], kind),
            ),
            NUMBERS,
        )
        for kind in (pa.float16(), pa.float32(), pa.float64())
    },
    **{
        str(kind): (decimals(kind), NUMBERS)
        for kind in (
            pa.decimal128(4, 1), pa.decimal128(38, 0), pa.decimal128(38, 37),
            pa.decimal256(4, 1), pa.decimal256(38, 2), pa.decimal32(4, 1), pa.decimal64(18, 1),
        )
    },
    **{
        str(kind): ((pa.array(["5"], kind), broken(kind)), WORDS)
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    "dictionary": (
        (pa.array(["5"]).dictionary_encode(), broken(pa.string()).dictionary_encode()),
        WORDS,
    ),
    "bool": ((pa.array([True]), pa.array([False, None])), ("boolean",)),
    "date32": ((pa.array([NOON.date()]), edges(pa.int32()).view(pa.date32())), TIMES),
    "date64": (
        (pa.array([NOON.date()], pa.date64()), pa.array(LONGS, pa.int64()).view(pa.date64())),
        TIMES,
    ),
    "null": ((pa.nulls(1), pa.nulls(3)), (*WORDS, *TIMES)),
    "uuid": (
        (
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"5" * 16], pa.binary(16))),
            pa.ExtensionArray.from_storage(
                pa.uuid(), pa.array([b"\xff" * 16, b"\0" * 16, None], pa.binary(16))
            ),
        ),
        ("text",),
    ),
    "json": (
        (
            pa.ExtensionArray.from_storage(pa.json_(), pa.array(["5"])),
            pa.ExtensionArray.from_storage(pa.json_(), broken(pa.string())),
        ),
        WORDS,
    ),
}  # fmt: skip
EXPECTED: dict[ColumnType, tuple[Any, ...]] = {
    "integer": (5, None), "decimal": (5.0, None), "float": (5.0, None),
    "text": ("5", "35353535-3535-3535-3535-353535353535", None), "boolean": (True, None),
    "date": (NOON.date(), None), "timestamp": (NOON, dt.datetime(2024, 2, 29), None),
}  # fmt: skip


def read(source: PreparedSource, policy: Policy, table: str) -> list[dict[str, Any]]:
    columns = ", ".join(f'{sql} AS "{name}"' for name, sql in source.scans[table].items())
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        rows = f"SELECT {columns} FROM {source.relations[table]} ORDER BY 1"
        found = workers.run(Statement(rows))
    return list(found.to_pylist())


def test_extremes_beside_a_normal_row_change_nothing_but_their_own_rows(
    folder: Path, make_policy: MakePolicy
) -> None:
    """All types at once, so that an extreme of one would stop the rows of every other."""
    declared: dict[str, ColumnType] = {}
    plain: dict[str, pa.Array] = {"id": pa.array([0])}
    hostile: dict[str, pa.Array] = {}
    longest = max(len(extremes) for (_, extremes), _ in VALUES.values())
    hostile["id"] = pa.array(range(1 + longest))
    for name, ((normal, extremes), kinds) in VALUES.items():
        filled = pa.concat_arrays([extremes, *[normal] * (longest - len(extremes))])
        for kind in kinds:
            declared[f"{name} {kind}"] = kind
            plain[f"{name} {kind}"] = normal
            hostile[f"{name} {kind}"] = pa.concat_arrays([normal, filled])
    # Small groups and pages, so that rows are decoded apart and together.
    pq.write_table(pa.table(plain), folder / "plain.parquet")
    pq.write_table(pa.table(hostile), folder / "hostile.parquet", row_group_size=3)
    policy = make_policy(dict.fromkeys(("plain", "hostile"), ("id", declared)))
    source = prepare(policy)
    (expected,) = read(source, policy, "plain")
    for name, kind in declared.items():
        assert expected[name] in EXPECTED[kind], name
        assert (expected[name] is None) is name.startswith("null "), name
    found = {row["id"]: row for row in read(source, policy, "hostile")}
    assert len(found) == 1 + longest
    assert found[0] == expected
    for row in found.values():
        for name, value in row.items():
            if isinstance(value, dt.date):
                assert 1 <= value.year <= 9999, name
    milliseconds = "timestamp ms UTC timestamp"
    assert [found[i + 1][milliseconds] for i in range(3)] == [dt.datetime(1970, 1, 1), None, None]


@pytest.mark.parametrize("moment", [None, 2**63 - 1, -(2**63), 10**16])
def test_one_persons_moment_decides_nothing_for_others(
    folder: Path, make_policy: MakePolicy, moment: int | None
) -> None:
    """What Spark, pandas and Java write, with Java's Long.MAX_VALUE for a time that never comes."""
    seen = pa.array([1_709_208_000_000, moment], pa.int64()).view(pa.timestamp("ms", "UTC"))
    pq.write_table(pa.table({"id": [1, 2], "seen": seen}), folder / "t.parquet")
    policy = make_policy({"t": ("id", {"seen": "timestamp"})})
    assert read(prepare(policy), policy, "t")[1]["seen"] is None


REFUSED = {
    "time32": pa.array([dt.time(1)], pa.time32("ms")),
    "time64": pa.array([dt.time(1)], pa.time64("ns")),
    "duration": pa.array([1], pa.duration("s")),
    "binary": pa.array([b"a"], pa.binary()),
    "large binary": pa.array([b"a"], pa.large_binary()),
    "fixed binary": pa.array([b"ab"], pa.binary(2)),
    "wide decimal": pa.array([Decimal(1)], pa.decimal256(60, 2)),
    "list": pa.array([[1]]),
    "struct": pa.array([{"a": 1}]),
    "map": pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())),
    "list of zoned": pa.array([[1]], pa.list_(pa.timestamp("ms", "UTC"))),
}


def test_any_other_type_is_refused_by_name_and_hinders_no_other_column(
    folder: Path, make_policy: MakePolicy
) -> None:
    pq.write_table(pa.table({"id": [1], **REFUSED}), folder / "t.parquet")
    declared: dict[str, ColumnType] = dict.fromkeys(REFUSED, "text")
    with pytest.raises(PolicyError) as caught:
        describe(make_policy({"t": ("id", declared)}))
    assert [fault.place for fault in caught.value.faults] == [
        f"table.t.column.{name}" for name in REFUSED
    ]
    policy = make_policy({"t": ("id", {})})
    assert read(prepare(policy), policy, "t") == [{"id": 1}]


def test_a_unit_of_any_type_keeps_every_two_values_apart(
    folder: Path, make_policy: MakePolicy
) -> None:
    """As many units come out as went in, but for NULL and what no engine can hold."""
    units = {
        "ms": pa.array([0, 1, 1000, -1], pa.int64()).view(pa.timestamp("ms", "UTC")),
        "us": pa.array([0, 1, 1000, -1], pa.int64()).view(pa.timestamp("us")),
        "ns": pa.array(LONGS, pa.int64()).view(pa.timestamp("ns")),
        "zoned_ns": pa.array([0, 1, 1000, -1], pa.int64()).view(pa.timestamp("ns", "UTC")),
        "days": pa.array([0, 1, -1], pa.int32()).view(pa.date32()),
        "decimals": pa.array([Decimal(1), Decimal("1.1")], pa.decimal256(38, 37)),
        "uuids": VALUES["uuid"][0][1].drop_null(),
        "bytes": pa.array([b"a", b"a\0", b""], pa.binary()),
        "wide_bytes": pa.array([b"\xff", b"a\0", b""], pa.large_binary()),
        "words": pa.array(["a", "A", "a ", ""], pa.string_view()),
        "large": pa.array([2**64 - 1, 2**64 - 2], pa.uint64()),
    }
    for name, values in units.items():
        pq.write_table(pa.table({"u": values}), folder / f"{name}.parquet")
    policy = make_policy(dict.fromkeys(units, ("u", {})))
    source = prepare(policy)
    for name, values in units.items():
        with Pool(source, policy.engine, WorkerEngine()) as workers:
            (row,) = workers.run(
                Statement(f"SELECT count(DISTINCT {source.scans[name]['u']}) AS n "
                f"FROM {source.relations[name]}"),
            ).to_pylist()  # fmt: skip
        assert row["n"] == len(values), name


def test_old_96_bit_moments_are_read_to_the_microsecond_and_are_no_unit(
    folder: Path, make_policy: MakePolicy
) -> None:
    """What Impala and old Spark write: in nanoseconds, the year 9999 would wrap around."""
    late = dt.datetime(9999, 12, 31, 23, 59, 59)
    moments = pa.array([NOON, late, None], pa.timestamp("us"))
    pq.write_table(
        pa.table({"id": [1, 2, 3], "seen": moments}),
        folder / "t.parquet",
        use_deprecated_int96_timestamps=True,
    )
    policy = make_policy({"t": ("id", {"seen": "timestamp"})})
    assert [row["seen"] for row in read(prepare(policy), policy, "t")] == [NOON, late, None]
    with pytest.raises(PolicyError, match="INT96"):
        describe(make_policy({"t": ("seen", {})}))


def test_what_a_file_says_about_its_fields_makes_no_type_that_can_fail(
    folder: Path, make_policy: MakePolicy
) -> None:
    """A name of an extension that DuckDB knows would have it parse every value."""
    said = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": "{}"}
    fields = [pa.field("id", pa.int64()), pa.field("shape", pa.string(), metadata=said)]
    table = pa.table({"id": [1], "shape": ["no shape"]}, schema=pa.schema(fields))
    pq.write_table(table, folder / "t.parquet")
    policy = make_policy({"t": ("id", {"shape": "text"})})
    assert read(prepare(policy), policy, "t") == [{"id": 1, "shape": "no shape"}]


def test_a_zoned_moment_is_read_in_utc_and_does_not_depend_on_the_machine(
    folder: Path, make_policy: MakePolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    zoned = pa.array([NOON], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"id": [1], "seen": zoned}), folder / "t.parquet")
    policy = make_policy({"t": ("id", {"seen": "timestamp"})})
    assert read(prepare(policy), policy, "t") == [{"id": 1, "seen": NOON}]
