"""The bounding rules once more, in plain Python, from their description and not from the code.

1. Rows are summed up per unit and group.
2. At most `groups` groups of a unit are kept. Which ones is random, so only their number is known.
3. At most `per_group` rows of a unit count in one group, and `rows` in all. A unit with more lays its
   rows end to end, in the order of its groups' draws; every (total / rows)-th counts, from a random
   start.
4. Where m of n rows count, v values become (v m + r) // n with r drawn below n, and a sum of values
   follows the number of values, rounding toward zero.

Draws are the engine's hashes under the answer's secret: the one thing taken over from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb

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


def drawn(secret: int) -> Callable[..., int]:
    """Return the engine's hash, hashed again, of a unit and its key under a secret."""
    connection = duckdb.connect(":memory:")

    def draw(unit: int, *key: str | None) -> int:
        parts = ", ".join(["?::BIGINT", "?::BIGINT", *("?::VARCHAR" for _ in key)])
        found = connection.execute(f"SELECT hash(hash({parts}))", [secret, unit, *key]).fetchone()
        assert found is not None
        return int(found[0])

    return draw


def contribution(
    unit: int,
    groups: dict[Group, list[Row]],
    bounding: Bounding,
    steps: Callable[[Row], int | None],
    draw: Callable[..., int],
) -> dict[Group, tuple[int, int, int]]:
    """Return (rows, rows with a value, sum of steps) that one unit adds to each group it keeps.

    A group is a tuple of keys, empty where there is no GROUP BY.
    """
    most = bounding.per_group or bounding.rows
    counted = {group: min(len(rows), most) for group, rows in groups.items()}
    total = sum(counted.values())
    if total > bounding.rows:
        start, upto = draw(unit) % total, 0
        for group in sorted(groups, key=lambda group: draw(unit, *group)):
            before = (upto * bounding.rows + start) // total
            upto += counted[group]
            counted[group] = (upto * bounding.rows + start) // total - before
    result = {}
    for group, rows in groups.items():
        values = [value for value in map(steps, rows) if value is not None]
        size, m, v, total_steps = len(rows), counted[group], len(values), sum(values)
        if m < size:
            v = (len(values) * m + draw(unit, *group) % size) // size
            total_steps = toward_zero(Fraction(sum(values) * v, max(1, len(values))))
        result[group] = (m, v, total_steps)
    return result
