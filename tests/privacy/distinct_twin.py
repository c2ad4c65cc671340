"""Distinct values counted greedily, once more in plain Python, from the description, not from the code.

Units come in the order of their draws, equal ones by themselves. Each looks at its (group, value) pairs
in the order of its draws for them, equal ones by themselves, and takes those that nobody has taken until
it has `most`. What is counted is the pairs taken in each group. Nothing of a NULL unit or value counts.

Draws are the engine's hashes under the answer's secret: the one thing taken over from it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import duckdb

Group = tuple[Any, ...]
Holding = tuple[Any, Group, Any]
"""A row of the data: whose it is, in which group, with which value."""
Draw = Callable[..., int]


def engine_draws(secret: int) -> Draw:
    """Return a function that draws as the engine does for a unit, or for a unit, group and value."""
    connection = duckdb.connect(":memory:", config={"threads": 1})

    def draw(*parts: Any) -> int:
        texts = ["?::VARCHAR" if isinstance(part, str) else "?::BIGINT" for part in parts]
        sql = f"SELECT hash(hash({', '.join(['?::BIGINT', *texts])}))"
        found = connection.execute(sql, [secret, *parts]).fetchone()
        assert found is not None
        return int(found[0])

    return draw


def taken_greedily(rows: Iterable[Holding], most: int, draw: Draw) -> Counter[Group]:
    """Return how many pairs of each group are taken."""
    held: dict[Any, set[tuple[Group, Any]]] = defaultdict(set)
    for unit, group, value in rows:
        if unit is not None and value is not None:
            held[unit].add((group, value))
    taken: set[tuple[Group, Any]] = set()
    for unit in sorted(held, key=lambda unit: (draw(unit), unit)):
        own = sorted(held[unit], key=lambda pair: (draw(unit, *pair[0], pair[1]), repr(pair)))
        taken.update([pair for pair in own if pair not in taken][:most])
    return Counter(group for group, _ in taken)
