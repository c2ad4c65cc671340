"""One person's long texts in a DuckDB file keep nobody else from being counted.

The engine reads 2,048 texts at a time. Two hundred of 690 kB, a few kilobytes when compressed, do not
fit into memory with what is made of them. A database that has such texts is read from a copy of what
counts of them: 4,096 bytes each.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import sanql
from sanql.catalog.description import PreparedSource
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.engines.preparation import describe, prepare
from sanql.errors import PolicyError
from sanql.kernel.long_texts import _ranges, _Texts
from sanql.kernel.messages import Statement
from sanql.policy.model import EngineLimits, Policy
from support.policies import dataset
from support.volume import few_of

MakePolicy = Callable[..., Policy]
Cells = Counter[tuple[object, ...]]

SMALL = EngineLimits(256 * 10**6, 60.0, 1)  # the least memory that a policy may declare
ROWS = 200
READ = "€" * 1_365  # three bytes each: one more would be beyond 4,096
OTHERS = "SELECT i AS id, 'note ' || i AS note FROM range(200) r(i)"
LONG = f"SELECT 5000 AS id, repeat('€', 230000) || i AS note FROM range({ROWS}) r(i)"
EVERYBODY_ELSE: Cells = Counter([(i, f"note {i}") for i in range(200)])


def written(path: Path, *statements: str, forced: str = "auto", version: str = "latest") -> None:
    """Write a database, one statement after the other, and close it."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH '{path}' AS d (STORAGE_VERSION '{version}')")
        connection.execute(f"USE d; SET threads = 1; SET force_compression = '{forced}'")
        for statement in statements:
            connection.execute(statement)


def cells(policy: Policy, source: PreparedSource | None = None) -> Cells:
    """Return how often what is read of each row is in the only table."""
    source = source or prepare(policy)
    (table,) = policy.tables
    stored = ", ".join(f'{sql} AS "{name}"' for name, sql in source.scans[table].items())
    relation = source.relations[table]
    sql = f"SELECT *, count(*) AS n FROM (SELECT {stored} FROM {relation}) GROUP BY ALL"
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        rows = workers.run(Statement(sql)).to_pylist()
    return Counter({tuple(row.values())[:-1]: row["n"] for row in rows})


def is_copied(policy: Policy) -> bool:
    return prepare(policy).database != (policy.path.parent / policy.source).resolve()


STORED = {
    "compressed": {},
    "compressed, lengths in all not told": {"version": "v1.2.0"},
    "not compressed": {"forced": "uncompressed"},
}


@pytest.mark.slow
def test_what_is_shown_of_a_question_does_not_tell_of_long_texts(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    shown = []
    fewer = LONG.replace(f"range({ROWS})", "range(50)")  # enough of them to need a copy
    for name, rows in (("with", fewer), ("without", OTHERS)):
        (tmp_path / name).mkdir()
        written(
            tmp_path / name / "d.duckdb", f"CREATE TABLE t AS {OTHERS}", f"INSERT INTO t {rows}"
        )
        policy = make_policy({"t": ("id", {"note": "text"})}, f"{name}/d.duckdb", SMALL)
        shown.append(describe(policy).scans)
        assert is_copied(policy) == (name == "with")
        shown.append(describe(policy).scans)
    assert shown == shown[:1] * 4


@pytest.mark.slow
@pytest.mark.parametrize("how", few_of(STORED, 1))
def test_one_persons_long_texts_are_read_and_everybody_elses_beside_them(
    how: str, tmp_path: Path, make_policy: MakePolicy
) -> None:
    made = f"CREATE TABLE t AS {OTHERS}", f"INSERT INTO t {LONG}", f"INSERT INTO t {OTHERS}"
    written(tmp_path / "d.duckdb", *made, **STORED[how])
    policy = make_policy({"t": ("id", {"note": "text"})}, "d.duckdb", SMALL)
    once = Counter({(5_000, READ): ROWS})
    assert cells(policy) == EVERYBODY_ELSE + EVERYBODY_ELSE + once
    assert is_copied(policy)


@pytest.mark.slow
def test_without_those_rows_the_same_is_read_of_everybody_else_in_place(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    written(tmp_path / "d.duckdb", f"CREATE TABLE t AS {OTHERS}")
    policy = make_policy({"t": ("id", {"note": "text"})}, "d.duckdb", SMALL)
    assert cells(policy) == EVERYBODY_ELSE
    assert not is_copied(policy)


@pytest.mark.slow
def test_questions_are_answered_with_and_without_that_person(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    for name, more in (("with", [f"INSERT INTO t {LONG}"]), ("without", [])):
        written(tmp_path / f"{name}.duckdb", f"CREATE TABLE t AS {OTHERS}", *more)
        policy.write_text(
            dataset(f"{name}.duckdb", name=name)
            + '[engine]\nmemory = "256MB"\n[table.t]\nprivacy_unit = "id"\nrows_per_unit_max = 1\n'
            '[table.t.column]\nnote = { type = "text" }\n'
        )
        with sanql.open(policy) as san:
            for what in ("COUNT(*)", "COUNT(note)", "COUNT(DISTINCT note)"):
                ((found,),) = [
                    row.values()
                    for row in san.query(f"SELECT {what} FROM t", epsilon=10).table.to_pylist()
                ]
                assert abs(found - 200) < 20  # with probability 1 - 1e-80


@pytest.mark.slow
def test_several_columns_of_long_texts_are_read_together(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    made = "CREATE TABLE t AS SELECT i AS id, 'a' AS a, 'b' AS b, '7' AS c FROM range(10) r(i)"
    long = (
        "INSERT INTO t SELECT 5000, repeat('a', 200000) || i, repeat('b', 200000) || i, "
        f"repeat('3', 200000) FROM range({ROWS}) r(i)"
    )
    written(tmp_path / "d.duckdb", made, long)
    columns = {"a": "text", "b": "text", "c": "integer"}
    policy = make_policy({"t": ("id", columns)}, "d.duckdb", SMALL)
    expected = Counter([(i, "a", "b", 7) for i in range(10)])
    assert cells(policy) == expected + Counter({(5_000, "a" * 4_096, "b" * 4_096, None): ROWS})


@pytest.mark.slow
@pytest.mark.parametrize("kind", few_of(["VARCHAR", "BLOB"], 1))
def test_units_that_are_too_long_are_nobody_and_keep_nobody_from_being_counted(
    kind: str, tmp_path: Path, make_policy: MakePolicy
) -> None:
    long = f"SELECT repeat('x', 700000) || i FROM range({ROWS}) r(i)"
    table = f"CREATE TABLE t (id {kind})"
    written(
        tmp_path / "d.duckdb", table, "INSERT INTO t VALUES ('a'), ('b')", f"INSERT INTO t {long}"
    )
    policy = make_policy({"t": ("id", {})}, "d.duckdb", SMALL)
    ids: list[str | bytes] = [b"a", b"b"] if kind == "BLOB" else ["a", "b"]
    assert cells(policy) == Counter([(each,) for each in ids]), "rows of nobody are not copied"


@pytest.mark.slow
@pytest.mark.parametrize("name", few_of(["DICT_FSST", "Dictionary", "FSST"], 2))
def test_texts_of_every_storage_are_copied_as_they_are_read_in_place(
    name: str, tmp_path: Path, make_policy: MakePolicy
) -> None:
    path = tmp_path / "d.duckdb"
    length = 4_500 if name == "DICT_FSST" else 4_000
    short = f"SELECT i AS id, repeat('é' || (i % 3), {length // 3}) AS a FROM range(2100) r(i)"
    version = "latest" if name == "DICT_FSST" else "v1.0.0"
    made = f"CREATE TABLE t AS SELECT *, a AS b, a AS c, 'x' AS d FROM ({short})"
    # of another column so much that all are copied
    long = "INSERT INTO t SELECT -1, '', '', '', repeat('d', 30000) FROM range(1000)"
    written(path, made, "CHECKPOINT", long, forced=name.lower(), version=version)
    with duckdb.connect(str(path), read_only=True) as connection:
        info = "SELECT DISTINCT compression FROM pragma_storage_info('t') WHERE column_name = 'a'"
        assert (name,) in connection.execute(info).fetchall()
    columns = dict.fromkeys("abc", "text")
    in_place = make_policy({"t": ("id", columns)}, "d.duckdb")
    copied = make_policy({"t": ("id", {**columns, "d": "text"})}, "d.duckdb")
    assert (is_copied(in_place), is_copied(copied)) == (False, True)
    without_d: Cells = Counter()
    for (unit, a, b, c, _), times in cells(copied).items():
        without_d[unit, a, b, c] += times
    assert without_d == cells(in_place)


UPDATED = """
import duckdb, os, sys
c = duckdb.connect(sys.argv[1])
c.execute("SET checkpoint_threshold = '1TB'")
c.execute("CREATE TABLE t AS SELECT i AS id, 'note ' || i AS note FROM range(5000) r(i)")
c.execute("CHECKPOINT")
c.execute("UPDATE t SET note = repeat('u', 100000) WHERE id = 7")
c.execute("INSERT INTO t SELECT 6000 + i, repeat('w', 100000) FROM range(2) r(i)")
c.execute("DELETE FROM t WHERE id BETWEEN 1000 AND 3999")
os._exit(0)
"""


@pytest.mark.slow
def test_texts_that_were_updated_inserted_and_deleted_since_are_read_as_they_are_now(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    path = tmp_path / "d.duckdb"
    subprocess.run([sys.executable, "-c", UPDATED, str(path)], check=True)
    assert path.with_name("d.duckdb.wal").exists()
    policy = make_policy({"t": ("id", {"note": "text"})}, "d.duckdb", SMALL)
    kept = [i for i in range(5_000) if i != 7 and not 1_000 <= i < 4_000]
    expected = Counter([(i, f"note {i}") for i in kept])
    expected[7, "u" * 4_096] = expected[6_000, "w" * 4_096] = expected[6_001, "w" * 4_096] = 1
    assert cells(policy) == expected
    assert is_copied(policy)  # how long updated texts are is not told


@pytest.mark.slow
def test_a_long_text_in_a_column_that_is_not_read_needs_no_copy(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    long = "CREATE TABLE t AS SELECT i AS id, repeat('x', 50000) AS note FROM range(3000) r(i)"
    written(tmp_path / "d.duckdb", long, "CREATE TABLE empty (id BIGINT, note VARCHAR)")
    assert not is_copied(make_policy({"t": ("id", {})}, "d.duckdb"))
    assert not is_copied(make_policy({"empty": ("id", {"note": "text"})}, "d.duckdb"))
    assert is_copied(make_policy({"t": ("id", {"note": "text"})}, "d.duckdb"))


@pytest.mark.slow
def test_a_copy_is_of_one_version_and_of_all_tables(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    path = tmp_path / "d.duckdb"
    made = "CREATE TABLE T (Id BIGINT, note VARCHAR)", "CREATE TABLE keys AS SELECT 1 AS k"
    long = "INSERT INTO T SELECT i, repeat('x', 50000) FROM range(3000) r(i)"
    written(path, *made, long)
    policy = make_policy({"t": ("id", {"note": "text"}), "keys": (None, {})}, "d.duckdb")
    first = prepare(policy)
    assert prepare(policy) == first
    written(path, "DELETE FROM T WHERE id >= 2990", "INSERT INTO keys VALUES (2)")
    second = prepare(policy)
    assert second.fingerprint != first.fingerprint
    for source, counts in ((first, (3_000, 1)), (second, (2_990, 2))):
        with Pool(source, policy.engine, WorkerEngine()) as workers:
            for table, count in zip(("t", "keys"), counts, strict=True):
                sql = f"SELECT count(*) AS n FROM {source.relations[table]}"
                assert workers.run(Statement(sql)).to_pylist() == [{"n": count}]


@pytest.mark.slow
def test_where_memory_does_not_hold_2048_rows_nothing_is_opened_or_charged(tmp_path: Path) -> None:
    long = LONG.replace("230000", "400000").replace(f"range({ROWS})", "range(300)")
    written(tmp_path / "d.duckdb", f"CREATE TABLE t AS {OTHERS}", f"INSERT INTO t {long}")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        dataset("d.duckdb")
        + '[engine]\nmemory = "256MB"\n[table.t]\nprivacy_unit = "id"\nrows_per_unit_max = 1\n'
        '[table.t.column]\nnote = { type = "text" }\n'
    )
    with sanql.open(policy) as san:
        for asked in ("COUNT(*)", "COUNT(note)"):
            with pytest.raises(PolicyError, match="memory must hold 2,048 rows") as caught:
                san.query(f"SELECT {asked} FROM t", epsilon=1)
            assert [fault.place for fault in caught.value.faults] == ["table.t"]
        assert all(line.spent_upper.epsilon == 0 for line in san.budget())


@pytest.mark.parametrize("longest", [None, 0, 10, 900, 5_000])
def test_every_row_is_in_one_range_and_no_range_has_too_many_bytes(longest: int | None) -> None:
    groups = [
        _Texts(rows, longest, None if longest is None else longest * min(rows, 2_048))
        for rows in (1, 2_047, 122_880, 5)
    ]
    *ranges, (last, end) = _ranges(groups, 1_000_000)
    assert end is None
    ends = [after for _, after in ranges]
    assert [first for first, _ in ranges] + [last] == [0, *ends]
    assert last == sum(group.rows for group in groups)
    for first, after in ranges:
        assert after is not None
        assert min(after - first, 2_048) * (longest or 0) <= 1_000_000
        assert longest is not None or after - first <= 64
