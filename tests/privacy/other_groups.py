"""What noise is added to where a question has a row of other groups, whichever keys appear."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pyarrow as pa

from privacy.replay import Distance, Key, keyed
from sanql.measurements.measurement import Measured, Measurement
from sanql.noise.other_groups import OtherGroups
from sanql.plan.level import Level

SETS_MAX = 32  # sets of keys tried for one question; all of them up to five keys


def sets_of_keys(keys: list[Key], rng: random.Random) -> list[frozenset[Key]]:
    """Return all sets of keys that might appear, or some of them where there are many."""
    if 2 ** len(keys) <= SETS_MAX:
        chosen = product((False, True), repeat=len(keys))
        return [
            frozenset(k for k, taken in zip(keys, each, strict=True) if taken) for each in chosen
        ]
    some = [frozenset(k for k in keys if rng.random() < share) for share in (0.2, 0.5, 0.8) * 6]
    return [frozenset(), frozenset(keys), *some]


class Side:
    """One database's exact cells, and what noise is added to whichever keys appear."""

    def __init__(self, plan: Level, cells: pa.Table) -> None:
        self.plan, self.cells = plan, cells
        zeros = pa.array([0] * cells.num_rows, pa.int64())
        for index, part in enumerate(plan.measurements):
            if part.kind is Measured.OTHER_GROUPS:  # the engine has no column for it
                cells = cells.append_column(f"m{index}", zeros)
        self.groups = keyed(plan, cells)

    def released(self, shown: frozenset[Key]) -> dict[int, dict[object, int]]:
        """Return the exact input of the noise when these keys appear, by measurement and cell."""
        hidden = pa.array([key not in shown for key in self.groups], pa.bool_())
        hidden_sums = OtherGroups(self.plan).add(self.cells.filter(hidden)).exact()
        found: dict[int, dict[object, int]] = {
            i: {"rest": value} for i, value in hidden_sums.items()
        }
        for index, part in enumerate(self.plan.measurements):
            if part.of is None and part.quantile_bins is None:
                cell = found.setdefault(index, {})
                own = {key: self.groups[key][index] for key in shown if key in self.groups}
                if part.kind is Measured.HISTOGRAM:  # each value of each group has noise of its own
                    own = {(key, v): n for key, counts in own.items() for v, n in counts.items()}
                if part.choices:  # replay.py looks at all of them
                    own = {key: counts[-1] for key, counts in own.items()}
                cell |= own
        return found


Move = tuple[frozenset[Key], Measurement, Distance]


def moves(left: Side, right: Side, rng: random.Random) -> Iterator[Move]:
    """Yield how far neighbours are apart in each measurement, for sets of keys that might appear."""
    keys = sorted(left.groups.keys() | right.groups.keys(), key=repr)
    for shown in sets_of_keys(keys, rng):
        one, other = left.released(shown), right.released(shown)
        assert one.keys() == other.keys()
        for index, cells in one.items():
            part, moved = left.plan.measurements[index], _distance(cells, other[index])
            declared, where = part.sensitivity, (left.plan.outline.limits, part, shown, moved)
            assert moved.l1 <= declared.l1, where
            assert moved.linf <= declared.linf, where
            assert moved.l2_squared <= declared.l2_squared, where
            yield shown, part, moved


def _distance(left: dict[object, int], right: dict[object, int]) -> Distance:
    moved = [abs(left.get(cell, 0) - right.get(cell, 0)) for cell in left.keys() | right.keys()]
    return Distance(sum(moved), max(moved, default=0), sum(step * step for step in moved))
