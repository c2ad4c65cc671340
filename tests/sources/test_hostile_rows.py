"""No row, whatever it holds, makes preparing or reading a source fail, or changes other rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanql.catalog.description import PreparedSource
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.engines.preparation import prepare
from sanql.kernel.messages import Statement
from sanql.kernel.stored_types import CANONICAL, ColumnType, convert, identify_unit
from sanql.policy.model import Policy

MakePolicy = Callable[..., Policy]

TYPED = {
    "person_id": "integer",
    "age": "integer",
    "income": "decimal",
    "city": "text",
    "member": "boolean",
    "born": "date",
    "seen": "timestamp",
}
HEADER = b"person_id,age,income,city,member,born,seen\n"
HONEST = [
    b"1,30,10.5,Bonn,true,1990-01-02,2024-01-02 03:04:05\n",
    b"2,40,20.5,Ulm,false,1980-01-02,2024-01-02 03:04:06\n",
    b'3,50,30.5,"Bad ""Ems"", near",true,1970-01-02,2024-01-02 03:04:07\n',
]
HOSTILE = {
    "words for numbers": b"9,Alice,Bob,Carol,maybe,someday,never\n",
    "not numbers": b"9,nan,nan,nan,nan,nan,nan\n",
    "infinite": b"9,inf,-inf,inf,inf,infinity,-infinity\n",
    "huge": b"9,99999999999999999999,1e999,x,2,99999999-01-01,290000-01-01 00:00:00\n",
    "short": b"9,1\n",
    "long": b"9,1,2,x,true,2000-01-01,2000-01-01 00:00:00,more,and,more\n",
    "stray quotes": b'9,1,2,a"b"c,true,2000-01-01,"2000-01-01" 00:00\n',
    "text after quotes": b'9,1,2,"abc"def,true,2000-01-01,2000-01-01\n',
    "not utf-8": b"9,1,2,\xff\xfe\xc3,true,2000-01-01,2000-01-01\n",
    "nul": b"9,\x00,2,a\x00b,true,2000-01-01,2000-01-01\n",
    "quoted newlines": b'9,1,2,"a\nb\r\nc",true,2000-01-01,2000-01-01\n',
    "carriage return": b"9,1,2,a\rb,true,2000-01-01,2000-01-01\n",
    "carriage returns at the end": b"9,1,2,a,true,2000-01-01,2000-01-01\r\r\n",
    "carriage return in the number": b"9\r,1\r,2\r,a,true,2000-01-01,2000-01-01\n",
    "carriage returns alone": b"\r\r\r\n",
    "empty": b"\n\n,,,,,,\n",
    "other delimiters": b"9;1;2;x;true;2000-01-01;2000\n9\t1\t2\n",
    "field of 5 MB": b"9,1,2," + b"x" * 5_000_000 + b",true,2000-01-01,2000-01-01\n",
    "commands": b"9,1,2,'); DROP TABLE people; --,true,2000-01-01,2000-01-01\n",
    "backslashes": b'9,1,2,\\"\\,true,2000-01-01,2000-01-01\n',
    "byte order mark": b"\xef\xbb\xbf9,1,2,x,true,2000-01-01,2000-01-01\n",
}


def read(source: PreparedSource, policy: Policy) -> dict[str, list[dict[str, Any]]]:
    """Return every table's rows as their scans yield them."""
    statements = {}
    for table, scans in source.scans.items():
        columns = ", ".join(f'{sql} AS "{name}"' for name, sql in scans.items())
        statements[table] = f"SELECT {columns} FROM {source.relations[table]}"
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        return {table: workers.run(Statement(sql)).to_pylist() for table, sql in statements.items()}


@pytest.mark.slow
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_hostile_csv_row_neither_fails_nor_touches_its_neighbours(
    folder: Path, make_policy: MakePolicy, end: bytes
) -> None:
    """The honest rows read the same beside each hostile one, and beside all of them."""
    files = {"none": b"", **HOSTILE, "all": b"".join(HOSTILE.values())}
    for name, row in files.items():
        rows = (HEADER, HONEST[0], row, HONEST[1], row, HONEST[2])
        text = b"".join(each[:-1] + end if each[-1:] == b"\n" else each for each in rows)
        (folder / f"{name}.csv").write_bytes(text)
    policy = make_policy(dict.fromkeys(files, ("person_id", TYPED)))
    tables = read(prepare(policy), policy)
    honest = {
        name: sorted(tuple(row.values()) for row in rows if row["person_id"] in (1, 2, 3))
        for name, rows in tables.items()
    }
    expected = honest["none"]
    assert len(expected) == len(tables["none"]) == 3
    assert expected[2][3] == 'Bad "Ems", near'
    assert honest == dict.fromkeys(files, expected)


@pytest.mark.slow
def test_random_bytes_below_a_csv_header_are_always_prepared(
    folder: Path, make_policy: MakePolicy
) -> None:
    """Many parts of one table, each a different heap of the characters that mean something."""
    random_source = random.Random(20240229)
    alphabet = [b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"a", b"1", b"\\", b"'", b"#", b"\xc3"]
    parts = folder / "people"
    parts.mkdir()
    for number in range(300):
        body = b"".join(random_source.choices(alphabet, k=random_source.randrange(400)))
        (parts / f"{number:04}.csv").write_bytes(HEADER + body)
    policy = make_policy({"people": ("person_id", TYPED)})
    read(prepare(policy), policy)


@pytest.mark.slow
def test_hostile_parquet_values_are_read_as_null_or_as_they_are(
    folder: Path, make_policy: MakePolicy
) -> None:
    """Text that is not UTF-8 and times nobody can hold, which DuckDB's own reader stops at."""
    extremes = pa.array([0, 2**63 - 1, -(2**63), -(2**63) + 1, 2**62], pa.int64())
    text = pa.array([b"ok", b"\xff\xfe", b"\xc3", b"a\x00b", b""], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 5, [None, *text.buffers()[1:]])
    pq.write_table(
        pa.table(
            {
                "person_id": broken,
                "age": pa.array([1.0, float("nan"), float("inf"), -1e300, 2.5]),
                "income": pa.array([0.5, float("nan"), float("inf"), float("-inf"), -0.0]),
                "city": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4]), broken),
                "member": pa.array([True, None, False, True, None]),
                "born": extremes.cast(pa.timestamp("ms")),
                "seen": extremes.cast(pa.timestamp("us")),
            }
        ),
        folder / "people.parquet",
    )
    columns = {name: type_ for name, type_ in TYPED.items() if name != "person_id"}
    policy = make_policy({"people": ("person_id", columns)})
    kept = read(prepare(policy), policy)["people"]
    assert sorted(row["person_id"] for row in kept) == ["", "a\x00b", "ok"], "others are nobody"
    policy = make_policy({"people": ("row", columns | {"person_id": "text"})})
    rows = read(prepare(policy), policy)["people"]
    assert [row["person_id"] for row in rows] == ["ok", None, None, "a\x00b", ""]
    assert [row["city"] for row in rows] == ["ok", None, None, "a\x00b", ""]
    assert [row["age"] for row in rows] == [1, None, None, None, 2]
    assert [row["born"] is None for row in rows] == [False, True, True, True, True]
    assert [row["seen"] is None for row in rows] == [False, True, True, True, True]


EXTREMES = {
    **{
        name: [f"'{low}'::{name}", f"'{high}'::{name}", f"0::{name}", "NULL"]
        for name, low, high in (
            ("TINYINT", -(2**7), 2**7 - 1),
            ("SMALLINT", -(2**15), 2**15 - 1),
            ("INTEGER", -(2**31), 2**31 - 1),
            ("BIGINT", -(2**63), 2**63 - 1),
            ("HUGEINT", -(2**127), 2**127 - 1),
            ("UTINYINT", 0, 2**8 - 1),
            ("USMALLINT", 0, 2**16 - 1),
            ("UINTEGER", 0, 2**32 - 1),
            ("UBIGINT", 0, 2**64 - 1),
            ("UHUGEINT", 0, 2**128 - 1),
            ("DECIMAL(38,0)", "-" + "9" * 38, "9" * 38),
            ("DECIMAL(18,18)", "-0." + "9" * 18, "0." + "9" * 18),
            ("DECIMAL(4,1)", "-999.9", "999.9"),
        )
    },
    **{
        name: [f"'{text}'::{name}" for text in ("nan", "inf", "-inf", "-0.0", "1e-45", "3e38")]
        for name in ("FLOAT", "DOUBLE")
    },
    "BOOLEAN": ["true", "false", "NULL"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'::UUID"],
    "VARCHAR": [
        f"'{text}'"
        for text in (
            *("", " ", "Alice", "nan", "inf", "1e999", "-1e999", "9" * 400, "0x7f", "1_0"),
            *("infinity", "-infinity", "2024-02-30", "99999999-01-01", "5881580-07-11"),
            *("290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775807", "epoch"),
            *("2024-01-01 24:00:00", "2024-01-01 00:00:00+99", "2024-01-01T00:00:00Z", "t"),
        )
    ],
    "ENUM('a', '2')": ["'a'", "'2'"],
    "DATE": [
        f"'{text}'::DATE"
        for text in ("infinity", "-infinity", "5877642-06-25 (BC)", "5881580-07-10", "2024-02-29")
    ],
    "TIMESTAMP": [
        f"'{text}'::TIMESTAMP"
        for text in ("infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54")
    ],
    "TIMESTAMP WITH TIME ZONE": [
        f"'{text}'::TIMESTAMPTZ"
        for text in ("infinity", "-infinity", "294247-01-10 04:00:54+00", "2024-02-29 23:59:59-12")
    ],
    "BLOB": [r"'\xff\x00'::BLOB", "''::BLOB"],
    "TIMESTAMP_NS": ["'infinity'::TIMESTAMP_NS", "'2262-04-11 23:47:16.854775806'::TIMESTAMP_NS"],
}


@pytest.mark.slow
def test_every_stored_type_at_its_extremes_converts_to_every_type_it_may(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    path = tmp_path / "people.duckdb"
    seconds = pa.array([0, 2**63 - 1, -(2**63), -(2**63) + 1, 2**62], pa.int64())
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people (id BIGINT)")
        names = {}
        for number, (physical, values) in enumerate(EXTREMES.items()):
            names[f"c{number}"] = physical
            connection.execute(f"ALTER TABLE people ADD COLUMN c{number} {physical}")
            for value in values:
                connection.execute(f"INSERT INTO people (c{number}) VALUES ({value})")
        for unit in ("s", "ms", "us", "ns"):
            arrow = pa.table({"v": seconds.cast(pa.timestamp(unit))})
            physical = {"us": "TIMESTAMP"}.get(unit, f"TIMESTAMP_{unit.upper()}")
            names[f"t{unit}"] = physical
            connection.execute(f"ALTER TABLE people ADD COLUMN t{unit} {physical}")
            connection.execute(f"INSERT INTO people (t{unit}) SELECT v FROM arrow")
        raw = pa.array([0, 2**31 - 1, -(2**31), 1 - 2**31, 2**30], pa.int32()).view(pa.date32())
        for name, physical, values in (
            ("days", "DATE", raw),
            ("zoned", "TIMESTAMP WITH TIME ZONE", seconds.cast(pa.timestamp("us", "UTC"))),
        ):
            arrow = pa.table({"v": values})  # noqa: F841  (scanned below)
            names[name] = physical
            connection.execute(f"ALTER TABLE people ADD COLUMN {name} {physical}")
            connection.execute(f"INSERT INTO people ({name}) SELECT v FROM arrow")
    tried = 0
    kinds: list[ColumnType] = list(CANONICAL)
    with Pool(
        prepare(make_policy({"people": ("id", {})}, path.name)),
        make_policy({}).engine,
        WorkerEngine(),
    ) as workers:
        for kind in kinds:
            for name, physical in names.items():
                expression = convert(f'"{name}"', physical, kind)
                if expression is None:
                    continue
                tried += 1
                found = workers.run(
                    Statement(
                        f"SELECT typeof(v) AS kind, count(v) AS n, max(v) AS most FROM "
                        f"(SELECT {expression} AS v FROM data.main.people) GROUP BY 1"
                    ),
                ).to_pylist()
                assert [row["kind"] for row in found] == [CANONICAL[kind]], (physical, kind)
    assert tried > 80


UNREADABLE = {
    "ARRAY", "BIGNUM", "BIT", "GEOMETRY", "INTERVAL", "LIST", "MAP", "NULL", "STRUCT", "TIME",
    "TIME WITH TIME ZONE", "TIMESTAMPTZ_NS", "TIME_NS", "TUPLE", "TYPE", "UNION", "VARIANT",
}  # fmt: skip


def test_every_type_of_the_engine_is_tried_at_its_extremes_or_refused_by_name() -> None:
    """A type that a later engine adds is refused until it stands in one of the two lists."""
    with duckdb.connect() as connection:
        listed = connection.execute("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()
    tried = {physical.split("(")[0] for physical in EXTREMES} | {"TIMESTAMP_S", "TIMESTAMP_MS"}
    kinds: list[ColumnType] = list(CANONICAL)
    for (physical,) in listed:
        readable = [kind for kind in kinds if convert("x", physical, kind) is not None]
        identifying = identify_unit("x", physical, None) is not None
        assert (physical in tried) is bool(readable or identifying), physical
        assert (physical in UNREADABLE) is not (physical in tried), physical
    for nested in ("INTEGER[]", "INTEGER[3]", "VARCHAR[]", "STRUCT(a INTEGER)", "DATE[]"):
        assert not any(convert("x", nested, kind) for kind in kinds)
        assert identify_unit("x", nested, None) is None


@pytest.mark.slow
def test_a_zoned_moment_in_a_database_is_read_in_utc(
    tmp_path: Path, make_policy: MakePolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 1 AS id, TIMESTAMPTZ '2024-01-01 00:30+00' AS x"
        )
        connection.execute("ALTER TABLE t ADD COLUMN y TIMESTAMPTZ")
        connection.execute("UPDATE t SET y = x")
    policy = make_policy({"t": ("id", {"x": "timestamp", "y": "date"})}, "d.duckdb")
    ((row,),) = read(prepare(policy), policy).values()
    assert (str(row["x"]), str(row["y"])) == ("2024-01-01 00:30:00", "2024-01-01")
