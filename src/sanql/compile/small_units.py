"""Units with so few rows that no limit of a question can bind: their rows count one by one.

A prepared copy says beside each row how many rows its unit has in the table. A question that reads this
one table, under whatever conditions, counts no more of them; where so many could reach no limit, not
even all in one group, each with the largest value there is, limits keep every row as it is and nothing
needs to be grouped by unit. Which way a unit goes hangs on its own rows alone, and either way leads to
the same cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sanql.catalog import Layout
from sanql.compile.limits import LimitWriter
from sanql.measurements import Measured, Measurement
from sanql.plan import Level
from sanql.question import Scan

ALL_ROWS = "all_rows"
"""How many rows the unit of a row has in the table, as a column of `input`."""
_BY_ROW = (Measured.ROWS, Measured.VALUES, Measured.SUM, Measured.BELOW)


def rows_without_limits(level: Level, layout: Layout) -> int:
    """Return with how many rows in all no limit of a level binds; 0 where units are looked at anyway."""
    source = level.query.source
    if not isinstance(source, Scan) or source.table not in layout.row_counts:
        return 0
    measured = [part for part in level.computed if part.of is None]
    if not measured or any(part.kind not in _BY_ROW or part.by_bins for part in measured):
        return 0
    if level.query.where is not None and all(part.norm is None for part in measured):
        return 0  # reading rows twice takes longer than grouping those that conditions leave
    return max(0, min(_most(level, measured)))


def _most(level: Level, measured: list[Measurement]) -> Iterator[int]:
    limits = level.outline.limits
    yield limits.rows_per_group
    yield limits.rows
    if LimitWriter(level, "").limits_groups:
        yield limits.groups  # so many rows are in no more groups
    for part in measured:
        if part.norm is not None:
            yield within_norm(part)
        elif part.total is not None and part.kind is Measured.SUM:
            low, high = part.total
            least, largest = part.low + part.centre, part.high + part.centre
            yield _fits(-low, -least) if low <= 0 else 0
            yield _fits(high, largest) if high >= 0 else 0


def _fits(total: int, value: int) -> int:
    """Return how many values of such a size a total has room for."""
    return total // value if value > 0 else 1 << 62


def within_norm(part: Measurement) -> int:
    """Return how many rows are no longer than a norm, however they are spread over groups."""
    norm = part.norm
    assert norm is not None  # noqa: S101  (asked of those that have one)
    row = max(abs(part.low), abs(part.high), 1) if norm.alone else 1
    shift = norm.shift
    size = row << shift if shift >= 0 else -(-row >> -shift)
    count = norm.threshold // size
    if norm.order == 2:
        count = math.isqrt(norm.threshold) // size
    return min(count, norm.most // row)
