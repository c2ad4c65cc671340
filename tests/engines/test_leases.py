"""Leases: several answers may be charged and wait for one server, if it is well and quick."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pyarrow as pa
import pytest

from sanql.engines import pool as pools
from sanql.engines.leases import Lease
from sanql.engines.pool import Pool
from sanql.errors import Unavailable
from sanql.kernel import Statement

COUNT = Statement("SELECT count(*) AS n FROM data.main.people")
SECONDS_MAX = 30.0

pytestmark = pytest.mark.slow


class Held:
    """A collector that keeps its server until it is let go."""

    def __init__(self) -> None:
        self.reached, self.free = threading.Event(), threading.Event()

    def take(self, rows: pa.Table) -> None:
        self.reached.set()
        assert self.free.wait(SECONDS_MAX)

    def finish(self) -> str:
        return "finished"


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(12) as pool:
        yield pool


def counted(lease: Lease) -> int:
    return int(lease.run(COUNT).column(0)[0].as_py())


def running(threads: ThreadPoolExecutor, lease: Lease, held: Held) -> Future[str]:
    """Have a lease hold its server."""
    begun = threads.submit(lease.stream, COUNT, lambda: held)
    assert held.reached.wait(SECONDS_MAX)
    return begun


def not_yet(act: Callable[[], object], threads: ThreadPoolExecutor) -> Future[object]:
    """Return what is begun and cannot end yet, as far as can be seen."""
    begun = threads.submit(act)
    with pytest.raises(TimeoutError):
        begun.result(0.2)
    return begun


def test_one_quick_server_has_several_leases_and_serves_them_one_after_another(
    workers: Pool, threads: ThreadPoolExecutor
) -> None:
    with ExitStack() as stack:
        leases = [stack.enter_context(workers.lease()) for _ in range(pools._LEASES_PER_SERVER)]
        one_more = not_yet(workers.lease, threads)
        for lease in reversed(leases):
            with lease:
                assert counted(lease) == 1000
            with pytest.raises(Unavailable):
                lease.run(COUNT)  # it has ended
        found = one_more.result(SECONDS_MAX)
        assert isinstance(found, Lease)
        with found:
            assert counted(found) == 1000
    assert len(workers.pids()) == 1


def test_a_server_that_was_slow_has_one_lease_at_a_time(
    workers: Pool, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "_SECONDS_QUICK", 0.0)
    workers.run(COUNT)
    with workers.lease():
        second = not_yet(workers.lease, threads)
    found = second.result(SECONDS_MAX)
    assert isinstance(found, Lease)
    with found:
        assert counted(found) == 1000


def test_no_lease_is_had_of_a_busy_server_before_it_has_finished_something(
    workers: Pool, threads: ThreadPoolExecutor
) -> None:
    held = Held()
    with workers.lease() as first:
        begun = running(threads, first, held)
        second = not_yet(workers.lease, threads)
        held.free.set()
        assert begun.result(SECONDS_MAX) == "finished"
    found = second.result(SECONDS_MAX)
    assert isinstance(found, Lease)
    with found:
        assert counted(found) == 1000


def test_who_stops_waiting_in_line_leaves_the_server_to_the_others(
    workers: Pool, threads: ThreadPoolExecutor
) -> None:
    held = Held()
    with workers.lease() as first, workers.lease() as second, workers.lease() as third:
        begun = running(threads, first, held)
        stopped, waiting = (not_yet(lease.begin, threads) for lease in (second, third))
        second.stop()
        stopped.result(SECONDS_MAX)
        with pytest.raises(Unavailable):
            second.run(COUNT)
        held.free.set()
        assert begun.result(SECONDS_MAX) == "finished"
        with first:
            pass
        waiting.result(SECONDS_MAX)
        assert counted(third) == 1000
    assert len(workers.pids()) == 1


def test_a_retired_pool_serves_every_lease_that_it_gave_and_then_ends(
    workers: Pool, threads: ThreadPoolExecutor
) -> None:
    held = Held()
    with workers.lease() as first, workers.lease() as second:
        begun = running(threads, first, held)
        workers.retire()
        with pytest.raises(Unavailable):
            workers.lease()
        held.free.set()
        assert begun.result(SECONDS_MAX) == "finished"
        with first:
            pass
        assert counted(second) == 1000
    assert workers.pids() == []


def test_closing_ends_those_who_wait_in_line(workers: Pool, threads: ThreadPoolExecutor) -> None:
    held = Held()
    held.free.set()
    with workers.lease() as first, workers.lease() as second:
        first.begin()
        waiting = not_yet(lambda: second.run(COUNT), threads)
        closing = threads.submit(workers.close)
        assert isinstance(waiting.exception(SECONDS_MAX), Unavailable)
        with first:
            pass
        closing.result(SECONDS_MAX)


def test_a_server_that_is_killed_costs_none_of_its_leases_an_answer(
    workers: Pool, threads: ThreadPoolExecutor
) -> None:
    with ExitStack() as stack:
        leases = [stack.enter_context(workers.lease()) for _ in range(4)]
        (pid,) = workers.pids()
        os.kill(pid, signal.SIGKILL)

        def answer(lease: Lease) -> int:
            with lease:
                return counted(lease)

        assert list(threads.map(answer, leases)) == [1000] * 4
    assert workers.pids() != [pid]
