"""Norms by what is known of units, as San chooses them: no unit moves cells further than declared.

What is known is drawn (known.py), and nothing of it is true. Plans that have sums of a known size, and
averages whose sums and counts share a factor, are looked for among those that follow from it; small units
are put to their statements, alone and in place of each other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privacy.known import draw_known, outlined_with
from privacy.test_norms import ALL, AVERAGE, SIGNED, SUM, check_moves, rows_of, vectors
from privacy.worlds import Bounding, write_policy
from sanql.measurements import Measurement
from sanql.parse import parse
from sanql.plan.level import Level
from sanql.plan.plan import price
from sanql.policy.model import Budget, Neighbours

pytestmark = pytest.mark.slow

ASKED = [SUM, SIGNED, AVERAGE, ALL, "SELECT sex, AVG(age - 20) FROM visits GROUP BY sex"]
LIMITS = [Bounding(3, 3, None), Bounding(6, 3, 2), Bounding(40, 3, None), Bounding(9, 2, 5)]
SHAPES = [(1, 0, 0), (0, 3, 3), (2, 2, 2), (9, 40, 1), (0, 0, 1000)]
AGES = [(0,), (40,), (13, 7, None), (20, 21)]
UNITS = {n: rows_of(c, a) for n, (c, a) in enumerate((c, a) for c in SHAPES for a in AGES)}
PLANS = 3  # of each kind, relation and noise


def is_joint(part: Measurement) -> bool:
    """Whether sums and counts of averages share a factor."""
    return part.norm is not None and part.norm.jointly


def is_shorter(part: Measurement, limits: Bounding) -> bool:
    """Whether a sum has a norm of its own, below what rows of the largest value could add."""
    norm = part.norm
    if norm is None or not norm.alone or norm.jointly:
        return False
    return norm.bound < (limits.rows * part.size) ** norm.order


def plans(
    folder: Path, relation: Neighbours, delta: str, *, jointly: bool
) -> Iterator[tuple[Level, object]]:
    """Yield different levels with norms of one kind, that what is drawn leads to, and their policies."""
    rng, seen = random.Random(16), set[object]()
    for limits in LIMITS * 40:
        policy = write_policy(folder, relation, {"visits": limits, "stays": limits})
        known = draw_known(rng, policy.tables)
        if "visits" in known:
            sizes = {"age": Fraction(rng.choice([1, 3, 7])), "temp": Fraction(2)}
            known["visits"] = replace(known["visits"], sizes=sizes, accuracy_asked=False)
        within = Budget(Fraction(rng.choice(["1/10", "1", "8"])), Fraction(delta))
        query = parse(rng.choice(ASKED), policy.tables).query
        outlined = outlined_with(query, policy.tables, relation, None, known, within)
        (level,) = price(outlined, within.epsilon, within.delta).levels
        found = [is_joint(p) if jointly else is_shorter(p, limits) for p in level.measurements]
        norms = tuple((p.norm, p.centre, p.low, limits) for p in level.measurements)
        if any(found) and norms not in seen:
            seen.add(norms)
            yield level, policy


@pytest.mark.parametrize("jointly", [True, False], ids=["of averages", "of a sum by itself"])
@pytest.mark.parametrize("delta", ["0", "1/1000"])
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_no_unit_moves_cells_further_than_declared(
    relation: Neighbours, delta: str, jointly: bool, tmp_path: Path
) -> None:
    looked_at = 0
    for level, policy in plans(tmp_path, relation, delta, jointly=jointly):
        if any(part.norm is None for part in level.computed):
            continue
        found = vectors(level, policy, UNITS)
        check_moves(level, found)
        for part, every in zip(level.measurements, found, strict=True):
            assert part.norm is not None
            order, step = part.norm.order, part.norm.scale * (1 if part.norm.alone else part.size)
            assert (
                max(sum(abs(n) ** order for n in v) for v in every) <= part.norm.bound * step**order
            )
        looked_at += 1
        if looked_at == PLANS:
            break
    assert looked_at == PLANS
