"""A process that is started before it is known what for: it is had by who wants one, and never left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from sanql.kernel import ConfinedProcess, Serve, database_files, stamp, start_ahead
from sanql.kernel.buckets import BucketProcess, OpenBuckets
from sanql.kernel.buckets.layout import BucketLayout
from sanql.kernel.process import WORKER, _ahead, _end_ahead

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="with one processor nothing is started ahead"
)

LEFT_WAITING = """
import os, sys
from sanql.kernel import start_ahead
from sanql.kernel.process import _ahead
start_ahead()
print(_ahead[0].process.pid, _ahead[0].spill, flush=True)
{then}
"""


@pytest.fixture(autouse=True)
def nothing_started() -> Iterator[None]:
    _end_ahead()
    yield
    _end_ahead()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "data.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS id FROM range(10)")
    return file


@contextmanager
def serving(database: Path) -> Iterator[ConfinedProcess]:
    process = ConfinedProcess(WORKER, Serve(database, stamp(database_files(database)), 256 << 20))
    try:
        process.await_ready()
        yield process
    finally:
        process.discard()


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def goes(pid: int) -> bool:
    """Return whether a process is gone within some seconds."""
    deadline = time.monotonic() + 20
    while is_there(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_there(pid)


def test_who_wants_a_process_is_given_the_one_that_was_started_once(database: Path) -> None:
    start_ahead()
    start_ahead()
    (ahead,) = _ahead
    with serving(database) as process:
        assert (process.pid, process.spill) == (ahead.process.pid, ahead.spill)
        with serving(database) as another:
            assert another.pid != process.pid
    assert not is_there(ahead.process.pid)
    assert not ahead.spill.exists()


def test_one_that_was_killed_while_it_waited_is_taken_by_nobody(database: Path) -> None:
    start_ahead()
    (ahead,) = _ahead
    ahead.process.kill()
    ahead.process.wait()
    with serving(database) as process:
        assert process.pid != ahead.process.pid
    assert not ahead.spill.exists()


def test_one_whose_folder_somebody_removed_is_taken_by_nobody(database: Path) -> None:
    start_ahead()
    (ahead,) = _ahead
    ahead.spill.rmdir()
    with serving(database) as process:
        assert process.pid != ahead.process.pid
    assert not is_there(ahead.process.pid)


def test_what_waits_for_a_request_over_a_source_is_given_none_over_buckets(tmp_path: Path) -> None:
    start_ahead()
    (ahead,) = _ahead
    process = BucketProcess(OpenBuckets(tmp_path, BucketLayout("", 1, (), (), {}), 256 << 20))
    try:
        assert process.pid != ahead.process.pid
        process.await_ready()
    finally:
        process.discard()
    assert not is_there(ahead.process.pid)


def test_with_one_processor_nothing_is_started() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        start_ahead()
    finally:
        os.sched_setaffinity(0, before)
    assert not _ahead


@pytest.mark.slow
@pytest.mark.parametrize("then", ["", "raise SystemExit(3)", "os.kill(os.getpid(), 9)"])
def test_what_nobody_wanted_ends_with_the_process_that_started_it(
    then: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEFT_WAITING.format(then=then)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    pid, spill = done.stdout.split()
    assert goes(int(pid))
    if "9" in then:  # then the next that is started removes it
        assert Path(spill).exists()
    else:
        assert not Path(spill).exists()


@pytest.mark.slow
def test_a_forked_child_takes_none_of_its_parents(database: Path) -> None:
    start_ahead()
    (ahead,) = _ahead
    child = os.fork()
    if child == 0:
        with serving(database) as process:
            os._exit(int(process.pid == ahead.process.pid))
    assert os.waitpid(child, 0)[1] == 0
    assert is_there(ahead.process.pid)
    assert ahead.spill.exists()


def test_a_forked_child_that_ends_leaves_what_its_parent_started() -> None:
    ends = "if os.fork() == 0: sys.exit()\nos.wait()\nsys.exit(not _ahead[0].spill.exists())"
    script = [sys.executable, "-c", LEFT_WAITING.format(then=ends)]
    subprocess.run(script, check=True, capture_output=True, timeout=60)
