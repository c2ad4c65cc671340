"""Record and replay: one plan, one secret, two neighbouring databases, and how far they differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sanql.plan import Plan
from sanql.plan.keys import PrivateKeys, PublicKeys

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Distance:
    """How far one measurement of two databases differs, over all cells."""

    l1: int
    linf: int
    l2_squared: int


def keyed(plan: Plan, cells: pa.Table) -> dict[Key, list[int]]:
    """Return the measurements of each group; a group that comes twice would be noised twice."""
    keys = [cells.column(f"k{i}").to_pylist() for i in range(len(plan.query.keys))]
    values = [cells.column(f"m{i}").to_pylist() for i in range(len(plan.measurements))]
    groups = [tuple(column[row] for column in keys) for row in range(cells.num_rows)]
    repeated = [key for key, count in Counter(groups).items() if count > 1]
    assert not repeated, f"the groups {repeated[:3]} come more than once"
    return {key: [column[row] for column in values] for row, key in enumerate(groups)}


def distance(left: dict[Key, list[int]], right: dict[Key, list[int]], index: int) -> Distance:
    """Return how far a measurement moved; a missing cell counts as zero."""
    moved = [
        abs((left[key][index] if key in left else 0) - (right[key][index] if key in right else 0))
        for key in left.keys() | right.keys()
    ]
    return Distance(sum(moved), max(moved, default=0), sum(step * step for step in moved))


def check(plan: Plan, left: pa.Table, right: pa.Table) -> list[bool]:
    """Assert that neighbours look alike; return which measurements attain their declared L1."""
    assert left.schema == right.schema
    ours, theirs = keyed(plan, left), keyed(plan, right)
    if not isinstance(plan.outline.keys, PrivateKeys):
        assert ours.keys() == theirs.keys(), "the set of groups depends on the data"
    if isinstance(plan.outline.keys, PublicKeys) and plan.outline.keys.count is not None:
        assert len(ours) == plan.outline.keys.count
    selection = plan.outline.measuring.selection
    if selection is not None:
        for group in [*ours.values(), *theirs.values()]:
            assert group[selection] >= 1, "a group appears that no unit is in"
    attained = []
    for index, part in enumerate(plan.measurements):
        found, declared = distance(ours, theirs, index), part.sensitivity
        assert found.l1 <= declared.l1, (index, part, found)
        assert found.linf <= declared.linf, (index, part, found)
        assert found.l2_squared <= declared.l2_squared, (index, part, found)
        attained.append(declared.l1 > 0 and found.l1 == declared.l1)
    return attained
