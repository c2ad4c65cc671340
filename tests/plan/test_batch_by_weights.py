"""Batches whose unknown keys many-row units are in: selected as each question alone would select them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from plan.conftest import TABLES
from plan.test_batch import POOL, drawn_split
from sanql.measurements import Measured
from sanql.parse.question import parse
from sanql.plan import Outline, Plan, outline, plan_batch, price
from sanql.plan.level import Level
from sanql.policy.model import Neighbours, Table
from support.volume import few_of, share_rows_of

BY_CITY = "SELECT city, COUNT(*) FROM visits GROUP BY city"
UNITS_BY_CITY = "SELECT city, COUNT(DISTINCT person_id) FROM visits GROUP BY city"
LISTS = [
    BY_CITY,
    UNITS_BY_CITY,
    "SELECT city, AVG(age), COUNT(*) FROM visits GROUP BY city",
    "SELECT city, sex, COUNT(*) FROM visits GROUP BY CUBE (city, sex)",
    "SELECT city, COUNT(*), SUM(age) FROM visits WHERE age > 3 GROUP BY city",
]
LIMITS = [(5, None, None), (3, 3, None), (20, 4, None), (256, None, None), (256, 16, None)]
LIMITS += [(100, 100, 1), (1000, 2, None), (50, None, 1), (6, 1, None)]
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "change-one")
Limited = tuple[int, int | None, int | None]


def limited(limits: Limited) -> Mapping[str, Table]:
    """Return tables whose visits have these limits on rows, groups, and rows in one group."""
    rows, groups, per_group = limits
    visits = replace(
        TABLES["visits"],
        rows_per_unit_max=rows,
        groups_per_unit_max=groups,
        rows_per_group_max=per_group,
    )
    return {**TABLES, "visits": visits}


def outlined(
    sql: str, limits: Limited, neighbours: Neighbours = "add-remove", rows: int | None = None
) -> Outline:
    tables = limited(limits)
    return outline(parse(sql, tables).query, tables, neighbours, rows_asked=rows)


def by_weights(levels: Sequence[Level]) -> list[bool]:
    """Return of each level that selects keys whether it does so by weights."""
    selecting = [level.selection for level in levels if level.selection is not None]
    return [selection.kind is Measured.KEY_WEIGHTS for selection in selecting]


def error_of(plan: Plan) -> float:
    """Return the mean variance of a question's aggregates, and the squares of what is hidden.

    A key hides as many rows as its threshold says units have; by weights in units that are in between
    one group and as many as count.
    """
    aggregates = sum(len(level.query.aggregates) for level in plan.levels)
    total = 0.0
    for level in plan.levels:
        pairs = zip(level.measurements, level.noises, strict=True)
        variance = sum(
            part.weight * (noise.standard_deviation / part.size) ** 2 for part, noise in pairs
        )
        total += variance / max(1, aggregates)
        if level.selection is not None and level.priced.threshold is not None:
            limits = level.outline.limits
            units = float(level.priced.threshold * level.selection.grid)
            units *= limits.groups**0.25 if level.selection.kind is Measured.KEY_WEIGHTS else 1
            total += (units * max(1.0, limits.rows / limits.groups)) ** 2
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("neighbours", "limits"), share_rows_of(product(RELATIONS, LIMITS), 2), ids=str
)
def test_a_question_selects_as_it_would_alone(limits: Limited, neighbours: Neighbours) -> None:
    for sql in LISTS:
        for epsilon in (Fraction(1, 20), Fraction(1, 2), Fraction(3)):
            for delta in (Fraction(1, 10**4), Fraction(1, 10**10)):
                own = outlined(sql, limits, neighbours)
                alone, batch = price(own, epsilon, delta), plan_batch([own], epsilon, delta)
                assert by_weights(batch.levels) == by_weights(alone.levels), (sql, epsilon, delta)
                assert batch.error <= error_of(alone) * (1 + 1e-9)


def test_both_ways_are_taken_by_some_question() -> None:
    """Or the test above would hold of a plan that knows one of them."""
    price_of = Fraction(1, 2), Fraction(1, 10**8)
    taken = [by_weights(price(outlined(BY_CITY, limits), *price_of).levels) for limits in LIMITS]
    assert [True] in taken and [False] in taken


def test_questions_beside_each_other_each_select_in_their_own_way() -> None:
    price_of = Fraction(1), Fraction(1, 10**8)
    units, rows = outlined(UNITS_BY_CITY, (20, 4, None)), outlined(BY_CITY, (20, 4, None))
    other = outlined(LISTS[-1], (20, 4, None))
    assert [by_weights(price(each, *price_of).levels) for each in (units, other)] == [
        [False],
        [True],
    ]
    apart = plan_batch([units, other], *price_of)
    assert by_weights(apart.levels) == [False, True]
    # where both read the same rows, one level serves them, in the better of the two ways
    (level,) = plan_batch([units, rows], *price_of).levels
    assert level.selection is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(40), 8))
def test_no_batch_with_lists_has_a_larger_error_than_its_questions_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    limits, neighbours = rng.choice(LIMITS), rng.choice(RELATIONS)
    asked = [*rng.sample(LISTS, rng.randint(1, 3)), *rng.sample(POOL, rng.randint(0, 2))]
    outlines = [outlined(sql, limits, neighbours) for sql in asked]
    epsilon = rng.choice([Fraction(1, 20), Fraction(1, 2), Fraction(3)])
    delta = rng.choice([Fraction(1, 10**4), Fraction(1, 10**10)])
    found = plan_batch(outlines, epsilon, delta)
    assert found.error <= found.error_apart
    assert found.charge.epsilon <= epsilon and found.charge.delta <= delta
    for _ in range(15):
        shares, deltas = drawn_split(rng, len(asked)), drawn_split(rng, len(asked))
        alone = [
            price(each, epsilon * share, delta * part)
            for each, share, part in zip(outlines, shares, deltas, strict=True)
        ]
        assert found.error <= sum(map(error_of, alone)) * (1 + 1e-4)


def test_fewer_rows_are_selected_by_weights_of_as_many_groups_as_the_policy_lets_a_unit_have() -> (
    None
):
    """What counts in full is tightened; what a weight is divided among is not."""
    own = outlined(BY_CITY, (256, None, None), rows=40)
    (level,) = plan_batch([own], Fraction(1, 2), Fraction(1, 10**8)).levels
    assert by_weights([level]) == [True]
    assert level.outline.limits.rows == level.outline.limits.groups == 40
    assert level.selection is not None and level.selection.groups_max == 256
