"""The bounding rules once more, in plain Python, from their description and not from the code.

1. Rows are summed up per unit and group.
2. At most `groups` groups of a unit are kept. Which ones is random, so only their number is known.
3. Where a unit still has more rows than `rows` in all, or `per_group` in one group, its counts and
   sums are scaled down in proportion, rounding toward zero.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privacy.worlds import Bounding, Row

Group = Any


def toward_zero(value: Fraction) -> int:
    """Return the whole number nearest to it on the side of zero."""
    return int(value)


def split(
    rows: list[Row], unit: str, key: Callable[[Row], Group]
) -> dict[Any, dict[Group, list[Row]]]:
    """Return the rows of each unit by group; rows of nobody are left out."""
    found: dict[Any, dict[Group, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row[unit] is not None:
            found[row[unit]][key(row)].append(row)
    return found


def contribution(
    groups: dict[Group, list[Row]], bounding: Bounding, steps: Callable[[Row], int | None]
) -> dict[Group, tuple[int, int, int]]:
    """Return (rows, rows with a value, sum of steps) that one unit adds to each group it keeps."""
    most = bounding.per_group or bounding.rows
    counted = {group: min(len(rows), most) for group, rows in groups.items()}
    total = sum(counted.values())
    result = {}
    for group, rows in groups.items():
        values = [value for value in map(steps, rows) if value is not None]
        parts = [len(rows), len(values), sum(values)]
        if len(rows) > most:
            parts = [toward_zero(Fraction(part * most, len(rows))) for part in parts]
        if total > bounding.rows:
            parts = [toward_zero(Fraction(part * bounding.rows, total)) for part in parts]
        result[group] = (parts[0], parts[1], parts[2])
    return result
