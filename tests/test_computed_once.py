"""A property that is computed once keeps no thread waiting for another object's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sanql.computed_once import computed_once


class Slow:
    def __init__(self, until: threading.Event) -> None:
        self.until = until
        self.begun = threading.Event()

    @computed_once
    def value(self) -> object:
        """A value that takes its time."""
        self.begun.set()
        assert self.until.wait(30)
        return object()


def test_another_object_is_not_waited_for() -> None:
    later, now = threading.Event(), threading.Event()
    now.set()
    slow = Slow(later)
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(lambda: slow.value)
        assert slow.begun.wait(30)
        quick = threads.submit(lambda: Slow(now).value)
        try:
            assert quick.result(20) is not None
        finally:
            later.set()
        assert waiting.result(20) is slow.value


def test_threads_that_compute_at_once_are_given_the_same() -> None:
    until = threading.Event()
    slow = Slow(until)
    with ThreadPoolExecutor(8) as threads:
        found = [threads.submit(lambda: slow.value) for _ in range(8)]
        assert slow.begun.wait(30)
        until.set()
        assert len({id(each.result(20)) for each in found}) == 1


def test_what_fails_is_computed_again_and_its_words_are_kept() -> None:
    class Failing:
        times = 0

        @computed_once
        def value(self) -> int:
            """How often it took."""
            self.times += 1
            if self.times < 2:
                raise ValueError("not yet")
            return self.times

    failing = Failing()
    with pytest.raises(ValueError, match="not yet"):
        _ = failing.value
    assert (failing.value, failing.value) == (2, 2)
    assert Failing.value.__doc__ == "How often it took."
