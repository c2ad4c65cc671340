"""Properties that are computed once for each object, without a lock.

Those of the standard library before Python 3.12 hold one lock for all objects of a class: threads that
ask different questions would wait for each other while one of them tokenizes or certifies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class computed_once(Generic[T_co]):
    """A property that is kept in its object; threads that compute it at once are given the same.

    >>> class Circle:
    ...     @computed_once
    ...     def name(self) -> list[str]:
    ...         return ["round"]
    >>> circle = Circle()
    >>> circle.name is circle.name
    True
    """

    def __init__(self, compute: Callable[[Any], T_co]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Know under which name the value is kept, where Python finds it before this."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T_co: ...

    def __get__(self, instance: object | None, owner: type) -> T_co | Self:
        """Compute the value and keep it."""
        if instance is None:
            return self
        kept: T_co = vars(instance).setdefault(self._name, self._compute(instance))
        return kept
