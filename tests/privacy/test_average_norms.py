"""Averages whose sums have norms of their own: every small unit, in the real statement.

Rows are held to C, the sum to K, and both numbers have the least factor of the two (docs/averages.md).
What becomes of each unit is compared with the rule worked out in plain Python (norms.py), and the
differences of all pairs with the declared sensitivities, for both relations and both kinds of noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from privacy.norms import Vector, kept_rows, scaled, shared
from privacy.test_norms import (
    AVERAGE,
    COUNTS,
    GROUPS,
    MANY,
    MECHANISMS,
    RELATIONS,
    check_moves,
    rows_of,
    vectors,
)
from privacy.worlds import Bounding, write_policy
from sanql.measurements import Measured, Measurement, OwnNorm
from sanql.parse import parse
from sanql.plan.average_norms import with_average_norms
from sanql.plan.level import Level, LevelOutline
from sanql.plan.norms import bounded_by_norm
from sanql.plan.plan import outline
from sanql.policy.model import Neighbours
from sanql.statistics import Measuring
from support.volume import share_rows_of

pytestmark = pytest.mark.slow

SIGNED = "SELECT sex, AVG(age - 20) FROM visits GROUP BY sex"
BEYOND_ZERO = "SELECT sex, AVG(age + 10) FROM visits GROUP BY sex"
TWO = "SELECT sex, AVG(age), AVG(temp) FROM visits GROUP BY sex"
BESIDE = [
    "SELECT sex, COUNT(*), SUM(age) FROM visits GROUP BY sex",
    "SELECT sex, COUNT(age), SUM(age - 20) FROM visits GROUP BY sex",
    "SELECT sex, COUNT(*), AVG(age - 20) FROM visits GROUP BY sex",
]
WHOLE = "SELECT AVG(age) FROM visits"
SHAPES = [(1, 0, 0), (3, 0, 0), (0, 3, 3), (1, 4, 0), (0, 0, 1000), (7, 7, 7)]
AGES = [(0,), (40,), (0, 40), (40, None), (None,), (13, 7, None), (20, 21)]
CASES = list(product(SHAPES, AGES))


def measured_jointly(
    sql: str,
    folder: Path,
    relation: Neighbours,
    order: int,
    own: int,
    rows: int,
    limits: Bounding,
) -> tuple[Level, object]:
    """Return a level that averages are measured at by norms of their own: so many steps, and rows."""
    policy = write_policy(folder, relation, {"visits": limits, "stays": limits})
    (level,) = outline(parse(sql, policy.tables).query, policy.tables, relation).levels
    return bounded_jointly(level, level.measuring, order, own, rows), policy


def bounded_jointly(
    level: LevelOutline, measuring: Measuring, order: int, own: int, rows: int
) -> Level:
    """Return the same of one way to measure a level."""
    norms = measuring.unit_norms
    assert norms is not None
    sums = [part for part in measuring.measurements if part.kind is Measured.SUM]
    known = tuple(OwnNorm(part.expression, own, own**2, 2) for part in sums if part.expression)
    averages = replace(norms, l1=rows, l2_squared=rows**2, own=known, jointly=True)
    joint = with_average_norms(replace(measuring, unit_norms=replace(norms, averages=averages)))
    assert joint is not None
    bounded = replace(level, measuring=bounded_by_norm(joint, order), by_weights=None)  # type: ignore[arg-type]
    priced = MECHANISMS[order].price([bounded.measuring], Fraction(1), Fraction(1, 1000))
    assert priced is not None
    return Level(bounded, priced[0])


def nearest_to_zero(*found: Vector) -> Vector:
    return tuple(min(each, key=abs) for each in zip(*found, strict=True))


def by_the_rule(
    counts: Vector,
    ages: tuple[int | None, ...],
    summed: Measurement,
    counted: Measurement,
    less: int,
) -> tuple[Vector, Vector]:
    """Return a unit's sums and counts by the description of the rule (norms.py)."""
    assert summed.norm is not None and counted.norm is not None
    there = [row for row in rows_of(counts, ages) if row["age"] is not None]
    order = counted.norm.order
    most = kept_rows(order, counted.norm.bound, None)
    values = [sum(row["sex"] == key for row in there) for key in GROUPS]
    total = [sum(row["age"] - less for row in there if row["sex"] == key) for key in GROUPS]
    deciding = tuple(
        v if n <= most else -(-v * most // n) for v, n in zip(values, counts, strict=True)
    )
    held = tuple(
        max(-summed.norm.most, min(summed.norm.most, shared(s, n, most)))
        for s, n in zip(total, counts, strict=True)
    )
    count = tuple(shared(v, n, most) for v, n in zip(values, counts, strict=True))
    sums, numbers = (
        nearest_to_zero(
            scaled(exact, deciding, order, counted.norm.bound, scale),
            scaled(exact, held, order, summed.norm.bound, scale),
        )
        for exact, scale in ((held, summed.norm.scale), (count, counted.norm.scale))
    )
    return sums, numbers


@pytest.mark.parametrize(
    ("sql", "relation", "order", "own", "rows", "per_group"),
    share_rows_of(
        product(
            [AVERAGE, SIGNED, BEYOND_ZERO, TWO, *BESIDE],
            RELATIONS,
            [1, 2],
            [7, 50],
            [2, 3],
            [None, 2],
        ),
        8,
    ),
)
def test_no_unit_moves_sums_or_counts_further_than_declared(
    sql: str,
    relation: Neighbours,
    order: int,
    own: int,
    rows: int,
    per_group: int | None,
    tmp_path: Path,
) -> None:
    limits = Bounding(3, 3, per_group)
    level, policy = measured_jointly(sql, tmp_path, relation, order, own, rows, limits)
    found = vectors(level, policy, dict(enumerate(rows_of(*case) for case in CASES)))
    check_moves(level, found)
    for part, every in zip(level.measurements, found, strict=True):
        assert part.norm is not None and part.norm.jointly
        bound = part.norm.bound
        assert bound <= (own if part.norm.alone else rows) ** order
        for vector in every:
            assert sum(abs(v) ** order for v in vector) <= bound * part.norm.scale**order


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("own", "rows"), [(7, 3), (50, 2), (10**6, 2), (30, 10**6)])
def test_both_numbers_have_the_least_of_both_factors(
    order: int, own: int, rows: int, tmp_path: Path
) -> None:
    level, policy = measured_jointly(
        SIGNED, tmp_path, "add-remove", order, own, rows, Bounding(3, 3, None)
    )
    summed, counted = level.measurements
    assert summed.norm is not None and counted.norm is not None
    assert (summed.centre, summed.low, summed.high) == (0, -20, 20)
    cases = [(c, a) for c in [*COUNTS[::6], *MANY] for a in ((40,), (3, None, 39), (21, 19), (0,))]
    found = vectors(level, policy, dict(enumerate(rows_of(*case) for case in cases)))
    for case, sums, values in zip(cases, *found, strict=True):
        assert (sums, values) == by_the_rule(*case, summed, counted, 20)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("sql", [AVERAGE, SIGNED, TWO])
def test_cells_add_up_over_units(sql: str, order: int, tmp_path: Path) -> None:
    level, policy = measured_jointly(
        sql, tmp_path, "add-remove", order, 50, 2, Bounding(3, 3, None)
    )
    units = {n: [row | {"person": n} for row in rows_of(*case)] for n, case in enumerate(CASES)}
    alone = vectors(level, policy, units)
    together = vectors(level, policy, {0: [row for rows in units.values() for row in rows]})
    for one, every in zip(alone, together, strict=True):
        assert every == [tuple(map(sum, zip(*one, strict=True)))]


@pytest.mark.parametrize("order", [1, 2])
def test_a_unit_within_both_norms_stays_as_it_is(order: int, tmp_path: Path) -> None:
    level, policy = measured_jointly(
        AVERAGE, tmp_path, "add-remove", order, 60, 3, Bounding(3, 3, None)
    )
    summed, counted = (part.norm for part in level.measurements)
    assert summed is not None and counted is not None
    sums, counts = vectors(level, policy, {1: rows_of((1, 1, 0), (40, 10))})
    assert sums == [(40 * summed.scale, 10 * summed.scale, 0)]
    assert counts == [(counted.scale, counted.scale, 0)]


def norms_of_every_size() -> Iterator[tuple[int, int]]:
    """Yield norms of sums and rows that leave the engine's whole numbers some, little or no room."""
    yield from product((1, 2**20, 2**40, 2**60, 2**100), (1, 2**20, 2**40))


@pytest.mark.parametrize(("own", "rows"), list(norms_of_every_size()))
@pytest.mark.parametrize("order", [1, 2])
def test_what_the_engine_cannot_hold_is_bounded_by_dropping(
    order: int, own: int, rows: int, tmp_path: Path
) -> None:
    level, policy = measured_jointly(
        AVERAGE, tmp_path, "add-remove", order, own, rows, Bounding(3, 3, None)
    )
    found = vectors(level, policy, {1: rows_of((0, 0, 1000), (40,)), 2: rows_of((1, 0, 1), (3,))})
    for part, every in zip(level.measurements, found, strict=True):
        for vector in every:
            assert sum(map(abs, vector)) <= part.sensitivity.l1
            assert math.sqrt(sum(v * v for v in vector)) <= math.sqrt(part.sensitivity.l2_squared)
