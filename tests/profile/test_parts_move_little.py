"""One unit moves each part of a profile by no more than is declared: brute force on a tiny domain.

Every unit with up to three rows over two groups, without one or with both, is measured alone and beside
every other: cells add up over units, and any two units differ by what is declared at most, which some do.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest

from privacy.additivity import check_sum, without_units
from privacy.replay import check, keyed
from privacy.worlds import ENGINE, Bounding, Database, Row, source_of, write_policy
from sanql.compile.statement import compile_plan
from sanql.plan.level import Level
from sanql.plan.unit_sizes import SIZE_EDGES, VALUE_EDGES
from sanql.plan.unit_spread import OCTAVES, PLACES, base_and_width
from sanql.policy.model import Neighbours, Policy
from sanql.profile.parts import PartKind, ProfilePart, parts_of, plan_part

PARTS: list[tuple[PartKind, str]] = [
    ("rows", ""),
    ("groups", "sex"),
    ("norms", "sex"),
    ("sizes", "sex"),
    ("ranges", "big"),
    ("values", "big"),
]
VALUES = [*product(["F", "M"], [1]), (None, -9)]
UNITS = [
    rows for number in range(4) for rows in combinations_with_replacement(VALUES, number)
]  # one of them has nothing at all
LIMITS = {name: Bounding(3, 2, None) for name in ("visits", "stays")}
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "change-one")


def rows_of(person: int, values: tuple[tuple[str | None, int], ...]) -> list[Row]:
    blank: Row = dict.fromkeys(ENGINE)
    return [{**blank, "person": person, "sex": sex, "big": big} for sex, big in values]


def level_of(policy: Policy, kind: PartKind, column: str) -> Level:
    part = ProfilePart("visits", kind, column, Fraction(1))
    (level,) = plan_part(part, policy.tables, policy.neighbours).levels
    return level


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("kind", "column"), PARTS)
def test_any_two_units_differ_by_what_is_declared_at_most(
    tmp_path: Path, neighbours: Neighbours, kind: PartKind, column: str
) -> None:
    policy = write_policy(tmp_path, neighbours, LIMITS)
    level, database = level_of(policy, kind, column), Database()
    sent = compile_plan(level, source_of(policy), 7)
    alone = []
    for person, values in enumerate(UNITS):
        database.load("visits", rows_of(person, values))
        alone.append(database.cells(sent))
    attained = [False] * len(level.measurements)
    for ours in alone:
        others = alone if neighbours == "change-one" else [without_units(level, alone[0])]
        for theirs in others:
            reached = check(level, ours, theirs)
            attained = [a or b for a, b in zip(attained, reached, strict=True)]
    # two groups cannot be left for two others where there are three
    assert attained[0] or (kind, neighbours) == ("sizes", "change-one")
    database.load("visits", [row for n, unit in enumerate(UNITS) for row in rows_of(n, unit)])
    assert check_sum(level, database.cells(sent), alone) > 0


def test_places_and_norms_are_counted_as_by_hand(tmp_path: Path) -> None:
    policy, database = write_policy(tmp_path, "add-remove", LIMITS), Database()
    sizes = [(1, 0), (2, 1), (3, 3), (4, 0), (5, 2), (8, 8), (9, 1), (100, 30), (511, 7)]
    rows = [
        row
        for person, (women, men) in enumerate(sizes)
        for row in rows_of(person, (("F", 1),) * women + (("M", 1),) * men)
    ]
    database.load("visits", rows)
    cells = {
        kind: keyed(level, database.cells(compile_plan(level, source_of(policy), 7)))
        for kind, column in PARTS[:3]
        for level in [level_of(policy, kind, column)]
    }
    octave = [next(i for i, e in enumerate(OCTAVES) if a + b <= e) for a, b in sizes]
    assert {key[0]: units for key, (units, _) in cells["rows"].items() if units} == Counter(octave)
    for index in range(len(OCTAVES)):
        base, width = base_and_width(index)
        there = [a + b for (a, b), own in zip(sizes, octave, strict=True) if own == index]
        by_hand = sum((size - base) * PLACES // width for size in there) if width else 0
        assert cells["rows"][index,][1] == by_hand
    groups = Counter((a > 0) + (b > 0) for a, b in sizes)
    assert {key[0]: units for key, (units, _) in cells["groups"].items() if units} == groups
    lengths = [math.isqrt(a * a + b * b - 1) + 1 for a, b in sizes]  # rounded up
    bins = Counter(next(i for i, e in enumerate(SIZE_EDGES) if n <= e) for n in lengths)
    assert {key[0]: units for key, (units,) in cells["norms"].items() if units} == bins


def test_rows_with_a_value_are_counted_as_by_hand(tmp_path: Path) -> None:
    policy, database = write_policy(tmp_path, "add-remove", LIMITS), Database()
    sizes = [(0, 3), (1, 0), (1, 9), (2, 0), (5, 2), (30, 100)]
    database.load(
        "visits",
        [
            row
            for person, (some, none) in enumerate(sizes)
            for row in rows_of(person, (("F", 1),) * some)
            + [{**row, "big": None} for row in rows_of(person, (("F", 1),) * none)]
        ],
    )
    level = level_of(policy, "values", "big")
    found = keyed(level, database.cells(compile_plan(level, source_of(policy), 7)))
    bins = Counter(next(i for i, e in enumerate(VALUE_EDGES) if n <= e) for n, _ in sizes)
    assert {key[0]: units for key, (units,) in found.items() if units} == bins


def test_the_price_is_divided_evenly_among_the_parts(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, "add-remove", LIMITS)
    parts = parts_of("visits", ["sex", "city", "raw", "big"], policy.tables, Fraction(1))
    assert [(part.kind, part.column) for part in parts] == [
        ("rows", ""),
        *((kind, "sex") for kind in ("groups", "norms", "sizes")),
        *((kind, "city") for kind in ("groups", "norms")),
        *((kind, "raw") for kind in ("ranges", "values")),
        *((kind, "big") for kind in ("ranges", "groups", "norms")),
    ]
    plans = [plan_part(part, policy.tables, policy.neighbours) for part in parts]
    assert sum(plan.charge.epsilon for plan in plans) == 1
