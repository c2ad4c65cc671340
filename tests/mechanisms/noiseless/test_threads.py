"""Certificates by several threads, and after one was broken off, are what one thread finds."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass
from fractions import Fraction

import pytest
from flint import acb, ctx

from sanql.mechanisms.noiseless import continuous_sum
from sanql.mechanisms.noiseless.fourier import many_delta
from sanql.mechanisms.noiseless.precision import precision
from sanql.mechanisms.noiseless.summands import Interval

HALF, LEVEL = Fraction(1, 2), Fraction(1, 5)


@dataclass(frozen=True)
class Halting(Interval):
    """A uniform interval whose line is broken off once, while its nodes are computed."""

    halted: tuple[list[str], ...] = ([],)

    def __hash__(self) -> int:
        return id(self.halted)

    def cumulant_balls(self, points: list[acb]) -> list[acb]:
        if len(points) > 2 and not self.halted[0]:
            self.halted[0].append("now")
            raise KeyboardInterrupt
        return super().cumulant_balls(points)


def test_a_line_broken_off_in_the_middle_is_not_used_half_grown() -> None:
    alone, part = many_delta([Interval()], [1000], HALF, LEVEL), Halting(([],))
    with pytest.raises(KeyboardInterrupt):
        many_delta([part], [1000], HALF, LEVEL)
    assert many_delta([part], [1000], HALF, LEVEL) == alone


def test_one_thread_at_a_time_has_the_precision_it_asked_for() -> None:
    found: list[int] = []

    def elsewhere() -> None:
        with precision(300):
            found.append(ctx.prec)

    other = threading.Thread(target=elsewhere)
    with precision(128):
        other.start()
        other.join(0.1)
        assert not found
        with precision(192):
            assert ctx.prec == 192
        assert ctx.prec == 128
    other.join()
    assert found == [300]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_certifies_although_a_thread_of_its_parent_did() -> None:
    inside = threading.Event()

    def busy() -> None:
        with precision(128):
            inside.set()
            time.sleep(0.1)

    thread = threading.Thread(target=busy)
    thread.start()
    inside.wait()
    if (child := os.fork()) == 0:
        signal.alarm(20)  # a child that waits for a thread it does not have never ends
        delta = continuous_sum(others=300, eta="0.25").bound("0.4").delta_upper
        os._exit(0 if 0 < delta < 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
