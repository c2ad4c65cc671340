"""Entropy that a test writes or reads, and the oracles' arithmetic."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator

import mpmath
import pytest


class Tape:
    """Entropy with known content: asking for more than there is fails the test."""

    def __init__(self, content: builtins.bytes) -> None:
        self.content = content
        self.place = 0

    @property
    def used_up(self) -> bool:
        return self.place == len(self.content)

    def bytes(self, count: int) -> builtins.bytes:
        start, self.place = self.place, self.place + count
        assert self.place <= len(self.content), "the sampler asked for more than the tape holds"
        return self.content[start : self.place]


@pytest.fixture
def tape() -> Callable[[bytes], Tape]:
    """Return a maker of tapes."""
    return Tape


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    """Give every oracle far more digits than any enclosure under test."""
    with mpmath.workprec(1000):
        yield
