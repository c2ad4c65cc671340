"""Distinct values counted greedily: in turn, each unit takes a few (group, value) pairs nobody has taken.

Turns follow an order of units that hangs on nothing but the answer's secret, and a unit goes through its
own pairs in an order that hangs on nothing but the secret and itself. docs/distinct_values.md proves that
one unit more makes the taken pairs a larger set, by at most as many as one unit may take.

How many that is may be asked for several numbers at once, and they are counted in one pass. With a larger
number more pairs are taken, and never others (the same page has the proof): of each pair it is enough to
know from which number on it is taken, and of a unit with which numbers it may still take one, which are
the largest ones.

It goes from one unit to the next, so it is no SELECT: the engine sorts the turns, and this loop reads
them piece by piece. What it remembers is one byte for each different pair and a few numbers for each
group, however many units there are. Pairs and groups have numbers by then; no value of a row is looked at
here.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import quote_name

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from sanql.kernel.messages import GreedyCount

_TURNS_AT_ONCE = 1 << 16
_GROUPS_AT_ONCE = 1 << 14
_BYTES_OF_A_NUMBER = 8

Turns = tuple[memoryview, memoryview, memoryview]
"""Some turns in their order: whose each is, the number of its group, the number of its pair."""


def make_counts(
    connection: duckdb.DuckDBPyConnection, count: GreedyCount, turns: duckdb.Statement
) -> None:
    """Make the table of how many pairs of each group are taken, from turns sorted by the engine."""
    reader = connection.sql(turns).to_arrow_reader(_TURNS_AT_ONCE)
    counted = taken_by_group(map(_numbers, reader), count.most)
    reader.close()
    table = f"temp.main.{quote_name(count.taken)}"
    connection.execute(f"CREATE TEMP TABLE {quote_name(count.taken)} (g BIGINT, d BIGINT[])")
    inserted = f"INSERT INTO {table} SELECT unnest(?::BIGINT[]), unnest(?::BIGINT[][])"
    for groups, numbers in _in_parts(counted, len(count.most)):
        connection.execute(inserted, [groups, numbers])


def taken_by_group(turns: Iterable[Turns], most: Sequence[int]) -> array[int]:
    """Return how many pairs of each group are taken, where a unit takes the first l that it can.

    For each group there is one number for each l of `most`, which ascend.

    >>> units, groups = (memoryview(array("q", n)) for n in ([1, 1, 2], [0, 1, 0]))
    >>> list(taken_by_group([(units, groups, groups)], [1, 2]))  # a pair in each group
    [1, 1, 0, 1]
    """
    numbers, none = len(most), [0] * (len(most) + 1)
    taken = bytearray()  # of each pair the least place in `most` for which it is taken
    changes = array("q")  # of each group, what is to be added up from place to place
    # `first` is the least place for which the unit may take more; it has taken `used` for it, and for
    # `others[n]` of all those that it has taken, they were taken already from place n on
    unit, first, used, others = None, 0, 0, none
    for units, groups, pairs in turns:
        new_pairs = max(0, _numbered(pairs) - len(taken))
        taken.extend(bytes([numbers]) * new_pairs)
        new_groups = max(0, numbers * _numbered(groups) - len(changes))
        changes.frombytes(bytes(_BYTES_OF_A_NUMBER * new_groups))
        for whose, group, pair in zip(units, groups, pairs, strict=True):
            if whose != unit:
                unit, first, used, others = whose, 0, 0, none.copy()
            before = taken[pair]
            if first < before:  # taken from here on, and up to where it was taken already
                taken[pair] = first
                changes[numbers * group + first] += 1
                if before < numbers:
                    changes[numbers * group + before] -= 1
                used += 1
                others[before] += 1
                if used == most[first]:
                    first += 1
                    used -= others[first]
    return _added_up(changes, numbers)


def _added_up(changes: array[int], numbers: int) -> array[int]:
    """Return the sums of each group's numbers up to each of them."""
    counted = array("q", changes)
    for place in range(len(counted)):
        if place % numbers:
            counted[place] += counted[place - 1]
    return counted


def _numbered(numbers: memoryview) -> int:
    """Return how many things have numbers from 0 up to the largest of these."""
    return max(numbers, default=-1) + 1


def _numbers(batch: pyarrow.RecordBatch) -> Turns:
    """Return the three columns of a batch as the numbers that they are; none is ever NULL."""
    units, groups, pairs = (
        memoryview(column.buffers()[1]).cast("q")[column.offset : column.offset + len(column)]
        for column in batch.columns
    )
    return units, groups, pairs


def _in_parts(counted: array[int], each: int) -> Iterator[tuple[list[int], list[list[int]]]]:
    """Yield groups by number, and what was counted of them: so many numbers of each."""
    groups = len(counted) // each
    for start in range(0, groups, _GROUPS_AT_ONCE):
        part = range(start, min(groups, start + _GROUPS_AT_ONCE))
        yield list(part), [counted[each * group : each * (group + 1)].tolist() for group in part]
