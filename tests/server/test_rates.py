"""How often something may be done: so many at once, then at a rate, each key by itself."""

from __future__ import annotations

import threading

import pytest

from sanql.server import rates
from sanql.server.rates import RateLimit


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_so_many_at_once_and_then_at_a_rate() -> None:
    clock = Clock()
    limit = RateLimit(2.0, 3, clock)
    assert [limit.take("ana") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now += 0.25
    assert limit.take("ana") == 0.25, "a try in vain costs nothing, and brings nothing"
    clock.now += 0.25
    assert [limit.take("ana") for _ in range(2)] == [0, 0.5]
    clock.now += 1_000
    assert limit.left("ana") == 3, "a bucket does not overflow"


def test_each_key_has_a_bucket_of_its_own() -> None:
    limit = RateLimit(1.0, 1, Clock())
    assert limit.take("ana") == 0 and limit.take("ana") > 0
    assert limit.take("bo") == 0 and limit.left("cy") == 1


def test_looking_takes_nothing() -> None:
    limit = RateLimit(1.0, 2, Clock())
    assert [limit.left("ana") for _ in range(5)] == [2] * 5


def test_a_rate_below_one_still_lets_one_through() -> None:
    clock = Clock()
    limit = RateLimit(0.01, 0.6, clock)
    assert limit.take("ana") == 0 and limit.take("ana") == pytest.approx(100)
    clock.now += 100
    assert limit.take("ana") == 0


def test_a_clock_that_goes_back_refills_nothing() -> None:
    clock = Clock()
    limit = RateLimit(1.0, 1, clock)
    limit.take("ana")
    clock.now -= 500
    assert limit.take("ana") > 0


def test_of_many_keys_those_not_used_for_longest_are_forgotten() -> None:
    limit = RateLimit(1.0, 1, Clock())
    limit.take("ana")
    for number in range(rates._KEYS_MAX - 1):
        limit.take(str(number))
    assert limit.left("ana") == 0
    limit.take("one more")
    assert limit.left("ana") == 1 and limit.left("0") == 0
    assert len(limit._buckets) == rates._KEYS_MAX


def test_threads_at_once_get_no_more_than_there_is() -> None:
    limit, taken = RateLimit(1.0, 100, Clock()), list[float]()
    start = threading.Barrier(8)

    def take() -> None:
        start.wait()
        taken.extend(limit.take("ana") for _ in range(50))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.count(0) == 100 and len(taken) == 400
