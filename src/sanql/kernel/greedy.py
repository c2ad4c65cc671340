"""Distinct values counted greedily: in turn, each unit takes a few (group, value) pairs nobody has taken.

Turns follow an order of units that hangs on nothing but the answer's secret, and a unit goes through its
own pairs in an order that hangs on nothing but the secret and itself. docs/distinct_values.md proves that
one unit more makes the taken pairs a larger set, by at most as many as one unit may take.

It goes from one unit to the next, so it is no SELECT: the engine sorts the turns, and this loop reads
them piece by piece. What it remembers is one byte for each different pair and one number for each group,
however many units there are. Pairs and groups have numbers by then; no value of a row is looked at here.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import quote_name

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from sanql.kernel.messages import GreedyCount

_TURNS_AT_ONCE = 1 << 16
_GROUPS_AT_ONCE = 1 << 16
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
    connection.execute(f"CREATE TEMP TABLE {quote_name(count.taken)} (g BIGINT, d BIGINT)")
    inserted = f"INSERT INTO {table} SELECT unnest(?::BIGINT[]), unnest(?::BIGINT[])"
    for groups, numbers in _in_parts(counted):
        connection.execute(inserted, [groups, numbers])


def taken_by_group(turns: Iterable[Turns], most: int) -> array[int]:
    """Return how many pairs of each group are taken, where a unit takes the first `most` it can.

    >>> units, groups = (memoryview(array("q", n)) for n in ([1, 1, 2, 2], [0, 1, 0, 1]))
    >>> list(taken_by_group([(units, groups, groups)], 1))  # a pair in each group
    [1, 1]
    """
    taken, counted = bytearray(), array("q")
    unit, left = None, 0
    for units, groups, pairs in turns:
        taken.extend(bytes(max(0, _numbered(pairs) - len(taken))))
        counted.frombytes(bytes(_BYTES_OF_A_NUMBER * max(0, _numbered(groups) - len(counted))))
        for whose, group, pair in zip(units, groups, pairs, strict=True):
            if whose != unit:
                unit, left = whose, most
            if left and not taken[pair]:
                taken[pair] = 1
                counted[group] += 1
                left -= 1
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


def _in_parts(counted: array[int]) -> Iterator[tuple[list[int], list[int]]]:
    for start in range(0, len(counted), _GROUPS_AT_ONCE):
        part = counted[start : start + _GROUPS_AT_ONCE].tolist()
        yield list(range(start, start + len(part))), part
