"""What units of two kinds may add to a group: each row is poured as far as both its units have room.

A row belongs to a unit of each of two kinds, and adds some whole number. In each group rows are taken in
turn, in an order that hangs on nothing but whose they are and the answer's secret: those of one unit of
the first kind after those of another. Each adds what it can: no more than it has, than its first unit has
left of its room, and than its second unit has left. docs/kinds.md proves that one unit of either kind,
with however many rows, moves what is taken in all by no more than its own room.

What is below zero is poured apart from what is above, and taken away at the end. Rows of the same two
units have one turn together, which adds as much as they would one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import quote_name

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from sanql.kernel.messages import PouredSum, Room

_TURNS_AT_ONCE = 1 << 16
_GROUPS_AT_ONCE = 1 << 14
POURED_MAX = 2**62
"""Where sums saturate, as cells do; that only brings neighbours closer."""

Turn = tuple[int, int, int, int, int]
"""The number of its group, of its first unit and of its second; what it has above zero, and below."""


def make_sums(
    connection: duckdb.DuckDBPyConnection, poured: PouredSum, turns: duckdb.Statement
) -> None:
    """Make the table of what is taken in each group, from turns sorted by the engine."""
    reader = connection.sql(turns).to_arrow_reader(_TURNS_AT_ONCE)
    taken = taken_by_group(_turns(reader), poured.above, poured.below)
    reader.close()
    table = f"temp.main.{quote_name(poured.taken)}"
    connection.execute(f"CREATE TEMP TABLE {quote_name(poured.taken)} (g BIGINT, d BIGINT[])")
    inserted = f"INSERT INTO {table} SELECT unnest(?::BIGINT[]), unnest(?::BIGINT[][])"
    groups = [*taken]
    for start in range(0, len(groups), _GROUPS_AT_ONCE):
        part = groups[start : start + _GROUPS_AT_ONCE]
        connection.execute(inserted, [part, [[taken[group]] for group in part]])


def taken_by_group(turns: Iterable[Turn], above: Room, below: Room) -> dict[int, int]:
    """Return what is taken in each group of what turns have above zero, less what of it below.

    Turns of a group, and in it those of a first unit, follow each other. Each room is that of one unit of
    the first kind in a group, and of one of the second.

    >>> rows = [(0, 1, 1, 5, 0), (0, 1, 2, 5, 0), (0, 2, 1, 5, 0)]
    >>> taken_by_group(rows, (8, 6), (0, 0))  # 5 and 3 of the first unit, then 1 of the second
    {0: 9}
    """
    taken: dict[int, int] = {}
    up, down = _Pouring(*above), _Pouring(*below)
    group: int | None = None
    for number, first, second, has_above, has_below in turns:
        if number != group:
            group = number
            up.begin()
            down.begin()
        more = up.take(first, second, has_above) - down.take(first, second, has_below)
        taken[number] = taken.get(number, 0) + more
    return {number: max(-POURED_MAX, min(POURED_MAX, sum_)) for number, sum_ in taken.items()}


class _Pouring:
    """What is left in a group of the room of the first unit whose turn it is, and of each second unit."""

    def __init__(self, room_of_first: int, room_of_second: int) -> None:
        self._room_of_first = room_of_first
        self._room_of_second = room_of_second
        self.begin()

    def begin(self) -> None:
        """Begin another group, in which all have their whole room."""
        self._first: int | None = None
        self._left = self._room_of_first
        self._left_of: dict[int, int] = {}

    def take(self, first: int, second: int, has: int) -> int:
        """Return how much of what a turn has is taken."""
        if first != self._first:
            self._first, self._left = first, self._room_of_first
        if not has:
            return 0
        left = self._left_of.get(second, self._room_of_second)
        taken = min(has, self._left, left)
        if taken:
            self._left -= taken
            self._left_of[second] = left - taken
        return taken


def _turns(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[Turn]:
    """Yield the turns of batches of five columns of numbers; none is ever NULL."""
    for batch in batches:
        columns = (
            memoryview(column.buffers()[1]).cast("q")[column.offset : column.offset + len(column)]
            for column in batch.columns
        )
        yield from zip(*columns, strict=True)
