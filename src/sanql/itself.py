"""A thing as a key of what is remembered about it: equal to itself, and to nothing else.

A policy's tables are no keys by their content, and comparing them would cost more than what is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Itself(Generic[T]):
    """What is remembered under this key is remembered of this very object, which lives as long.

    >>> tables = {"people": 1}
    >>> Itself(tables) == Itself(tables), Itself(tables) == Itself({"people": 1})
    (True, False)
    """

    thing: T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)
