"""Units that are too small for any limit of a question to bind: their rows count one by one.

A prepared copy says beside each row how many rows its unit has in the table. A question that reads this
one table, under whatever conditions, counts no more of them; where so many could reach no limit, not
even all in one group, each with the largest value there is, limits keep every row as it is and nothing
needs to be grouped by unit. Rows that have been added up say more: in how many groups their unit is, and
how long its counts are, of which a norm is no more than that. Which way a unit goes hangs on its own
rows alone, and either way leads to the same cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sanql.catalog import Layout
from sanql.compile.limits import LimitWriter
from sanql.compile.summaries import SQUARES_MAX, SummedRows
from sanql.measurements import Measured, Measurement
from sanql.plan import Level
from sanql.question import Scan

ALL_ROWS = "all_rows"
"""How many rows the unit of a row has in the table, as a column of `input`."""
GROUPS = "all_groups"
"""In how many groups the unit of rows added up is, as a column of `input`."""
_SQUARES = "all_squares"
_BY_ROW = (Measured.ROWS, Measured.VALUES, Measured.SUM, Measured.BELOW)


@dataclass(frozen=True)
class SmallUnits:
    """The rows of units that no limit binds: which they are, by columns `beside` those of a question."""

    condition: str
    beside: Mapping[str, str]


def small_units(level: Level, layout: Layout, summed: SummedRows | None) -> SmallUnits | None:
    """Return which units no limit of a level binds; None where all are looked at."""
    if summed is not None and summed.are_pairs and summed.summary.column is not None:
        found = _by_length(level, summed)
        if found is not None:
            return found
    few = rows_without_limits(level, layout, summed)
    if not few:
        return None
    assert isinstance(level.query.source, Scan)  # noqa: S101  (no other has few rows)
    stored = layout.row_counts[level.query.source.table]
    return SmallUnits(f"{ALL_ROWS} <= {few}", {ALL_ROWS: stored})


def _by_length(level: Level, summed: SummedRows) -> SmallUnits | None:
    """Return the units whose counts are no longer than norms; None where these are of more than rows.

    Each row is a pair, of which no more than its rows counts. Conditions leave fewer pairs, which are
    shorter; but what a group weighs hangs on how many are left.
    """
    norms = []
    groups_max = None
    for part in level.computed:
        if part.of is not None:
            continue
        if part.kind is Measured.KEY_WEIGHTS and part.norm is None:
            groups_max = part.groups_max
        elif part.kind not in _BY_ROW or part.norm is None or part.norm.alone or part.norm.jointly:
            return None
        else:
            norms.append(part.norm)
    if not norms:
        return None
    squares = min(norm.threshold >> max(0, norm.order * norm.shift) for norm in norms)
    condition = f"{_SQUARES} <= {min(squares, SQUARES_MAX - 1)}"
    beside = {_SQUARES: summed.summary.squares}
    if groups_max is not None:
        if level.query.where is not None or level.outline.filtering_keys:
            return None
        condition += f" AND {GROUPS} <= {groups_max}"
        beside[GROUPS] = summed.summary.groups
    return SmallUnits(condition, beside)


def rows_without_limits(level: Level, layout: Layout, summed: SummedRows | None = None) -> int:
    """Return with how many rows in all no limit of a level binds; 0 where units are looked at anyway."""
    source = level.query.source
    if not isinstance(source, Scan) or source.table not in layout.row_counts:
        return 0
    measured = [part for part in level.computed if part.of is None]
    if any(part.poured is not None for part in measured):
        return 0  # how many rows of both units there are decides
    if not measured or any(part.kind not in _BY_ROW or part.by_bins for part in measured):
        return 0
    by_limits = all(part.norm is None for part in measured)
    grouped = summed is None or not summed.are_pairs
    if by_limits and (level.query.where is not None or not grouped):
        return 0  # reading rows twice takes longer than grouping those that conditions leave
    return max(0, min(_most(level, measured)))


def _most(level: Level, measured: list[Measurement]) -> Iterator[int]:
    limits, writer = level.outline.limits, LimitWriter(level, "")
    yield limits.rows_per_group
    if writer.drops:
        yield limits.rows
        if writer.limits_groups:
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
