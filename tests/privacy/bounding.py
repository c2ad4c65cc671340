"""The bounding rules once more, in plain Python, from their description and not from the code.

1. Rows are summed up per unit and group.
2. At most `groups` groups of a unit are kept. Which ones is random, so only their number is known.
3. At most `per_group` rows of a unit count in one group, and `rows` in all. A unit with more lays its
   rows end to end, in the order of its groups' draws; every (total / rows)-th counts, from a random
   start.
4. Where m of n rows count, v values become w = (v m + r) // n with r drawn below n, and their sum s
   becomes (s w + d) // v, rounded down, with d drawn below v.

Draws are the engine's hashes under the answer's secret: the one thing taken over from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import duckdb

from privacy.worlds import Bounding, Row

Group = Any


def split(
    rows: list[Row], unit: str, key: Callable[[Row], Group]
) -> dict[Any, dict[Group, list[Row]]]:
    """Return the rows of each unit by group; rows of nobody are left out."""
    found: dict[Any, dict[Group, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row[unit] is not None:
            found[row[unit]][key(row)].append(row)
    return found


class Drawn:
    """The engine's hashes, each hashed again, of a unit and its key under a secret."""

    def __init__(self, secret: int) -> None:
        self._secret = secret
        self._connection = duckdb.connect(":memory:")

    def __call__(self, unit: int, *key: str | None) -> int:
        parts = ", ".join(["?::BIGINT", "?::BIGINT", *("?::VARCHAR" for _ in key)])
        return self._hashed_twice(parts, [self._secret, unit, *key])

    def again(self, unit: int, *key: str | None) -> int:
        """Return a second draw for them."""
        return self._hashed_twice("?::UBIGINT", [self(unit, *key)])

    def _hashed_twice(self, parts: str, values: list[Any]) -> int:
        found = self._connection.execute(f"SELECT hash(hash({parts}))", values).fetchone()
        assert found is not None
        return int(found[0])


def contribution(
    unit: int,
    groups: dict[Group, list[Row]],
    bounding: Bounding,
    steps: Callable[[Row], int | None],
    draw: Drawn,
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
            if values:
                d = draw.again(unit, *group) % len(values)
                total_steps = (sum(values) * v + d) // len(values)
        result[group] = (m, v, total_steps)
    return result
