"""Subqueries written once, however often their value is needed.

Clamps and guards write their operand several times, and a subquery that the engine meets sixty times
it plans and computes sixty times. So a mark stands for a subquery until the SELECT around it is
written. One that is marked once takes its place; one that is marked more often becomes a column
beside the rows of FROM.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable

SHARED = "\x00beside\x00"
"""Where a SELECT has room for more columns: behind its FROM."""
_MARK = re.compile("\x00ask(\\d+)\x00")


class SharedSubqueries:
    """The subqueries of a statement by their marks; `fresh` gives a relation a name of its own."""

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self._fresh = fresh
        self._texts: list[str] = []
        self._places: dict[Hashable, int] = {}

    def mark(self, asked: Hashable, write: Callable[[], str]) -> str:
        """Return the mark of what is asked, written the first time that it is."""
        if asked not in self._places:
            text = self.in_value(write())  # its operand may ask, too
            self._texts.append(text)
            self._places[asked] = len(self._texts) - 1
        return f"\x00ask{self._places[asked]}\x00"

    def in_select(self, select: str) -> str:
        """Return a SELECT in which each subquery stands once."""
        text, computed = self._shared(select)
        return text.replace(SHARED, f" CROSS JOIN LATERAL {computed}" if computed else "")

    def in_value(self, value: str) -> str:
        """Return a value in which each subquery stands once, wherever the value is written."""
        text, computed = self._shared(value)
        return f"(SELECT {text} FROM {computed})" if computed else text

    def _shared(self, text: str) -> tuple[str, str]:
        """Return a text without marks, and what computes the subqueries that it names twice."""
        copies = Counter(int(found) for found in _MARK.findall(text))
        twice = [number for number in sorted(copies) if copies[number] > 1]
        computed = self._fresh("s")

        def written(found: re.Match[str]) -> str:
            number = int(found[1])
            return f"{computed}.q{number}" if number in twice else self._texts[number]

        columns = ", ".join(f"{self._texts[number]} AS q{number}" for number in twice)
        return _MARK.sub(written, text), f"(SELECT {columns}) AS {computed}" if twice else ""
