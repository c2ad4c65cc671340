"""Workers answer, fail in one way only, and come back."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sanql.catalog.description import PreparedSource
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.errors import Unavailable
from sanql.kernel.held_folders import locked_spill, sweep_spills
from sanql.kernel.messages import Statement
from sanql.policy.model import EngineLimits, Policy

pytestmark = pytest.mark.slow

COUNT = 'SELECT count(*) AS n FROM "data"."main"."people"'
ENDLESS = "SELECT sum(hash(range)) FROM range(1000000000000)"


def processes(workers: Pool) -> list[int]:
    return workers.pids()


def wait_until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.02)
    return true()


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ticks(pid: int) -> int:
    """Return the processor time a process has used, in hundredths of a second."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


class Taker:
    """A stage that gives every piece of a result to a function, and makes nothing of it."""

    def __init__(self, take: Callable[[pa.Table], object]) -> None:
        self.take = take

    def finish(self) -> None: ...


def stream(workers: Pool, sql: str, take: Callable[[pa.Table], object]) -> None:
    with workers.lease() as lease:
        lease.stream(Statement(sql), lambda: Taker(take))


@contextmanager
def sampled(pid: int, *fields: str) -> Iterator[dict[str, int]]:
    """Watch a process; within, and after, the most bytes that its status has shown are there."""
    peaks = dict.fromkeys(fields, 0)
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except (FileNotFoundError, ProcessLookupError):
                return
            shown = dict(line.split(":", 1) for line in status.splitlines())
            for field in fields:
                if field in shown:  # a process that is gone, but not forgotten, has no memory
                    peaks[field] = max(peaks[field], int(shown[field].split()[0]) << 10)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        done.set()
        watcher.join()


def test_a_query_returns_its_result_with_integers_as_they_are(workers: Pool) -> None:
    table = workers.run(
        Statement(
            'SELECT "city", count(*) AS n, max("age")::BIGINT AS oldest '
            'FROM "data"."main"."people" WHERE "age" >= ? GROUP BY "city" ORDER BY "city"',
            (30,),
        ),
    )
    assert table.schema == pa.schema(
        [("city", pa.string()), ("n", pa.int64()), ("oldest", pa.int64())]
    )
    assert table.column("n").to_pylist() == [
        sum(1 for i in range(1000) if i % 90 >= 30 and i % 7 == k) for k in range(7)
    ]


def test_parameters_of_every_kind_arrive_unchanged(workers: Pool) -> None:
    values = [
        None,
        True,
        -(2**63),
        2**63 - 1,
        0.1,
        "it's \x01 ü 'x'; --",
        b"\x00\xff",
        date(2024, 2, 29),
        datetime(2024, 2, 29, 12, 30, 1, 5),
    ]
    columns = ", ".join(f"? AS c{index}" for index in range(len(values)))
    table = workers.run(Statement(f"SELECT {columns}", tuple(values)))
    assert [column[0].as_py() for column in table.columns] == values


def test_an_empty_result_keeps_its_columns(workers: Pool) -> None:
    table = workers.run(Statement('SELECT "age" FROM "data"."main"."people" WHERE false'))
    assert (table.num_rows, table.column_names) == (0, ["age"])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT error('Alice')",
        "SELECT 'Alice'::INTEGER",
        'SELECT "nothing" FROM "data"."main"."people"',
        "SELECT 9223372036854775807 + 1",
        "SELEC",
        "SELECT ?",
    ],
)
def test_an_engine_error_says_nothing_and_leaves_no_trace_of_itself(
    sql: str, workers: Pool, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Unavailable) as caught:
        workers.run(Statement(sql))
    error = caught.value
    assert (error.code, error.message) == ("unavailable", "the engine could not answer")
    assert error.__cause__ is None
    assert error.__context__ is None
    assert capfd.readouterr() == ("", "")


def test_a_failed_worker_is_replaced(workers: Pool) -> None:
    workers.warm()
    (before,) = processes(workers)
    with pytest.raises(Unavailable):
        workers.run(Statement("SELECT error('x')"))
    (after,) = processes(workers)
    assert after != before
    assert not running(before)
    assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_a_query_past_its_deadline_is_killed_and_the_next_one_works(
    source: PreparedSource, people: Policy
) -> None:
    with Pool(source, replace(people.engine, deadline_seconds=0.7), WorkerEngine()) as workers:
        workers.warm()
        started = time.monotonic()
        with pytest.raises(Unavailable):
            workers.run(Statement(ENDLESS))
        assert 0.7 <= time.monotonic() - started < 1.7
        assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_what_is_left_of_a_deadline_may_be_less(workers: Pool) -> None:
    with pytest.raises(Unavailable):
        workers.run(Statement("SELECT 1"), None, 0.0)
    assert workers.run(Statement("SELECT 1 AS one"), None, 60.0).column("one").to_pylist() == [1]


@pytest.mark.parametrize(
    "bomb",
    [
        "SELECT length(string_agg(repeat('x', 1000000) || range, '')) FROM range(100000)",
        "SELECT len(list(repeat('y', 100000) || range)) FROM range(1000000)",
        "SELECT length(repeat(repeat('z', 30000), 100000))",
        "SELECT length(repeat('z', 4000000000 // 2)) + length(repeat('w', 4000000000 // 2))",
        "SELECT quantile_cont(md5(range::VARCHAR)::VARCHAR, 0.5) FROM range(100000000)",
        pytest.param(
            "SELECT length(histogram(md5(range::VARCHAR))::VARCHAR) FROM range(9000000)",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_a_query_that_wants_all_memory_ends_in_the_worker_only(
    bomb: str, source: PreparedSource
) -> None:
    with Pool(source, EngineLimits(256 << 20, 30.0, 1), WorkerEngine()) as workers:
        workers.warm()
        (pid,) = processes(workers)
        with sampled(pid, "VmRSS") as peaks, pytest.raises(Unavailable):
            workers.run(Statement(bomb))
        assert peaks["VmRSS"] < (256 + 192 + 200 + 48 * (os.cpu_count() or 1)) << 20
        assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_a_query_larger_than_memory_spills_and_answers(source: PreparedSource) -> None:
    with Pool(source, EngineLimits(160 << 20, 60.0, 1), WorkerEngine()) as workers:
        table = workers.run(
            Statement(
                "SELECT count(*) AS n FROM (SELECT md5(range::VARCHAR) AS key, count(*) AS n "
                "FROM range(4000000) GROUP BY key) WHERE n = 1"
            ),
        )
        assert table.to_pydict() == {"n": [4_000_000]}


def test_of_a_workers_memory_only_what_it_holds_is_counted(
    source: PreparedSource,
) -> None:
    """What one question has freed does not count against the next, though allocators keep it."""
    key = "repeat(md5(range::VARCHAR), 9)"
    ranked = f"SELECT range AS n, row_number() OVER (PARTITION BY {key} ORDER BY range) AS r"
    asked = [
        f"SELECT count(*) AS n FROM ({ranked} FROM range(1000000)) WHERE r = 1",
        f"SELECT count(DISTINCT {key}) AS n FROM range(1000000)",
    ]
    with Pool(source, EngineLimits(1000 << 20, 120.0, 1), WorkerEngine()) as workers:
        workers.warm()
        (pid,) = processes(workers)
        with sampled(pid, "VmData", "VmRSS") as peaks:
            for sql in asked * 2:
                assert workers.run(Statement(sql)).to_pydict() == {"n": [1_000_000]}
        assert processes(workers) == [pid]
    assert peaks["VmData"] - peaks["VmRSS"] < 250 << 20, "what is counted is what is held"


def test_a_result_of_a_quarter_of_the_memory_is_answered(source: PreparedSource) -> None:
    with Pool(source, EngineLimits(256 << 20, 60.0, 1), WorkerEngine()) as workers:
        table = workers.run(
            Statement(
                "SELECT repeat(md5(range::VARCHAR), 3) AS key, range AS m, range + 1 AS n "
                "FROM range(600000) GROUP BY ALL"
            ),
        )
        assert 60 << 20 < table.nbytes < 70 << 20
        assert sum(table.column("m").to_pylist()) == sum(range(600_000))


def test_a_result_larger_than_the_memory_streams_through_it(source: PreparedSource) -> None:
    """Groups that had to spill, and 440 MB of them: neither side ever holds them all."""
    rows, size, largest = 0, 0, 0

    def take(some: pa.Table) -> None:
        nonlocal rows, size, largest
        rows, size, largest = rows + some.num_rows, size + some.nbytes, max(largest, some.nbytes)

    with Pool(source, EngineLimits(256 << 20, 120.0, 1), WorkerEngine()) as workers:
        stream(
            workers,
            "SELECT repeat(md5(range::VARCHAR), 8) AS key, count(*) AS n "
            "FROM range(1600000) GROUP BY ALL",
            take,
        )
    assert rows == 1_600_000
    assert size > 400 << 20
    assert largest < 4 << 20


@pytest.mark.parametrize(
    "late",
    [
        "CASE WHEN range = 1999999 THEN error('Alice') ELSE 'x' END",
        "(range // 7000)::UTINYINT",
    ],
)
def test_a_failure_after_some_rows_is_the_same_failure(late: str, workers: Pool) -> None:
    had: list[int] = []
    with pytest.raises(Unavailable) as caught:
        sql = f"SELECT range AS n, {late} AS x FROM range(2000000)"
        stream(workers, sql, lambda t: had.append(len(t)))
    error = caught.value
    assert had, "nothing had been sent by then, so nothing was tried"
    assert (error.code, error.message) == ("unavailable", "the engine could not answer")
    assert (error.__cause__, error.__context__) == (None, None)
    assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_a_failure_of_whoever_takes_the_rows_is_the_same_failure(workers: Pool) -> None:
    """And the rows still on their way are nobody's: the worker that sends them is replaced."""

    def refuse(_: pa.Table) -> None:
        raise MemoryError

    workers.warm()
    (before,) = processes(workers)
    with pytest.raises(Unavailable) as caught:
        stream(workers, "SELECT range AS n FROM range(2000000)", refuse)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert not running(before)
    assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_a_deadline_holds_for_all_rows_together(source: PreparedSource, people: Policy) -> None:
    """A result that goes on for ever, though there is always a next piece of it."""
    with Pool(source, replace(people.engine, deadline_seconds=1.0), WorkerEngine()) as workers:
        workers.warm()
        with pytest.raises(Unavailable):
            stream(workers, "SELECT range AS n FROM range(1000000000000)", lambda _: None)
        assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


@pytest.mark.parametrize("count", [1, 2])
def test_threads_share_workers_without_mixing_answers(
    count: int, source: PreparedSource, people: Policy
) -> None:
    with Pool(source, replace(people.engine, workers=count), WorkerEngine()) as workers:

        def ask(number: int) -> int:
            if number % 10 == 7:
                with pytest.raises(Unavailable):
                    workers.run(Statement("SELECT error('x')"))
                return number
            return int(
                workers.run(Statement("SELECT ?::BIGINT AS echo", (number,))).column(0)[0].as_py()
            )

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(ask, range(40))) == list(range(40))
        assert len(processes(workers)) <= count


def test_an_interrupted_caller_does_not_leave_its_query_to_the_next(workers: Pool) -> None:
    workers.warm()
    (before,) = processes(workers)
    main = threading.main_thread().ident
    # a shell that starts the tests in the background has them ignore interrupts
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            workers.run(Statement(ENDLESS))
    finally:
        signal.signal(signal.SIGINT, former)
    assert not running(before)
    assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_closing_kills_workers_and_removes_their_spill(
    source: PreparedSource, people: Policy
) -> None:
    workers = Pool(source, replace(people.engine, workers=2), WorkerEngine())
    workers.warm()
    pids, spills = processes(workers), [server.spill for server in workers._started]
    assert [oct(spill.stat().st_mode & 0o777) for spill in spills] == ["0o700", "0o700"]
    workers.close()
    workers.close()
    assert not any(map(running, pids))
    assert not any(spill.exists() for spill in spills)
    with pytest.raises(Unavailable):
        workers.run(Statement(COUNT))


def test_closing_ends_a_query_in_another_thread(source: PreparedSource, people: Policy) -> None:
    workers = Pool(source, people.engine, WorkerEngine())
    workers.warm()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(workers.run, Statement(ENDLESS))
        time.sleep(0.3)
        workers.close()
        with pytest.raises(Unavailable):
            asked.result(timeout=5)


def test_forgotten_workers_are_collected(source: PreparedSource, people: Policy) -> None:
    workers = Pool(source, people.engine, WorkerEngine())
    workers.warm()
    (pid,), (spill,) = processes(workers), [server.spill for server in workers._started]
    del workers
    gc.collect()
    assert not running(pid)
    assert not spill.exists()


def test_a_worker_has_neither_the_parents_environment_nor_its_terminal(
    source: PreparedSource, people: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANQL_TEST_SECRET", "secret")
    with Pool(source, people.engine, WorkerEngine()) as workers:
        workers.warm()
        (pid,) = processes(workers)
        names = {
            entry.split(b"=")[0] for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        }
        printed = {str(Path(f"/proc/{pid}/fd/{number}").readlink()) for number in (1, 2)}
    assert printed == {"/dev/null"}
    expected = {"LC_ALL", "OPENBLAS_NUM_THREADS", "PYTHONPATH", "SANQL_PROCESSORS"}
    allocators = {"ARROW_DEFAULT_MEMORY_POOL", "DUCKDB_JE_MALLOC_CONF"}
    allocators |= {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}
    assert names <= {b"", *map(str.encode, expected | allocators)}


def test_a_source_replaced_after_opening_is_not_mixed_with_the_new_one(
    source: PreparedSource, people: Policy, tmp_path: Path
) -> None:
    path = tmp_path / "copy.duckdb"
    shutil.copy(source.database, path)
    with Pool(replace(source, database=path, stamp=None), people.engine, WorkerEngine()) as workers:
        workers.warm()
        path.unlink()
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE people AS SELECT 1 AS person_id")
        assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}
        (pid,) = processes(workers)
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not running(pid), 5)
        with pytest.raises(Unavailable):
            workers.run(Statement(COUNT))


SCRIPT = """
import sys, threading, time
from pathlib import Path
from sanql.catalog.description import PreparedSource
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.kernel.messages import Statement
from sanql.policy.model import EngineLimits
source = PreparedSource(dict(), dict(), dict(), dict(), Path(sys.argv[1]), "")
workers = Pool(source, EngineLimits(256 << 20, 600.0, 2), WorkerEngine())
workers.warm()
print(*[server.pid for server in workers._started], flush=True)
{also}
threading.Thread(target=workers.run, args=(Statement(sys.argv[2]),), daemon=True).start()
time.sleep(600)
"""


@pytest.mark.parametrize("also", ["", "import os\nif os.fork() == 0: time.sleep(30); os._exit(0)"])
def test_no_worker_outlives_a_killed_parent_even_in_the_middle_of_a_query(
    also: str, source: PreparedSource
) -> None:
    """Nor if a forked child holds its pipes. The script needs no `__main__` guard, nor do users'."""
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(also=also), str(source.database), ENDLESS],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    try:
        idle = sum(map(ticks, pids))
        assert wait_until(lambda: sum(map(ticks, pids)) > idle + 30, 20)
        parent.kill()
        parent.wait()
        assert wait_until(lambda: not any(map(running, pids)), 3)
    finally:
        parent.kill()
        parent.stdout.close()
        for pid in filter(running, pids):
            os.kill(pid, signal.SIGKILL)


def test_leftover_spill_directories_are_swept_at_once(
    source: PreparedSource, people: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, fresh = tmp_path / "sanql-spill-left", tmp_path / "sanql-new-fresh"
    left.mkdir()
    fresh.mkdir()
    (left / "rows.tmp").write_text("rows")
    with Pool(source, people.engine, WorkerEngine()) as workers:
        workers.warm()
        (spill,) = [server.spill for server in workers._started]
        with Pool(source, people.engine, WorkerEngine()) as others:
            others.warm()
        assert spill.exists()
    assert not left.exists()
    assert fresh.exists(), "somebody may be about to lock it"


def test_what_a_killed_process_has_spilled_is_gone_with_the_next_worker(
    source: PreparedSource, people: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parent and worker killed together, as by a machine that is short of memory."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(also=""), str(source.database), "SELECT 1"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    os.kill(parent.pid, signal.SIGSTOP)  # or it would start the successors of its workers
    for pid in [*pids, parent.pid]:
        os.kill(pid, signal.SIGKILL)
    parent.communicate()
    assert wait_until(lambda: not any(map(running, pids)), 20)
    left = list(tmp_path.glob("sanql-spill-*"))
    assert left
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def swept() -> bool:
        with Pool(source, people.engine, WorkerEngine()) as workers:
            workers.warm()
        return not any(spill.exists() for spill in left)

    # the last threads of a killed process may hold its files a moment longer than it has a name
    assert wait_until(swept, 20)


def test_directories_are_never_swept_while_they_are_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = threading.Event()

    def sweep() -> None:
        while not done.is_set():
            sweep_spills()

    sweeping = [threading.Thread(target=sweep) for _ in range(3)]
    for each in sweeping:
        each.start()
    try:
        made = [locked_spill() for _ in range(300)]
    finally:
        done.set()
        for each in sweeping:
            each.join()
    assert all(spill.is_dir() for spill, _ in made)
    for _, lock in made:
        os.close(lock)
    sweep_spills()
    assert not any(spill.exists() for spill, _ in made)


def test_a_forked_child_uses_workers_of_its_own_and_leaves_the_parents_alone(
    source: PreparedSource,
) -> None:
    """Ends as a forked server's child does: through the interpreter's exit, finalizers and all."""
    script = """
import os, sys
from pathlib import Path
from sanql.catalog.description import PreparedSource
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.kernel.messages import Statement
from sanql.policy.model import EngineLimits
source = PreparedSource({}, {}, {}, {}, Path(sys.argv[1]), "")
workers = Pool(source, EngineLimits(256 << 20, 60.0, 1), WorkerEngine())
ask = lambda n: workers.run(Statement("SELECT ?::BIGINT AS n", (n,))).to_pydict()["n"][0]
assert ask(1) == 1
(before,) = [server.pid for server in workers._started]
child = os.fork()
if child == 0:
    assert ask(2) == 2
    assert before not in [server.pid for server in workers._started]
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert ask(3) == 3
assert before in [server.pid for server in workers._started]
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(source.database)], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_worker_starts_without_numpy_and_pandas(source: PreparedSource, people: Policy) -> None:
    """Each would double the time to the first answer, and be one more thing beside the rows."""
    with Pool(source, people.engine, WorkerEngine()) as workers:
        workers.run(Statement(COUNT))
        mapped = [Path(f"/proc/{pid}/maps").read_text() for pid in processes(workers)]
    assert mapped
    assert all("pyarrow" in text for text in mapped)
    assert not any("numpy" in text or "pandas" in text for text in mapped)
