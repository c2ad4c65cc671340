"""Layouts that executors write: the cells of one machine's, and no row in the driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from bench.tpch.__main__ import HERE as TPCH
from bench.tpch.__main__ import generate, questions

from privacy.additivity import check_same
from privacy.examination import Asked, ask
from sanql.ask import Session
from sanql.engines import open_layout, spread_on_cluster
from sanql.engines.spark import preparation
from sanql.errors import PolicyError
from sanql.kernel.buckets import MANIFEST, BucketLayout, read_layout
from sanql.policy import Policy, load
from sanql.sources import Stamps, locate
from spark.conftest import MASTER, executors, kill_an_executor
from support.on_buckets import Buckets, on_spark, spread

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BUCKETS = 5
SECRET = 7
NOBODYS = {"q02", "q03", "q10", "q11", "q16", "q18"}  # of public tables, or of individuals
FEW = ["q01", "q04", "q05", "q13", "q17", "q22"]
POLICY = f"""
[dataset]
name = "clinic"
source = "data"
neighbours = "add-remove"
budget = {{ epsilon = 100, delta = 1e-4 }}
accounting = "renyi"
[engine]
kind = "spark"
master = "{MASTER}"
layout = "layout"
memory = "512MB"
deadline = 300
[table.people]
privacy_unit = "person"
key = "number"
rows_per_unit_max = 3
column.ward = {{ type = "integer", bounds = [0, 9] }}
[table.visits]
privacy_unit = {{ via = "of", references = "people.number" }}
key = "visit"
rows_per_unit_max = 20
column.cost = {{ type = "decimal", bounds = [0, 1000], precision = 0.01 }}
column.day = {{ type = "date", bounds = [2020-01-01, 2029-12-31] }}
[table.items]
privacy_unit = {{ via = "visit", references = "visits.visit" }}
rows_per_unit_max = 40
column.note = {{ type = "text" }}
[table.clicks]
privacy_unit = "row"
column.page = {{ type = "integer", bounds = [0, 100] }}
[table.wards]
public = true
column.ward = {{ type = "integer", bounds = [0, 9] }}
column.name = {{ type = "text" }}
"""
ASKED = (
    "SELECT COUNT(*), COUNT(DISTINCT ward) FROM people",
    "SELECT ward, COUNT(*), SUM(cost) FROM visits JOIN people ON visits.of = people.number GROUP BY ward",
    "SELECT name, AVG(cost) FROM visits JOIN people ON visits.of = people.number "
    "JOIN wards ON people.ward = wards.ward WHERE day > DATE '2021-06-01' GROUP BY name",
    "SELECT COUNT(*), COUNT(DISTINCT note) FROM items WHERE note LIKE 'n1%'",
    "SELECT page, COUNT(*) FROM clicks WHERE page < 5 GROUP BY page",
)


def write_clinic(folder: Path, people: int = 2_000, visits: int = 9_000) -> Path:
    """Write a clinic whose visits and items follow references; some lead nowhere. Return its policy."""
    data = folder / "data"
    (data / "visits").mkdir(parents=True)
    write(
        data / "people.parquet",
        "SELECT range AS number, CASE WHEN range % 40 > 0 THEN 'p' || range % 900 END AS person, "
        f"range % 10 AS ward FROM range({people})",
    )
    for part in range(3):
        write(
            data / "visits" / f"{part}.parquet",
            f"SELECT {part} * 1000000 + range AS visit, "
            f"CASE WHEN range % 11 > 0 THEN range * 7 % {people + 50} END::INTEGER AS of, "
            "(range % 5000)::DECIMAL(10, 2) / 7 AS cost, "
            f"DATE '2020-01-01' + (range % 3000)::INTEGER AS day FROM range({visits // 3})",
        )
    write(
        data / "items.parquet",
        f"SELECT range * 3 % 2000000 AS visit, 'n' || range % 300 AS note FROM range({visits})",
    )
    write(data / "clicks.csv", "SELECT range % 100 AS page FROM range(3000)")
    write(data / "wards.csv", "SELECT range AS ward, 'w' || range % 4 AS name FROM range(10)")
    (folder / "policy.toml").write_text(POLICY)
    return folder / "policy.toml"


def write(path: Path, select: str) -> None:
    """Write a file, one of Parquet in many row groups."""
    with duckdb.connect() as connection:
        groups = " (ROW_GROUP_SIZE 2048)" if path.suffix == ".parquet" else ""
        connection.execute(f"CREATE TABLE made AS {select}")
        connection.execute(f"COPY made TO '{path}'{groups}")


@pytest.fixture
def clinic(tmp_path: Path) -> Policy:
    return load(write_clinic(tmp_path))


def on_cluster(policy: Policy, **how: object) -> BucketLayout:
    """Have executors write the layout of a policy's files."""
    source = locate(policy)
    stamps = Stamps(policy.ledger)
    return spread_on_cluster(policy, source, stamps.of(source), stamps, BUCKETS, **how)  # type: ignore[arg-type]


def compare(policy: Policy, asked: tuple[str, ...] | list[str], folder: Path) -> int:
    """Raise where cells of the layout differ from those of one that this machine has written."""
    written = spread(on_spark(policy, folder, MASTER), BUCKETS)
    source = locate(policy)
    there = open_layout(policy, source, Stamps(policy.ledger).of(source))
    here, other = Buckets(folder), Buckets(there.database.parent)
    compared = 0
    try:
        for text in asked:
            one, two = (ask(text, policy, each, None, SECRET) for each in (written, there))
            assert isinstance(one, Asked) and isinstance(two, Asked), (text, one, two)
            for (level, alone), (_, spread_out) in zip(one.levels, two.levels, strict=True):
                check_same(level, here.run(alone), other.run(spread_out))
                compared += 1
    finally:
        here.close()
        other.close()
    return compared


def rows_of(folder: Path, table: str) -> list[Counter[tuple[object, ...]]]:
    """Return the rows of each bucket of a table."""
    (found,) = (each for each in read_layout(folder).tables if each.name == table)
    return [
        Counter(
            tuple(row.values())
            for file in files
            for row in pq.read_table(folder / file.path).to_pylist()
        )
        for files in found.buckets
    ]


@pytest.mark.few
def test_executors_write_the_rows_that_this_machine_writes(clinic: Policy, tmp_path: Path) -> None:
    """Bucket for bucket, and so the cells of every question are the same."""
    said: list[str] = []
    made = on_cluster(clinic, progress=said.append)
    assert compare(clinic, ASKED, tmp_path / "here") >= len(ASKED)
    for table in ("people", "visits", "items", "wards"):
        assert rows_of(tmp_path / "layout", table) == rows_of(tmp_path / "here", table)
    here, there = (sum(rows_of(tmp_path / f, "clicks"), Counter()) for f in ("here", "layout"))
    assert here == there and sum(here.values()) == 3000
    assert read_layout(tmp_path / "here").attached == made.attached == ("items", "visits")
    files = 4 * BUCKETS + 2 * BUCKETS + 1  # visits are in three files
    assert said[-1] == f"preparing buckets: {files} of {files}"
    assert len(said) == len(set(said))
    assert not list((tmp_path / "layout").rglob("*.making"))


def test_tpch_has_the_cells_of_one_machine(tmp_path: Path) -> None:
    generate(tmp_path / "data", "0.002")
    text = (TPCH / "policy.toml").read_text(encoding="utf-8").replace('"8GB"', '"512MB"')
    (tmp_path / "policy.toml").write_text(text)
    policy = on_spark(load(tmp_path / "policy.toml"), tmp_path / "layout", MASTER)
    on_cluster(policy)
    asked = [text for name, text in questions().items() if name in FEW]
    assert compare(policy, asked, tmp_path / "here") >= len(FEW)


def test_whoever_is_killed_the_rows_are_the_same(clinic: Policy, tmp_path: Path) -> None:
    """Executors end while they read, and while they write."""
    layout = tmp_path / "layout"
    assert read_session(clinic)
    ended = threading.Event()

    def kill() -> None:
        for least in (1, BUCKETS + 1, 4 * BUCKETS):
            while len(list(layout.rglob("*.parquet"))) < least and not ended.wait(0.05):
                pass
            if not ended.is_set() and executors():
                killed.append(kill_an_executor())

    killed: list[int] = []
    killing = threading.Thread(target=kill)
    killing.start()
    try:
        on_cluster(clinic)
    finally:
        ended.set()
        killing.join()
    assert killed
    spread(on_spark(clinic, tmp_path / "here", MASTER), BUCKETS)
    for table in ("people", "visits", "items", "wards"):
        assert rows_of(layout, table) == rows_of(tmp_path / "here", table)


def read_session(policy: Policy) -> object:
    from sanql.engines.spark.session import session_on

    assert policy.engine.spark is not None
    return session_on(policy.engine.spark.master)


def test_what_was_written_is_not_written_again(clinic: Policy, tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    made = on_cluster(clinic)
    before = {path: path.stat().st_mtime_ns for path in layout.rglob("*.parquet")}
    (layout / MANIFEST).unlink()
    assert on_cluster(clinic) == made
    assert {path: path.stat().st_mtime_ns for path in layout.rglob("*.parquet")} == before
    one, other = sorted(before)[:2]
    one.write_bytes(one.read_bytes()[:-1] + b"x")
    other.unlink()
    (layout / MANIFEST).unlink()
    on_cluster(clinic)
    after = {path: path.stat().st_mtime_ns for path in layout.rglob("*.parquet")}
    assert {path for path in after if before.get(path) != after[path]} <= {
        path for path in after if path.parent in (one.parent, other.parent)
    }
    assert compare(clinic, ASKED[:2], tmp_path / "here")


def test_of_a_file_more_nothing_else_is_written(clinic: Policy, tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    on_cluster(clinic)
    before = set(layout.rglob("*.parquet"))
    write(
        tmp_path / "data" / "visits" / "3.parquet",
        "SELECT 9000000 + range AS visit, range::INTEGER AS of, 1.5::DECIMAL(10, 2) AS cost, "
        "DATE '2021-01-01' AS day FROM range(500)",
    )
    made = on_cluster(clinic)
    new = {layout / f.path for t in made.tables for files in t.buckets for f in files} - before
    # what refers to visits is written anew, of visits the new file, and of others nothing
    assert len({path.parent for path in new}) == 2 and len(new) == 2 * BUCKETS
    assert compare(clinic, ASKED, tmp_path / "here")


def test_a_key_that_is_there_twice_is_refused_by_name(clinic: Policy, tmp_path: Path) -> None:
    people = tmp_path / "data" / "people.parquet"
    write(people, f"FROM (FROM '{people}' UNION ALL FROM '{people}') LIMIT 3000")
    for _ in range(2):  # and what was written of it is no layout
        with pytest.raises(PolicyError, match="visits") as caught:
            on_cluster(clinic)
        assert "a key twice" in str(caught.value)
    assert not (tmp_path / "layout" / MANIFEST).exists()


def test_keys_of_another_type_are_refused_before_there_is_a_session(
    clinic: Policy, tmp_path: Path
) -> None:
    people = tmp_path / "data" / "people.parquet"
    write(people, f"SELECT * REPLACE (number::VARCHAR AS number) FROM '{people}'")
    assert clinic.engine.spark is not None
    nowhere = replace(clinic.engine.spark, master="spark://127.0.0.1:1")
    with pytest.raises(PolicyError, match="stored as another type"):
        on_cluster(replace(clinic, engine=replace(clinic.engine, spark=nowhere)))


def test_files_that_executors_do_not_reach_are_refused_with_a_remedy(
    clinic: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where only this machine has them: executors find no such file."""
    shares = preparation.shares_of

    def elsewhere(*given: object) -> object:
        found = shares(*given)  # type: ignore[arg-type]
        return [tuple(replace(p, path=Path(f"{p.path}.gone")) for p in each) for each in found]

    monkeypatch.setattr(preparation, "shares_of", elsewhere)
    with pytest.raises(PolicyError, match="executors could not write") as caught:
        on_cluster(clinic)
    assert "--here" in str(caught.value) and ".gone" not in str(caught.value)


def test_of_files_that_change_meanwhile_nothing_is_left(
    clinic: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever executors have read of them: it might be found again as what it is not."""
    source, stamps = locate(clinic), Stamps(clinic.ledger)
    before = stamps.of(source)
    bucketed = preparation.bucketed

    def changing(*given: object) -> object:
        (tmp_path / "data" / "clicks.csv").write_text("page\n1\n")
        return bucketed(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(preparation, "bucketed", changing)
    with pytest.raises(PolicyError, match="keep changing"):
        spread_on_cluster(clinic, source, before, stamps, BUCKETS)
    assert not list((tmp_path / "layout").glob("segment-*"))


def test_a_unit_with_most_rows_is_in_one_bucket_and_within_its_memory(tmp_path: Path) -> None:
    path = write_clinic(tmp_path)
    write(
        tmp_path / "data" / "people.parquet",
        "SELECT range AS number, 'p' || CASE WHEN range % 10 > 0 THEN 0 ELSE range END AS person, "
        "range % 10 AS ward FROM range(2000000)",
    )
    policy = load(path)
    on_cluster(replace(policy, tables={"people": policy.tables["people"]}))
    sizes = [sum(each.values()) for each in rows_of(tmp_path / "layout", "people")]
    assert sum(sizes) == 2_000_000 and max(sizes) >= 1_800_000


def test_prepare_is_asked_of_the_cluster_and_here_of_this_machine(
    clinic: Policy, tmp_path: Path
) -> None:
    with Session(clinic.path) as session:
        session.data.prepare(BUCKETS)
    by_bytes = list((tmp_path / "layout").glob("segment-*/?????-*.parquet"))
    assert by_bytes
    with Session(clinic.path) as session:
        session.data.prepare(BUCKETS, here=True)
    (tmp_path / "layout" / MANIFEST).unlink()
    with Session(clinic.path) as session:
        session.data.prepare(BUCKETS + 1, here=True)
    (named,) = {len(f.name) for f in (tmp_path / "layout").glob("segment-*/*.parquet")}
    assert named == len("00000.parquet")


def test_who_is_killed_while_preparing_goes_on_from_there(clinic: Policy, tmp_path: Path) -> None:
    """San itself, and with it the driver."""
    layout = tmp_path / "layout"
    command = [
        sys.executable,
        "-m",
        "sanql",
        "prepare",
        str(clinic.path),
        "--buckets",
        str(BUCKETS),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as first:
        deadline = time.monotonic() + 200
        while len(list(layout.glob("segment-*/*.parquet"))) < 2 * BUCKETS:
            assert first.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(first.pid, signal.SIGKILL)
    time.sleep(3)  # those that it had started end by themselves
    assert not (layout / MANIFEST).exists()
    before = {path: path.stat().st_mtime_ns for path in layout.glob("segment-*/*.parquet")}
    on_cluster(clinic)
    kept = [path for path, written in before.items() if path.stat().st_mtime_ns == written]
    assert len(kept) == len(before) >= 2 * BUCKETS
    assert compare(clinic, ASKED, tmp_path / "here")
