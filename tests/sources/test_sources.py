"""Files become a source: found, checked by name and type, copied once."""

from __future__ import annotations

import csv
import os
import pickle
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanql.catalog.description import PreparedSource
from sanql.engines import preparation as sources
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.engines.preparation import describe, prepare
from sanql.errors import PolicyError
from sanql.kernel.messages import Statement
from sanql.kernel.stored_types import ColumnType
from sanql.policy.model import Column, Policy
from support.volume import few_of

pytestmark = pytest.mark.slow

MakePolicy = Callable[..., Policy]

PEOPLE = {"people": ("person_id", {"age": "integer", "city": "text"})}


def write_people(path: Path, count: int = 10) -> None:
    pq.write_table(
        pa.table(
            {
                "person_id": pa.array(range(count), pa.int32()),
                "age": pa.array([20 + i % 100 for i in range(count)], pa.int16()),
                "city": [f"city {i % 3}" for i in range(count)],
                "diary": ["never declared"] * count,
            }
        ),
        path,
    )


def rows(source: PreparedSource, policy: Policy, table: str) -> list[dict[str, Any]]:
    scans = source.scans[table]
    statement = f"SELECT {', '.join(scans.values())} FROM {source.relations[table]} ORDER BY 1"
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        found = workers.run(Statement(statement))
    return found.rename_columns(list(scans)).to_pylist()


def faults(check: Callable[[], object]) -> list[tuple[str, str, str]]:
    with pytest.raises(PolicyError) as caught:
        check()
    return [(fault.place, fault.message, fault.remedy) for fault in caught.value.faults]


def test_a_parquet_table_is_copied_with_declared_columns_only(
    folder: Path, make_policy: MakePolicy
) -> None:
    write_people(folder / "people.parquet")
    policy = make_policy(PEOPLE)
    source = prepare(policy)
    assert source.relations == {"people": '"data"."main"."people"'}
    assert source.scans == {
        "people": {"person_id": '"person_id"', "age": '"age"', "city": '"city"'}
    }
    assert source.columns == {}
    with duckdb.connect(str(source.database), read_only=True) as connection:
        stored = connection.execute("DESCRIBE people").fetchall()
    assert [(name, type_) for name, type_, *_ in stored] == [
        ("person_id", "INTEGER"),
        ("age", "BIGINT"),
        ("city", "VARCHAR"),
        ("bucket", "USMALLINT"),  # a hash of the unit, by which rows lie together
        ("segment", "UINTEGER"),  # which of its files it is from
        ("rows", "BIGINT"),  # how many its unit has in the table
    ]
    (third,) = [row for row in rows(source, policy, "people") if row["person_id"] == 3]
    assert third == {"person_id": 3, "age": 23, "city": "city 0"}


@pytest.mark.slow
def test_every_layout_of_a_folder_gives_the_same_rows(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    lines = [f"{i},{20 + i},city {i % 3}\n" for i in range(10)]
    header = "person_id,age,city\n"
    layouts: dict[str, Callable[[Path], object]] = {
        "parquet": lambda at: write_people(at / "people.parquet"),
        "upper": lambda at: write_people(at / "PEOPLE.PARQUET"),
        "csv": lambda at: (at / "people.csv").write_text(header + "".join(lines)),
        "semicolons": lambda at: (at / "people.csv").write_text(
            (header + "".join(lines)).replace(",", ";")
        ),
        "windows": lambda at: (at / "people.csv").write_bytes(
            b"\xef\xbb\xbf" + (header + "".join(lines)).replace("\n", "\r\n").encode()
        ),
    }
    expected = [{"person_id": i, "age": 20 + i, "city": f"city {i % 3}"} for i in range(10)]
    declared = {"people": ("person_id", {"person_id": "integer", **PEOPLE["people"][1]})}
    for name, write in layouts.items():
        (tmp_path / name).mkdir()
        write(tmp_path / name)
        policy = make_policy(declared, name)
        assert rows(prepare(policy), policy, "people") == expected, name


def test_parts_may_order_and_store_their_columns_differently(
    folder: Path, make_policy: MakePolicy
) -> None:
    parts = folder / "people"
    parts.mkdir()
    (parts / "b.csv").write_text("city,age,extra,person_id\nB,2,x,b\n")
    (parts / "a.csv").write_text("person_id;age;city\na;1;A\n")
    (parts / "_SUCCESS").write_text("")
    (parts / ".hidden.csv").write_text("broken")
    policy = make_policy(PEOPLE)
    assert rows(prepare(policy), policy, "people") == [
        {"person_id": "a", "age": 1, "city": "A"},
        {"person_id": "b", "age": 2, "city": "B"},
    ]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_names_of_any_letters_and_tables_without_rows_are_prepared(
    form: str, folder: Path, make_policy: MakePolicy
) -> None:
    names = ["id", 'we"ird', "it's", "a", "a.b", "größe", " space ", "select", "{x: 1}"]
    for table, values in (("full", [1, 2]), ("empty", [])):
        columns = {name: pa.array(values, pa.int64()) for name in names}
        if form == "parquet":
            pq.write_table(pa.table(columns), folder / f"{table}.parquet")
        else:
            with (folder / f"{table}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(names)
                writer.writerows([value] * len(names) for value in values)
    declared = ("id", dict.fromkeys(names, "integer"))
    policy = make_policy({"full": declared, "empty": declared})
    source = prepare(policy)
    assert rows(source, policy, "full") == [dict.fromkeys(names, value) for value in (1, 2)]
    assert rows(source, policy, "empty") == []


def test_a_single_file_is_the_one_table_of_its_policy(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    write_people(tmp_path / "export-2024.parquet")
    policy = make_policy(PEOPLE, "export-2024.parquet")
    assert len(rows(prepare(policy), policy, "people")) == 10
    two = make_policy({**PEOPLE, "visits": ("row", {})}, "export-2024.parquet")
    ((place, message, _),) = faults(lambda: describe(two))
    assert (place, "2 tables" in message) == ("dataset.source", True)


def test_a_table_of_which_only_rows_are_counted_keeps_its_rows(
    folder: Path, make_policy: MakePolicy
) -> None:
    write_people(folder / "people.parquet")
    (folder / "visits.csv").write_text("a\n1\n2\n3\n")
    policy = make_policy({"people": ("row", {}), "visits": ("row", {})})
    source = prepare(policy)
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        counts = {
            name: workers.run(Statement(f"SELECT count(*) AS n FROM {relation}")).to_pydict()["n"][
                0
            ]
            for name, relation in source.relations.items()
        }
    assert counts == {"people": 10, "visits": 3}


def test_a_duckdb_file_is_used_in_place_with_conversions(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE TABLE "People" AS SELECT 7::INTEGER AS "Person_ID", 30::SMALLINT AS age, '
            "'x' AS city, 1.5::DECIMAL(9, 2) AS income, DATE '2020-01-02' AS born"
        )
    before = path.read_bytes()
    columns = {"age": "integer", "city": "text", "income": "decimal", "born": "date"}
    policy = make_policy({"people": ("person_id", columns)}, "people.duckdb")
    source = prepare(policy)
    assert source.database == path
    assert source.relations == {"people": '"data"."main"."People"'}
    scans = source.scans["people"]
    assert scans["person_id"] == '"Person_ID"'
    assert scans["age"] == 'TRY_CAST("age" AS BIGINT)'
    (row,) = rows(source, policy, "people")
    assert (row["person_id"], row["age"], row["income"], str(row["born"])) == (
        7,
        30,
        1.5,
        "2020-01-02",
    )
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.glob("*.cache/*.duckdb")] == []


def test_rows_still_in_a_write_ahead_log_are_seen(tmp_path: Path, make_policy: MakePolicy) -> None:
    path = tmp_path / "people.duckdb"
    script = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]);"
        "c.execute('CREATE TABLE people AS SELECT 1 AS person_id, 2 AS age, 3 AS city');"
        "c.execute('CHECKPOINT'); c.execute('INSERT INTO people VALUES (2, 3, 4)');"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert path.with_name("people.duckdb.wal").exists()
    policy = make_policy(PEOPLE, "people.duckdb")
    assert len(rows(prepare(policy), policy, "people")) == 2


@pytest.mark.slow
def test_public_tables_may_leave_their_columns_to_the_source(
    folder: Path, make_policy: MakePolicy
) -> None:
    (folder / "cities.csv").write_text(
        "name,people,area,founded,coast,zip,empty\n"
        "A,5,1.5,1200-01-01,true,01067,\nB,,2,1300-05-06,FALSE,99999,\n"
    )
    pq.write_table(
        pa.table({"code": ["a"], "rate": pa.array([1], pa.decimal128(10, 2)), "nested": [[1]]}),
        folder / "rates.parquet",
    )
    policy = make_policy({"cities": (None, {}), "rates": (None, {})})
    source = prepare(policy)
    assert {name: column.type for name, column in source.columns["cities"].items()} == {
        "name": "text",
        "people": "integer",
        "area": "float",
        "founded": "date",
        "coast": "boolean",
        "zip": "text",
        "empty": "text",
    }
    assert source.columns["rates"] == {
        "code": Column("code", "text"),
        "rate": Column("rate", "decimal", precision=Fraction(1, 100)),
    }
    assert describe(policy).columns == source.columns
    assert rows(source, policy, "cities")[1]["people"] is None


def test_text_declared_as_another_type_is_noted_by_name(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    """Whatever the rows hold: the same notes for texts that read as numbers and for those that do not."""
    declared: dict[str, ColumnType] = {
        "Age": "integer", "day": "date", "city": "text", "zip": "text", "weight": "decimal",
    }  # fmt: skip
    for name, age in (("good", "'41'"), ("bad", "'unknown'")):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as connection:
            connection.execute(
                f"CREATE TABLE people AS SELECT 1 AS person_id, {age} AS age, "
                "'2020-01-31' AS day, 'A' AS city, 1067 AS zip, 70.5 AS weight"
            )
        policy = make_policy({"people": ("person_id", declared)}, f"{name}.duckdb")
        assert list(map(str, describe(policy).remarks)) == [
            'table.people.column.Age: the source stores "Age" as VARCHAR; text that does not read '
            "as integer is taken for NULL; store it as integer in the source, or declare it as text",
            'table.people.column.day: the source stores "day" as VARCHAR; text that does not read '
            "as date is taken for NULL; store it as date in the source, or declare it as text",
        ]
    (row,) = rows(prepare(policy), policy, "people")
    assert (row["Age"], str(row["day"]), row["zip"]) == (None, "2020-01-31", "1067")


def test_one_note_names_the_columns_of_a_csv_table_and_the_unit_among_them(
    folder: Path, make_policy: MakePolicy
) -> None:
    (folder / "people.csv").write_text("person_id,age,city\n1,2,A\nx,?,B\n")
    (folder / "cities.csv").write_text("name,people\nA,5\n")
    (folder / "towns.csv").write_text("name,people\nA,5\n")
    policy = make_policy(
        {
            "people": ("person_id", {"person_id": "integer", "age": "integer", "city": "text"}),
            "cities": (None, {}),
            "towns": ("name", {"people": "integer"}),
        }
    )
    people, towns = describe(policy).remarks
    assert (people.place, towns.place) == ("table.people", "table.towns")
    assert people.message == (
        "CSV holds text, and what does not read as its type is taken for NULL, and a row without "
        "person_id is not counted: person_id (integer), age (integer)"
    )
    assert towns.message.endswith("taken for NULL: people (integer)")


def test_every_fault_is_named_at_once_with_the_nearest_name(
    folder: Path, make_policy: MakePolicy
) -> None:
    write_people(folder / "people.parquet")
    pq.write_table(pa.table({"id": [1.5], "tags": [["x"]], "when": ["x"]}), folder / "odd.parquet")
    policy = make_policy(
        {
            "people": ("persn_id", {"aeg": "integer", "city": "date"}),
            "odd": ("id", {"tags": "text", "When": "boolean"}),
        }
    )
    assert faults(lambda: describe(policy)) == [
        (
            "table.people.privacy_unit",
            'the source has no column "persn_id"',
            'did you mean "person_id"?',
        ),
        ("table.people.column.aeg", 'the source has no column "aeg"', 'did you mean "age"?'),
        (
            "table.odd.privacy_unit",
            'the source stores "id" as DOUBLE, which is no privacy unit',
            'store whole numbers or text; in pandas, astype("Int64") has room for missing ones',
        ),
        (
            "table.odd.column.tags",
            'the source stores "tags" as VARCHAR[], which is no text',
            "declare the type it is stored as, or store it as the type declared",
        ),
    ]
    assert faults(lambda: prepare(policy)) == faults(lambda: describe(policy))


def test_missing_and_ambiguous_files_are_faults(folder: Path, make_policy: MakePolicy) -> None:
    write_people(folder / "people.parquet")
    write_people(folder / "visits.parquet")
    (folder / "visits.csv").write_text("a\n")
    (folder / "mixed").mkdir()
    (folder / "broken.parquet").write_bytes(b"PAR1 nothing")
    names = ("peple", "visits", "mixed")
    assert faults(lambda: describe(make_policy({name: ("row", {}) for name in names}))) == [
        (
            "table.peple",
            "the source folder has no file or folder for it",
            'did you mean "people"?',
        ),
        (
            "table.visits",
            "the source has several candidates: visits.csv, visits.parquet",
            "keep one of them",
        ),
        (
            "table.mixed",
            "the folder mixed/ must hold parts of one format",
            "put NAME.parquet, NAME.csv or a folder NAME/ of such parts into the source folder",
        ),
    ]
    assert faults(lambda: describe(make_policy({"broken": ("row", {})}))) == [
        ("table.broken", "broken.parquet cannot be read as parquet", "check that the file is whole")
    ]
    ((place, *_),) = faults(lambda: describe(make_policy({"a": ("row", {})}, "nowhere")))
    assert place == "dataset.source"


def test_views_and_collations_in_a_database_are_refused(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER)")
        connection.execute("CREATE VIEW v AS SELECT (id // 0)::TINYINT AS id FROM t")
        connection.execute("CREATE TABLE c (id VARCHAR COLLATE NOCASE)")
    policy = make_policy({"v": ("id", {}), "c": ("id", {}), "T": ("ID", {})}, "d.duckdb")
    assert [place for place, *_ in faults(lambda: describe(policy))] == ["table.v", "table.c"]


def test_a_file_that_is_no_database_is_a_fault_without_the_engines_words(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    (tmp_path / "d.duckdb").write_text("Alice")
    ((place, message, _),) = faults(lambda: prepare(make_policy(PEOPLE, "d.duckdb")))
    assert (place, message) == ("dataset.source", "'d.duckdb' cannot be opened")


@pytest.mark.slow
def test_the_fingerprint_follows_the_bytes_and_the_declaration(
    folder: Path, make_policy: MakePolicy
) -> None:
    path = folder / "people.parquet"
    write_people(path)
    policy = make_policy(PEOPLE)
    first = prepare(policy)
    assert prepare(policy) == first
    other = make_policy({"people": ("person_id", {"age": "float", "city": "text"})})
    assert prepare(other).fingerprint != first.fingerprint
    os.utime(path, ns=(1, 1))
    assert prepare(policy) == first
    shutil.copy(path, folder / "copy")
    (folder / "copy").rename(path)
    (folder / "unrelated.parquet").write_bytes(b"not read")
    assert prepare(policy) == first
    write_people(path, 11)
    changed = prepare(policy)
    assert changed.fingerprint != first.fingerprint
    assert len(rows(changed, policy, "people")) == 11


def test_the_cache_is_private_and_prepared_once(folder: Path, make_policy: MakePolicy) -> None:
    write_people(folder / "people.parquet")
    write_people(folder / "visits.parquet")
    policy = make_policy({**PEOPLE, "visits": ("row", {})})
    said: list[str] = []
    source = prepare(policy, said.append)
    assert said == ["preparing people: 1 of 2", "preparing visits: 2 of 2"]
    cache = policy.ledger.with_suffix(".cache")
    assert source.database.parent == cache
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in cache.iterdir()} == {0o600}
    said.clear()
    written = source.database.stat().st_ino
    assert prepare(policy, said.append) == source
    assert (said, source.database.stat().st_ino) == ([], written)


def test_a_cache_open_to_others_is_refused(folder: Path, make_policy: MakePolicy) -> None:
    write_people(folder / "people.parquet")
    policy = make_policy(PEOPLE)
    cache = policy.ledger.with_suffix(".cache")
    cache.mkdir()
    cache.chmod(0o755)
    ((place, *_),) = faults(lambda: prepare(policy))
    assert place == "dataset.ledger"


@pytest.mark.slow
def test_leftovers_and_old_entries_go_but_not_those_in_use(
    folder: Path, make_policy: MakePolicy
) -> None:
    path = folder / "people.parquet"
    policy = make_policy(PEOPLE)
    cache = policy.ledger.with_suffix(".cache")
    entries = []
    for count in (1, 2, 3):
        write_people(path, count)
        entries.append(prepare(policy))
    in_use, unused, recent = entries
    hour_ago = time.time() - 3600
    for entry in (in_use, unused):
        os.utime(cache / f"{entry.fingerprint}.json", (hour_ago, hour_ago))
    (cache / "dead.building").write_text("half")
    (cache / "dead.building.wal").write_text("half")
    with Pool(in_use, policy.engine, WorkerEngine()):
        write_people(path, 4)
        latest = prepare(policy)
        left = {entry.name for entry in cache.iterdir()}
    assert left == {"lock"} | {
        f"{entry.fingerprint}.{suffix}"
        for entry in (in_use, recent, latest)
        for suffix in ("json", "duckdb")
    }


@pytest.mark.slow
def test_processes_that_prepare_at_once_agree_on_one_copy(
    folder: Path, make_policy: MakePolicy, tmp_path: Path
) -> None:
    write_people(folder / "people.parquet", 200_000)
    policy = make_policy(PEOPLE)
    (tmp_path / "policy.pickle").write_bytes(pickle.dumps(policy))
    script = (
        "import pickle, sys; from pathlib import Path; from sanql.engines.preparation import prepare;"
        "s = []; source = prepare(pickle.loads(Path(sys.argv[1]).read_bytes()), s.append);"
        "print(source.database, source.database.stat().st_ino, len(s))"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "policy.pickle")],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    told = [process.communicate()[0].split() for process in running]
    assert len({(path, inode) for path, inode, _ in told}) == 1
    assert sorted(count for *_, count in told) == ["0", "0", "0", "1"]
    assert len(rows(prepare(policy), policy, "people")) == 200_000


@pytest.mark.slow
@pytest.mark.parametrize("delay", few_of(["0.05", "0", "0.2"], 1))
def test_a_preparation_killed_half_way_leaves_nothing_that_is_taken_for_whole(
    folder: Path, make_policy: MakePolicy, tmp_path: Path, delay: str
) -> None:
    write_people(folder / "people.parquet", 2_000_000)
    policy = make_policy(PEOPLE)
    (tmp_path / "policy.pickle").write_bytes(pickle.dumps(policy))
    script = (
        "import os, pickle, sys, threading; from pathlib import Path;"
        "from sanql.engines.preparation import prepare;"
        "prepare(pickle.loads(Path(sys.argv[1]).read_bytes()),"
        " lambda _: threading.Timer(float(sys.argv[2]), os.kill, (os.getpid(), 9)).start())"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path / "policy.pickle"), delay]
    subprocess.run(arguments, check=False)
    assert not list(policy.ledger.with_suffix(".cache").glob("*.json"))
    source = prepare(policy)
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        found = workers.run(Statement(f"SELECT count(*) AS n FROM {source.relations['people']}"))
    assert found.to_pylist() == [{"n": 2_000_000}]
    assert not list(policy.ledger.with_suffix(".cache").glob("*building*"))


GOOD: dict[ColumnType, str] = {
    "integer": "7",
    "decimal": "1.5",
    "float": "1.5",
    "boolean": "true",
    "date": "2020-01-01",
    "timestamp": "2020-01-01 12:00:00",
}


def test_a_csv_field_that_is_not_of_its_type_is_missing_and_its_row_stays(
    folder: Path, make_policy: MakePolicy
) -> None:
    """One table for each type."""
    tables: dict[str, tuple[str, dict[str, ColumnType]]] = {}
    for kind, good in GOOD.items():
        lines = [f"{i},{'n/a' if i % 2 else good}\n" for i in range(10)]
        (folder / f"t_{kind}.csv").write_text("id,x\n" + "".join(lines))
        tables[f"t_{kind}"] = "id", {"x": kind}
    policy = make_policy(tables)
    source = prepare(policy)
    for table in tables:
        found = rows(source, policy, table)
        assert [row["x"] is None for row in found] == [bool(i % 2) for i in range(10)], table


def test_a_description_saves_looking_at_the_same_files_again(
    folder: Path, make_policy: MakePolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_people(folder / "people.parquet")
    policy = make_policy(PEOPLE)
    looks: list[object] = []
    look = sources._inspect

    def counted(*arguments: Any) -> Any:
        looks.append(arguments)
        return look(*arguments)

    monkeypatch.setattr(sources, "_inspect", counted)
    known = describe(policy)
    prepare(policy, known=known)
    assert len(looks) == 1
    write_people(folder / "people.parquet", 11)
    assert len(rows(prepare(policy, known=known), policy, "people")) == 11
    assert len(looks) == 2
