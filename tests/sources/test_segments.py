"""What each file gives to a copy is done once: when others change, and when a preparation was killed.

The oracle is plain SQL over the files as they are.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from sanql.catalog import PreparedSource
from sanql.engines import open_engine, prepare
from sanql.kernel import (
    CopiedTable,
    CopyBefore,
    CopyFiles,
    CopyReport,
    Projection,
    TableFiles,
    clustering,
    stamp,
)
from sanql.policy import Policy, load
from support.policies import dataset
from support.volume import few_of

TABLES = """\

[table.people]
privacy_unit = "who"
key = "id"
rows_per_unit_max = 2
column.id = { type = "integer", bounds = [0, 100000] }

[table.visits]
privacy_unit = { via = "patient", references = "people.id" }
key = "visit"
rows_per_unit_max = 5
column.visit = { type = "integer", bounds = [0, 100000] }
column.cost = { type = "integer", bounds = [0, 100] }

[table.tests]
privacy_unit = "who"
rows_per_unit_max = 5
column.segment = { type = "text" }

[table.clicks]
privacy_unit = "row"
column.page = { type = "integer", bounds = [0, 100] }

[table.places]
public = true
column.place = { type = "text" }
"""
ROWS = {
    "people": "SELECT {seed} * 300 + i AS id, CASE WHEN i % 9 > 0 THEN i % 60 + {seed} % 3 END AS who",
    "visits": "SELECT {seed} * 1000 + i AS visit, (i * 17) % 1500 AS patient, i % 90 AS cost",
    "tests": "SELECT CASE WHEN i % 5 > 0 THEN i % 60 END AS who, 's\\x' || ({seed} + i) % 4 AS segment",
    "clicks": "SELECT ({seed} + i) % 90 AS page",
    "places": "SELECT 'place ' || ({seed} * 10 + i % 10) AS place",
}
# What each table of a copy should be, as plain SQL over the files; and the columns that it has for that.
COPIED = {
    "people": "SELECT id, who, count(*) OVER (PARTITION BY who) FROM people WHERE who IS NOT NULL",
    "visits": "SELECT visit, patient, cost, who, count(*) OVER (PARTITION BY who) "
    "FROM visits JOIN people ON patient = id WHERE who IS NOT NULL",
    "tests": "SELECT who, segment, count(*) OVER (PARTITION BY who) FROM tests WHERE who IS NOT NULL",
    "clicks": "SELECT page FROM clicks",
    "places": "SELECT place FROM places",
}
SHOWN = {
    "people": "id, who, rows",
    "visits": "visit, patient, cost, unit, rows",
    "tests": "who, segment, rows",
    "clicks": "page",
    "places": "place",
}

AS_IT_IS = {"visits": "SELECT visit, patient, cost FROM visits"}  # where a key leads to two rows
SHOWN_AS_IT_IS = {"visits": "visit, patient, cost"}


def write_file(folder: Path, table: str, name: str, seed: int, rows: int = 200) -> None:
    """Write a file of a table; another seed gives other rows, and never a person twice."""
    (folder / "data" / table).mkdir(parents=True, exist_ok=True)
    target = folder / "data" / table / f"{name}.parquet"
    with duckdb.connect() as made:
        select = f"{ROWS[table].format(seed=seed)} FROM range({rows}) AS numbers(i)"
        made.execute(f"COPY ({select}) TO '{target}'")


@pytest.fixture
def clinic(tmp_path: Path) -> Policy:
    for table in ROWS:
        for seed in range(3):
            write_file(tmp_path, table, f"part{seed}", seed)
    (tmp_path / "policy.toml").write_text(dataset("data") + TABLES)
    return load(tmp_path / "policy.toml")


def prepared(policy: Policy, kind: str = "in_process") -> PreparedSource:
    return prepare(policy, engine=open_engine(kind))


def check_copy(policy: Policy, source: PreparedSource) -> None:
    """Compare every table of a copy, with all that it has besides, to the files as they are."""
    with duckdb.connect() as plain:
        for table in ROWS:
            files = f"{policy.path.parent}/data/{table}/*.parquet"
            plain.execute(f"CREATE VIEW {table} AS SELECT * FROM '{files}'")
        plain.execute(f"ATTACH '{source.database}' AS copy (READ_ONLY)")
        twice = "SELECT id FROM people WHERE who NOTNULL GROUP BY id HAVING count(*) > 1"
        several = plain.sql(twice).fetchall() != []
        copies, columns = (
            (COPIED | AS_IT_IS, SHOWN | SHOWN_AS_IT_IS) if several else (COPIED, SHOWN)
        )
        for table, expected in copies.items():
            own = plain.sql(f"SELECT {columns[table]} FROM copy.{table} ORDER BY ALL").fetchall()
            assert own == plain.sql(f"SELECT * FROM ({expected}) ORDER BY ALL").fetchall(), table
            assert own
        if several:
            return
        for table in ("people", "visits", "tests"):
            whose = "unit" if table == "visits" else "who"
            placed = plain.sql(
                f"SELECT bucket, {whose} FROM copy.{table} ORDER BY rowid"
            ).fetchall()
            assert placed == sorted(placed), table
        # a unit is in the same bucket wherever it is found
        homes = "SELECT who, bucket FROM copy.people UNION SELECT unit, bucket FROM copy.visits "
        homes += "UNION SELECT who, bucket FROM copy.tests"
        assert (
            plain.sql(f"SELECT who FROM ({homes}) GROUP BY who HAVING count(*) > 1").fetchall()
            == []
        )


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda folder: None,
    "a file more": lambda folder: write_file(folder, "visits", "part9", 9),
    "a file less": lambda folder: (folder / "data/tests/part1.parquet").unlink(),
    "another file": lambda folder: write_file(folder, "tests", "part1", 7),
    "a file of what is referred to": lambda folder: write_file(folder, "people", "part1", 6),
    "the same file twice": lambda folder: shutil.copy(
        folder / "data/visits/part0.parquet", folder / "data/visits/part5.parquet"
    ),
    "other names": lambda folder: (folder / "data/clicks/part0.parquet").rename(
        folder / "data/clicks/zero.parquet"
    ),
    "a public file": lambda folder: write_file(folder, "places", "part0", 5),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["in_process", "workers"])
def test_a_copy_after_a_change_is_that_of_the_files_as_they_are(
    change: str, kind: str, clinic: Policy
) -> None:
    check_copy(clinic, prepared(clinic, kind))
    CHANGES[change](clinic.path.parent)
    check_copy(clinic, prepared(clinic, kind))


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(10), 2))
def test_a_copy_after_many_changes_is_that_of_the_files_as_they_are(
    seed: int, clinic: Policy
) -> None:
    drawn = random.Random(seed)
    for step in range(12):
        for _ in range(drawn.randint(1, 3)):
            table, name = drawn.choice(list(ROWS)), f"part{drawn.randint(0, 4)}"
            path = clinic.path.parent / "data" / table / f"{name}.parquet"
            if path.exists() and drawn.random() < 0.3 and len([*path.parent.iterdir()]) > 1:
                path.unlink()
            else:
                write_file(clinic.path.parent, table, name, 5 + 20 * step + drawn.randint(0, 9))
        check_copy(clinic, prepared(clinic))


def request_for(folder: Path, names: dict[str, Path]) -> CopyFiles:
    """Return the request for a copy of one table, each of whose segments is one file's."""
    columns = Projection(("who", "segment"), ('"who"', '"segment"'), {})
    types = {"who": "BIGINT", "segment": "VARCHAR"}
    projections = (columns,) * len(names)
    table = CopiedTable("tests", types, projections, "who", segments=tuple(names))
    files = TableFiles("tests", "parquet", tuple(names.values()))
    target, paths = folder / "copy.building", names.values()
    return CopyFiles((files,), target, (table,), 512 << 20, 7, stamp=stamp(paths))


def copied(request: CopyFiles) -> list[tuple[object, ...]] | None:
    """Return the rows of a copy, each with its unit's number; None where it cannot be made."""
    done = open_engine("in_process").copy(request, lambda _: None)
    if not isinstance(done, CopyReport):
        return None
    with duckdb.connect(str(request.target), read_only=True) as made:
        return made.sql("SELECT who, segment, rows FROM tests ORDER BY ALL").fetchall()


@pytest.fixture
def three(tmp_path: Path) -> dict[str, Path]:
    """Return three files of a table, by the names of their segments."""
    for seed in range(3):
        write_file(tmp_path, "tests", f"part{seed}", seed)
    return {f"s{n}": tmp_path / f"data/tests/part{n}.parquet" for n in range(3)}


@pytest.mark.slow
def test_a_file_that_has_not_changed_is_not_read_again(
    three: dict[str, Path], tmp_path: Path
) -> None:
    request = request_for(tmp_path, three)
    whole = copied(request)
    request.target.rename(tmp_path / "before.duckdb")
    before = CopyBefore(tmp_path / "before.duckdb", {"tests": ("s0", "s1", "s2")})
    for name in ("s0", "s2"):  # whoever tried to read them would fail
        three[name].unlink()
    assert copied(request) is None
    again = replace(request, before=before, target=tmp_path / "again.building")
    assert whole is not None and copied(again) == whole


KILLED = """
import os, pickle, sys
from sanql.engines import open_engine
request = pickle.loads(bytes.fromhex(sys.argv[1]))
left = [int(sys.argv[2])]
def begun(_):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), 9)
open_engine("in_process").copy(request, begun)
"""


@pytest.mark.slow
def test_a_file_that_was_copied_before_a_kill_is_not_read_again(
    three: dict[str, Path], tmp_path: Path
) -> None:
    request = request_for(tmp_path, three)
    whole = copied(request_for(tmp_path / "data", three))
    command = [sys.executable, "-c", KILLED, pickle.dumps(request).hex(), "2"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    third = three["s2"].read_bytes()
    for path in three.values():
        path.unlink()
    assert copied(request) is None  # the third had not been read
    three["s2"].write_bytes(third)
    request = replace(request, stamp=stamp([three["s2"]]))
    assert whole is not None and copied(request) == whole


MOVING = ("_cluster_parts", "_put_apart", "_place")


@pytest.mark.slow
def test_a_part_that_was_placed_before_a_kill_is_not_placed_twice(
    three: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows take much memory there are many parts, and a kill at any line comes between two."""
    request = replace(request_for(tmp_path, three), memory_bytes=512 << 20)
    whole = copied(request_for(tmp_path / "data", three))
    traced = KILLED.replace(
        "open_engine(",
        f"""
from sanql.kernel import clustering
clustering._ROW_BYTES = 32 << 20
lines = [int(sys.argv[3])]
def trace(frame, event, _):
    if frame.f_code.co_filename != {clustering.__file__!r}:
        return None
    lines[0] -= event == "line" and frame.f_code.co_name in {MOVING}
    if not lines[0]:
        os.kill(os.getpid(), 9)
    return trace
sys.settrace(trace)
open_engine(""",
    ).replace("left = [", "left = [1000 + ")
    for line in (12, 29, 47, 70, 95):
        command = [sys.executable, "-c", traced, pickle.dumps(request).hex(), "2", str(line)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    for path in three.values():
        path.unlink()
    monkeypatch.setattr(clustering, "_ROW_BYTES", 32 << 20)
    assert whole is not None and copied(request) == whole


@pytest.mark.slow
@pytest.mark.parametrize("what", ["rows.building.staging", ".building"])
def test_a_byte_changed_in_what_was_begun_spoils_no_copy(what: str, clinic: Policy) -> None:
    folder = clinic.ledger.with_suffix(".cache")
    killed = KILLED_AT_FILE.format(files=12)
    command = [sys.executable, "-c", killed, str(clinic.path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    begun = [path for path in folder.iterdir() if path.name.endswith(what)]
    assert begun
    for path in begun:
        with path.open("r+b") as file:
            for place in range(1 << 12, path.stat().st_size, 1 << 12):
                file.seek(place)
                file.write(os.urandom(8))
    check_copy(clinic, prepared(clinic))
    assert not [*folder.glob("*building*")]


KILLED_AT_FILE = """
import os, sys
from pathlib import Path
from sanql.engines import open_engine, prepare
from sanql.policy import load
said = []
def progress(words):
    said.append(words)
    if len(said) > {files}:
        os.kill(os.getpid(), 9)
prepare(load(Path(sys.argv[1])), progress, engine=open_engine("in_process"))
"""


@pytest.mark.slow
def test_what_was_begun_of_other_data_is_taken_where_it_is_the_same(clinic: Policy) -> None:
    """A file changes between the kill and the next preparation."""
    command = [sys.executable, "-c", KILLED_AT_FILE.format(files=13), str(clinic.path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    write_file(clinic.path.parent, "visits", "part0", 8)
    write_file(clinic.path.parent, "tests", "part1", 8)
    source = prepared(clinic)
    check_copy(clinic, source)
    folder = clinic.ledger.with_suffix(".cache")
    assert {path.name for path in folder.iterdir()} == {
        "lock",
        f"{source.fingerprint}.json",
        source.database.name,
    }


@pytest.mark.slow
def test_a_worker_killed_while_it_copies_has_another_that_goes_on(clinic: Policy) -> None:
    """Three times in one preparation; each file is told of once."""
    drawn, said = random.Random(2), list[str]()

    def progress(words: str) -> None:
        said.append(words)
        if len(said) in (2, 9, 15):
            worker = max(workers_of(os.getpid()), key=begun)  # others are of tests before this one
            threading.Timer(drawn.uniform(0, 0.05), kill, (worker,)).start()

    source = prepare(clinic, progress)
    check_copy(clinic, source)
    assert [words.split(": ")[1] for words in said] == [f"{n} of 15" for n in range(1, 16)]


def begun(pid: str) -> int:
    """Return when a process was started, in ticks; process ids begin anew."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def workers_of(pid: int) -> list[str]:
    found = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    children = [child for listed in found for child in listed.split()]
    return [c for c in children if b"kernel.worker" in Path(f"/proc/{c}/cmdline").read_bytes()]


def kill(pid: str) -> None:
    """Kill a worker, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(int(pid), signal.SIGKILL)


@pytest.mark.slow
def test_a_preparation_killed_at_random_goes_on_with_what_its_worker_left(tmp_path: Path) -> None:
    """At once, while the worker of the one that was killed may still be there."""
    for seed in range(6):
        write_file(tmp_path, "tests", f"part{seed}", seed, rows=150_000)
    text = TABLES[TABLES.index("[table.tests]") : TABLES.index("[table.clicks]")]
    (tmp_path / "policy.toml").write_text(dataset("data") + text)
    policy, drawn = load(tmp_path / "policy.toml"), random.Random(4)
    waiting = policy.ledger.with_suffix(".cache") / "rows.building.staging"
    inodes: list[int] = []
    for files in (1, 3, 4):
        command = [sys.executable, "-c", KILLED_LATER, str(policy.path), str(files)]
        done = subprocess.run([*command, str(drawn.uniform(0, 0.1))], check=False)
        assert done.returncode == -signal.SIGKILL
        inodes.append(waiting.stat().st_ino)
    source = prepare(policy, lambda _: inodes.append(waiting.stat().st_ino))
    assert len({*inodes}) == 1
    with duckdb.connect(str(source.database), read_only=True) as copy:
        found = copy.sql(
            "SELECT segment, who, count(*), min(rows) FROM tests GROUP BY ALL ORDER BY ALL"
        )
        files = f"{tmp_path}/data/tests/*.parquet"
        plain = f"SELECT *, count(*) OVER (PARTITION BY who) AS rows FROM '{files}'"
        whole = copy.sql(
            f"SELECT segment, who, count(*), min(rows) FROM ({plain} WHERE who NOTNULL) "
            "GROUP BY ALL ORDER BY ALL"
        )
        assert found.fetchall() == whole.fetchall()


KILLED_LATER = """
import os, sys, threading
from pathlib import Path
from sanql.engines import prepare
from sanql.policy import load
said = []
def progress(words):
    said.append(words)
    if len(said) == int(sys.argv[2]) + 1:
        threading.Timer(float(sys.argv[3]), os.kill, (os.getpid(), 9)).start()
prepare(load(Path(sys.argv[1])), progress)
os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
def test_files_are_told_of_and_then_the_parts_that_are_moved(
    clinic: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clustering, "_ROW_BYTES", 32 << 20)
    said: list[str] = []
    check_copy(clinic, prepare(clinic, said.append, engine=open_engine("in_process")))
    files = [words for words in said if words.startswith("preparing")]
    assert [words.split(": ")[1] for words in files] == [f"{n} of 15" for n in range(1, 16)]
    moved = [words for words in said if words not in files]
    parts = [words.split(": ") for words in moved if "moving people to its units" in words]
    assert [part for _, part in parts] == [f"part {n}" for n in range(1, len(parts) + 1)]
    assert len(parts) > 2 and any("moving visits" in words for words in moved)


@pytest.mark.slow
def test_long_texts_are_moved_in_parts_that_fit_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    with duckdb.connect() as made:
        rows = (
            "SELECT i % 500 AS who, repeat(md5(i::VARCHAR), 120) AS segment FROM range(240000) n(i)"
        )
        made.execute(f"COPY ({rows}) TO '{path}'")
    request = replace(request_for(tmp_path, {"s0": path}), memory_bytes=256 << 20)
    told: list[str] = []
    assert isinstance(open_engine().copy(request, told.append), CopyReport)
    assert len(told) > 4  # the file, and parts
    with duckdb.connect(str(request.target), read_only=True) as copy:
        found = copy.sql(
            "SELECT count(*), count(DISTINCT segment), min(rows), max(rows) FROM tests"
        )
        assert found.fetchall() == [(240_000, 240_000, 480, 480)]
