"""Copies that questions run on: made once, used while they are what was made, and never half of one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from sanql.catalog import PreparedSource
from sanql.engines import Pool, open_engine, prepare
from sanql.kernel import Statement
from sanql.policy import Policy, load
from sanql.san import San
from support.cells import cells_of
from support.commands import run
from support.policies import dataset

pytestmark = pytest.mark.slow

TABLES = """\

[table.visits]
privacy_unit = "who"
rows_per_unit_max = 6
rows_per_group_max = 3
groups_per_unit_max = 2
[table.visits.column]
ward = { type = "text" }
cost = { type = "integer", bounds = [0, 100] }
"""
VISITS = """
    SELECT CASE WHEN i % 7 > 0 THEN (i * 31) % 900 END AS who, 'ward ' || i % 8 AS ward, i % 90 AS cost
    FROM range({}) AS numbers(i)
"""
BY_WARD = "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward"


def hospital(folder: Path, source: str = "visits.duckdb", rows: int = 5_000) -> Policy:
    """Return a policy over a database, or over a folder of files."""
    with duckdb.connect(str(folder / "visits.duckdb")) as made:
        made.execute(f"CREATE TABLE visits AS {VISITS.format(rows)}")
        (folder / "data").mkdir()
        made.execute(f"COPY visits TO '{folder}/data/visits.parquet'")
    (folder / "policy.toml").write_text(dataset(source) + TABLES)
    return load(folder / "policy.toml")


def prepared(policy: Policy, *, copied: bool = True) -> PreparedSource:
    return prepare(policy, engine=open_engine("in_process"), copied=copied)


def flip(path: Path) -> None:
    """Change one byte in the middle of a file."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        (byte,) = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def cut_off(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def exchange(path: Path) -> None:
    """Put another database of the same tables in its place."""
    path.unlink()
    with duckdb.connect(str(path)) as made:
        made.execute(
            f"CREATE TABLE visits AS SELECT *, 0::USMALLINT AS bucket FROM ({VISITS.format(9)})"
        )


def add_a_log(path: Path) -> None:
    path.with_name(path.name + ".wal").write_bytes(b"more rows")


@pytest.mark.parametrize("harm", [flip, cut_off, exchange, Path.unlink, add_a_log])
def test_a_copy_that_is_not_what_was_made_is_made_anew(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    policy = hospital(tmp_path, "data")
    before = prepared(policy)
    harm(before.database)
    after = prepared(policy)
    assert after.database == before.database
    assert after.stamp != before.stamp
    assert visits(policy, after) == [(5_000 - 715,)]


def test_a_copy_that_was_restored_byte_for_byte_is_used(tmp_path: Path) -> None:
    policy = hospital(tmp_path, "data")
    before = prepared(policy)
    shutil.copyfile(before.database, tmp_path / "kept")
    before.database.unlink()
    shutil.copyfile(tmp_path / "kept", before.database)
    restored = before.database.stat().st_ino
    assert prepared(policy).database.stat().st_ino == restored


def test_a_copy_is_read_and_written_by_its_owner_alone(tmp_path: Path) -> None:
    copy = prepared(hospital(tmp_path, "data")).database
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.parent.stat().st_mode & 0o777 == 0o700


def test_a_database_is_read_where_it_is_until_it_is_prepared(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    in_place = prepared(policy, copied=False)
    assert in_place.database == tmp_path / "visits.duckdb"
    assert prepared(policy).database.parent.suffix == ".cache"
    later = prepared(policy, copied=False)
    assert later.database == prepared(policy).database
    assert later.buckets


def test_the_cells_of_a_copy_are_those_of_the_original(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    original = prepared(policy, copied=False)
    found = []
    for source in (original, prepared(policy)):
        for kind in ("in_process", "workers"):
            with Pool(source, policy.engine, open_engine(kind)) as pool:
                found.append(sorted(map(str, cells_of(BY_WARD, policy, source, pool.run))))
    assert found[0]
    assert all(cells == found[0] for cells in found)


def test_the_command_prepares_and_the_next_question_uses_it(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    done = run("prepare", policy.path)
    assert done.exit_code == 0, done.output
    assert "prepared" in done.stdout
    with San(policy) as san:
        assert san.session.data.open().source.database.parent.suffix == ".cache"
        assert san.query("SELECT COUNT(*) FROM visits", epsilon=1).rows


def test_whatever_the_moment_of_its_death_a_half_made_copy_is_never_read(tmp_path: Path) -> None:
    policy = hospital(tmp_path, rows=200_000)
    for moment in (0.3, 0.6, 0.9, 1.2, 1.8):
        killed = subprocess.Popen(
            [sys.executable, "-m", "sanql", "prepare", str(policy.path)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moment)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        source = prepared(policy, copied=False)
        assert visits(policy, source) == [(200_000 - 28_572,)]
    assert visits(policy, prepared(policy)) == [(200_000 - 28_572,)]


def visits(policy: Policy, source: PreparedSource) -> list[tuple[int, ...]]:
    """Return how many rows of somebody there are."""
    count = f"SELECT count(*) AS n FROM {source.relations['visits']} WHERE who IS NOT NULL"
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        rows = pool.run(Statement(count))
    return [(rows.column("n")[0].as_py(),)]
