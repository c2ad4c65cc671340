"""Workers that somebody ends: nobody is charged for those that wait, and a busy one has a second."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sanql.catalog.description import PreparedSource
from sanql.engines.duckdb import process
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.errors import Unavailable
from sanql.kernel.messages import Statement
from sanql.policy import load
from sanql.policy.model import Policy
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

COUNT = 'SELECT count(*) AS n FROM "data"."main"."people"'
ENDLESS = "SELECT sum(hash(range)) FROM range(1000000000000)"
ROWS = "SELECT range AS n FROM range(2000000)"
POLICY = (
    dataset("people.duckdb", name="town", epsilon=1000)
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 100] }
"""
)


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT i AS id, 1 AS age FROM range(200000) t(i)"
        )
    (tmp_path / "policy.toml").write_text(POLICY)
    with San(load(tmp_path / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


class Interrupted:
    """A stage that counts rows; the first that is begun does something else at its first rows."""

    begun = 0

    def __init__(self, at_first: object) -> None:
        self.rows = 0
        self._at_first = at_first if Interrupted.begun == 0 else None
        Interrupted.begun += 1

    def take(self, some: pa.Table) -> None:
        self.rows += some.num_rows
        if callable(self._at_first):
            self._at_first()
            self._at_first = None

    def finish(self) -> int:
        return self.rows


@pytest.fixture(autouse=True)
def _none_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interrupted, "begun", 0)


def kill(workers: Pool, number: signal.Signals = signal.SIGKILL) -> None:
    (pid,) = workers.pids()
    os.kill(pid, number)


def test_a_worker_that_is_being_killed_is_not_taken_for_alive(workers: Pool) -> None:
    """Without waiting until it is dead: a moment before, or in which, it is looked at."""
    for _ in range(5):
        workers.warm()
        kill(workers)
        with workers.lease() as lease:
            assert lease.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_a_worker_that_does_not_say_that_it_is_ready_is_replaced(
    workers: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_CONFIRM_SECONDS_MAX", 1.0)
    workers.warm()
    (before,) = workers.pids()
    kill(workers, signal.SIGSTOP)
    assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}
    assert before not in workers.pids()


@pytest.mark.parametrize("ended", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_worker_has_not_finished_is_begun_anew(
    ended: signal.Signals, workers: Pool
) -> None:
    """And whole: what the first had sent by then counts for nothing."""
    with workers.lease() as lease:
        (before,) = workers.pids()
        assert (
            lease.stream(Statement(ROWS), lambda: Interrupted(lambda: kill(workers, ended)))
            == 2_000_000
        )
        assert Interrupted.begun == 2
        assert before not in workers.pids()
        assert lease.run(Statement(COUNT)).to_pydict() == {"n": [1000]}, (
            "the lease is as good as before"
        )


@pytest.mark.parametrize("fault", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_worker_that_ends_by_its_own_fault_has_no_second(
    fault: signal.Signals, workers: Pool
) -> None:
    with workers.lease() as lease:
        with pytest.raises(Unavailable) as caught:
            lease.stream(Statement(ROWS), lambda: Interrupted(lambda: kill(workers, fault)))
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        with pytest.raises(Unavailable):
            lease.run(Statement(COUNT))
    assert Interrupted.begun == 1
    assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_a_worker_out_of_time_has_no_second(source: PreparedSource, people: Policy) -> None:
    with (
        Pool(source, replace(people.engine, deadline_seconds=1.0), WorkerEngine()) as workers,
        workers.lease() as lease,
        pytest.raises(Unavailable),
    ):
        lease.stream(Statement(ENDLESS), lambda: Interrupted(None))
    assert Interrupted.begun == 1


def test_one_answer_has_no_third_worker(workers: Pool) -> None:
    with workers.lease() as lease:
        assert (
            lease.stream(Statement(ROWS), lambda: Interrupted(lambda: kill(workers))) == 2_000_000
        )
        Interrupted.begun = 0
        with pytest.raises(Unavailable):
            lease.stream(Statement(ROWS), lambda: Interrupted(lambda: kill(workers)))
    assert workers.run(Statement(COUNT)).to_pydict() == {"n": [1000]}


def test_closing_is_no_reason_for_a_second(source: PreparedSource, people: Policy) -> None:
    workers = Pool(source, people.engine, WorkerEngine())
    with workers.lease() as lease:
        closing = threading.Thread(target=workers.close)
        with pytest.raises(Unavailable):
            lease.stream(Statement(ROWS), lambda: Interrupted(closing.start))
    closing.join()
    assert workers.pids() == []


def test_workers_killed_at_random_instants_cost_nobody_an_answer(san: San) -> None:
    """One kill for each question: while its worker waits, is asked, computes or sends."""
    instants = random.Random(27)
    for number in range(1, 11):
        san.session.data.open().workers.warm()
        (pid,) = san.session.data.open().workers.pids()
        later = threading.Timer(instants.uniform(0, 0.06), os.kill, (pid, signal.SIGKILL))
        later.start()
        answer = san.query("SELECT SUM(age) AS n FROM people", epsilon=number, fresh=True)
        later.join()
        assert answer.value == 200_000
    kinds = [record.kind for record in san.ledger.records()]
    assert "void" not in kinds
    assert kinds.count("spend") == 10
    (balance, *_) = san.balances()
    assert balance.spent_upper.epsilon == sum(range(1, 11))


def test_a_question_whose_workers_are_killed_again_and_again_ends(san: San) -> None:
    san.session.data.open().workers.warm()
    done = threading.Event()

    def keep_killing() -> None:
        while not done.wait(0.005):
            for pid in san.session.data.open().workers.pids():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    killing = threading.Thread(target=keep_killing)
    killing.start()
    try:
        with pytest.raises(Unavailable):
            san.query("SELECT SUM(age) AS n FROM people", epsilon=1)
    finally:
        done.set()
        killing.join()
    assert san.query("SELECT SUM(age) AS n FROM people", epsilon=2).value == 200_000
