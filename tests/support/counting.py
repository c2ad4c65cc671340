"""Work counted instead of timed: how many calls Python makes, the same on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from cProfile import Profile
from functools import _lru_cache_wrapper

# Understanding an ordinary question takes some thousand calls. The longest text that passes the
# limits takes a few hundred thousand; something quadratic in it would take tens of millions.
CALLS_MAX = 1_000_000


@contextmanager
def at_most(calls: int = CALLS_MAX) -> Iterator[None]:
    """Assert that what is done inside makes no more calls than this, however it ends."""
    with counted() as made:
        yield
    assert len(made) <= calls


def calls_of(work: Callable[[], object]) -> int:
    """Return how many calls a piece of work makes."""
    with counted() as made:
        work()
    return len(made)


def forget() -> None:
    """Forget what San remembers of questions, so that none is counted for less than it takes alone."""
    ours = [module for name, module in sys.modules.items() if name.startswith("sanql.")]
    for thing in [thing for module in ours for thing in vars(module).values()]:
        if isinstance(thing, _lru_cache_wrapper):
            thing.cache_clear()


@contextmanager
def counted() -> Iterator[Sized]:
    """Count the calls that are made inside."""
    made = _Calls()
    before = sys.getprofile()
    made.enable()
    try:
        yield made
    finally:
        made.disable()
        sys.setprofile(before)


class _Calls(Profile):
    """A profiler, since it counts calls quicker than a function of ours would."""

    def __len__(self) -> int:
        return sum(entry.callcount for entry in self.getstats())
