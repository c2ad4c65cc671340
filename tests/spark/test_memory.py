"""Whoever schedules has no row: memories of drivers are looked through for a text that all rows have."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sanql
from sanql.ask import Session
from sanql.kernel.buckets import read_layout
from sanql.policy import load
from spark.conftest import _below, _command
from spark.test_preparing import ASKED, BUCKETS, POLICY, compare, rows_of, write, write_clinic

pytest.importorskip("deltalake")
import deltalake

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HERE = Path(__file__).parent


@pytest.fixture
def secret_rows(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Write a clinic with texts that this process does not know; whoever wrote them lives on."""
    write_clinic(tmp_path)
    with subprocess.Popen(
        [sys.executable, HERE / "memory.py", "write", tmp_path / "data" / "items.parquet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        yield process
        process.kill()


def test_no_row_is_ever_in_the_memory_of_the_driver(
    secret_rows: subprocess.Popen[str], tmp_path: Path, events: Path
) -> None:
    """Of San's process or of Spark's: all of both is looked through, after it was written and asked."""
    with Session(tmp_path / "policy.toml") as session:
        session.data.prepare(BUCKETS)
    assert rows_of_items(tmp_path) == ["there"]
    with sanql.open(tmp_path / "policy.toml") as san:
        for asked in (ASKED[1], "SELECT COUNT(*) FROM items WHERE LENGTH(note) > 3"):
            assert san.query(asked, epsilon=1).rows
        drivers = [os.getpid(), *java_drivers()]
        assert len(drivers) == 2
        assert look_for_rows([*drivers, secret_rows.pid]) == [str(secret_rows.pid)]
    time.sleep(2)
    logs = [str(path) for path in events.rglob("*") if path.is_file()]
    assert logs
    subprocess.run([sys.executable, HERE / "memory.py", "absent", *logs], check=True)


def rows_of_items(folder: Path) -> list[str]:
    """Return what another process finds in the files of a table."""
    (table,) = (t for t in read_layout(folder / "layout").tables if t.name == "items")
    paths = [str(folder / "layout" / f.path) for files in table.buckets for f in files]
    command = [sys.executable, str(HERE / "memory.py"), "read", *paths]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def as_lake(folder: Path) -> Path:
    """Put the files of a clinic into Delta tables, without a look at their rows; return its policy."""
    for table in ("people", "visits", "items", "clicks", "wards"):
        place = folder / "lake" / table
        place.mkdir(parents=True)
        for path in sorted((folder / "data").glob(f"{table}*")):
            if path.suffix == ".csv":
                write(place / "0.parquet", f"FROM '{path}'")
            for file in [path] if path.suffix == ".parquet" else path.glob("*.parquet"):
                file.rename(place / file.name)
        deltalake.convert_to_deltalake(str(place))
    policy = folder / "policy.toml"
    policy.write_text(POLICY.replace('"data"', '"delta:lake"'))
    return policy


def test_executors_read_the_files_of_a_lake_and_no_row_is_in_the_memory_of_the_driver(
    secret_rows: subprocess.Popen[str], tmp_path: Path
) -> None:
    path = as_lake(tmp_path)
    with Session(path) as session:
        session.data.prepare(BUCKETS)
    linked = tmp_path / "clinic.tables"
    assert not [file for file in linked.rglob("*.parquet") if not file.is_symlink()]
    assert rows_of_items(tmp_path) == ["there"]
    found = look_for_rows([os.getpid(), *java_drivers(), secret_rows.pid])
    assert found == [str(secret_rows.pid)]
    assert compare(load(path), ASKED, tmp_path / "here") >= len(ASKED)
    for table in ("people", "visits", "items", "wards"):
        assert rows_of(tmp_path / "layout", table) == rows_of(tmp_path / "here", table)


def look_for_rows(pids: list[int]) -> list[str]:
    """Return which of these processes have a text of the rows in their memory."""
    command = [sys.executable, str(HERE / "memory.py"), "look", *map(str, pids)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def java_drivers() -> list[int]:
    return [pid for pid in _below(os.getpid()) if b"SparkSubmit" in _command(pid)]
