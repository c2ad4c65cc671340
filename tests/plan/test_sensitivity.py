"""Declared sensitivities against brute force: every pair of neighbours of a tiny database.

One unit is all that differs, and what a unit contributes after bounding is: a row count in each cell
(at most `groups` cells, at most `rows_per_group` in one, at most `rows` in all) and, for a sum, an
integer between low and high for every row. All of these are listed; the largest difference between
two of them must be at most the declared number, and equal to it where the bound is claimed tight.
Where cells are merged, every set of cells is added up in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import pytest

from sanql.measurements.limits import ContributionLimits
from sanql.measurements.sensitivity import (
    Sensitivity,
    SensitivitySetting,
    sensitivity_of_counts,
    sensitivity_of_distinct,
    sensitivity_of_histogram,
    sensitivity_of_other_groups,
    sensitivity_of_sums,
    sensitivity_of_units,
)
from sanql.policy.model import Neighbours

pytestmark = pytest.mark.slow

Vector = tuple[int, ...]
LIMITS = [
    ContributionLimits(groups, rows, rows_per_group)
    for groups, rows, rows_per_group in (
        (1, 1, 1), (1, 2, 2), (2, 2, 1), (2, 2, 2), (2, 3, 2), (2, 4, 2),
    )
]  # fmt: skip
RELATIONS: list[Neighbours] = ["add-remove", "change-one"]


@dataclass(frozen=True)
class World:
    """The cells of an answer, and whether each unit surely has one row in one of them."""

    setting: SensitivitySetting
    cells: int


def worlds() -> Iterator[World]:
    for limits, relation in product(LIMITS, RELATIONS):
        most = limits.rows_per_group
        yield World(SensitivitySetting(relation, ContributionLimits(1, most, most), True, False), 1)
        yield World(SensitivitySetting(relation, limits, False, False), 2 * limits.groups)
        if limits.rows < 4:  # more only takes longer
            yield World(
                SensitivitySetting(relation, limits, False, False, merged=True), 2 * limits.groups
            )
    row = ContributionLimits(1, 1, 1)
    yield World(SensitivitySetting("change-one", row, True, True), 1)
    yield World(SensitivitySetting("change-one", row, False, True), 3)
    yield World(SensitivitySetting("change-one", row, False, True, merged=True), 3)


WORLDS = list(dict.fromkeys(worlds()))
APART = [world for world in WORLDS if not world.setting.merged]
MERGED = [world for world in WORLDS if world.setting.merged]


def named(world: World) -> str:
    s = world.setting
    limits = f"{s.limits.groups}-{s.limits.rows}-{s.limits.rows_per_group}"
    sure = " sure" if s.always_present else ""
    cells = "one" if s.one_group else "merged" if s.merged else "many"
    return f"{s.neighbours} {limits} {cells}{sure}"


def row_counts(world: World) -> list[Vector]:
    """Return every vector of row counts that one unit can be left with."""
    limits = world.setting.limits
    found = [
        counts
        for counts in product(range(limits.rows_per_group + 1), repeat=world.cells)
        if sum(counts) <= limits.rows and sum(count > 0 for count in counts) <= limits.groups
    ]
    if world.setting.always_present:
        return [counts for counts in found if sum(counts) == 1]
    return found


def sums(world: World, low: int, high: int, total: tuple[int, int] | None) -> list[Vector]:
    """Return the extreme vectors of sums; a present unit may add anything between them."""
    found: set[Vector] = set()
    for counts in row_counts(world):
        ends = [(low * n, high * n) if n else (0,) for n in counts]
        for vector in product(*ends):
            low_total, high_total = total or (min(vector), max(vector))
            found.add(
                tuple(
                    min(max(part, low_total), high_total) if n else 0
                    for part, n in zip(vector, counts, strict=True)
                )
            )
    return list(found)


def largest(world: World, contributions: list[Vector]) -> Sensitivity:
    """Return the largest differences between neighbours, each norm by itself."""
    other = contributions
    if world.setting.neighbours == "add-remove":
        other = [(0,) * world.cells]
    gaps = {
        tuple(a - b for a, b in zip(left, right, strict=True))
        for left in contributions
        for right in other
    }
    if world.setting.merged:
        gaps = {
            merged(gap, hidden) for gap in gaps for hidden in product((0, 1), repeat=world.cells)
        }
    gaps = {tuple(map(abs, gap)) for gap in gaps}
    return Sensitivity(
        max(sum(gap) for gap in gaps),
        max(max(gap) for gap in gaps),
        max(sum(part * part for part in gap) for gap in gaps),
    )


def merged(gap: Vector, hidden: Vector) -> Vector:
    """Return the difference when hidden cells are added up: theirs together, then the others'."""
    rest = sum(part for part, is_hidden in zip(gap, hidden, strict=True) if is_hidden)
    return (rest, *(p for p, is_hidden in zip(gap, hidden, strict=True) if not is_hidden))


def assert_holds(declared: Sensitivity, found: Sensitivity) -> None:
    assert declared.l1 >= found.l1
    assert declared.linf >= found.linf
    assert declared.l2_squared >= found.l2_squared


@pytest.mark.parametrize("world", WORLDS, ids=named)
def test_counts_of_rows_move_exactly_as_declared(world: World) -> None:
    declared, found = sensitivity_of_counts(world.setting), largest(world, row_counts(world))
    if world.setting.merged and world.setting.neighbours == "change-one":
        # only one cell is merged, so not both units can have all they have in one
        assert (declared.l1, declared.linf) == (found.l1, found.linf)
        assert found.l2_squared <= declared.l2_squared <= 2 * found.l2_squared
    else:
        assert declared == found


@pytest.mark.parametrize("world", MERGED, ids=named)
def test_units_added_up_move_exactly_as_declared(world: World) -> None:
    presence = [tuple(min(1, n) for n in counts) for counts in row_counts(world)]
    declared = sensitivity_of_other_groups(world.setting)
    rests = {sum(vector) for vector in presence} | {0}  # whichever cells are hidden
    most = max(rests)
    assert declared == Sensitivity(most, most, most**2)


@pytest.mark.parametrize("world", APART, ids=named)
def test_counts_of_units_move_exactly_as_declared(world: World) -> None:
    presence = list({tuple(min(1, n) for n in counts) for counts in row_counts(world)})
    assert sensitivity_of_units(world.setting) == largest(world, presence)


BOUNDS = [(0, 1), (0, 5), (-3, 5), (-5, 3), (-4, 4), (2, 5), (-5, -2), (3, 3), (0, 0)]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("world", WORLDS, ids=named)
def test_sums_move_at_most_as_declared(world: World, bounds: tuple[int, int]) -> None:
    low, high = bounds
    declared = sensitivity_of_sums(world.setting, low, high, None)
    found = largest(world, sums(world, low, high, None))
    assert_holds(declared, found)
    if world.setting.neighbours == "add-remove" or world.setting.one_group:
        assert declared == found  # tight
    else:
        # one row cannot hide in two cells, and L1 and L-infinity are exact; L2 is within a factor of
        # two, which is exact for values of one sign
        assert (declared.l1, declared.linf) == (
            found.l1,
            found.linf,
        ) or world.setting.always_present
        assert declared.l2_squared <= 2 * found.l2_squared
        if (low >= 0 or high <= 0) and (
            not world.setting.merged or world.setting.limits.groups == 1
        ):
            assert declared.l2_squared == found.l2_squared


TOTALS = [(0, 2), (-1, 3), (-2, 2), (0, 100), (-100, 100)]


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("bounds", [(0, 5), (-3, 5), (2, 5)])
@pytest.mark.parametrize("world", WORLDS, ids=named)
def test_sums_with_a_limit_on_the_total_move_at_most_as_declared(
    world: World, bounds: tuple[int, int], total: tuple[int, int]
) -> None:
    low, high = bounds
    declared = sensitivity_of_sums(world.setting, low, high, total)
    assert_holds(declared, largest(world, sums(world, low, high, total)))
    free = sensitivity_of_sums(world.setting, low, high, None)
    assert_holds(free, declared)  # a limit never costs


@pytest.mark.parametrize("values", [1, 2, 3])
@pytest.mark.parametrize("world", WORLDS, ids=named)
def test_counts_of_distinct_values_move_exactly_as_declared(world: World, values: int) -> None:
    # a unit adds at most `values` over all cells, merged or not, whatever its limits on rows and groups
    world = World(replace(world.setting, always_present=False), world.cells)
    added = [
        vector for vector in product(range(values + 1), repeat=world.cells) if sum(vector) <= values
    ]
    declared = sensitivity_of_distinct(world.setting, values)
    assert_holds(declared, largest(world, added))
    assert declared == largest(world, added)


def test_a_whole_count_of_a_fixed_number_of_rows_moves_nowhere() -> None:
    setting = SensitivitySetting("change-one", ContributionLimits(1, 1, 1), True, True)
    assert sensitivity_of_counts(setting).zero
    assert sensitivity_of_units(setting).zero
    assert not sensitivity_of_sums(setting, 0, 1, None).zero


@pytest.mark.parametrize("limits", LIMITS)
def test_the_norms_of_the_largest_unit_are_those_of_brute_force(limits: ContributionLimits) -> None:
    world = World(SensitivitySetting("add-remove", limits, False, False), 2 * limits.groups)
    counts = row_counts(world)
    assert limits.row_norms == (
        max(map(sum, counts)),
        max(map(max, counts)),
        max(sum(n * n for n in each) for each in counts),
    )


def splits(count: int, values: int) -> list[Vector]:
    """Return all ways in which so many rows may have some of these values, or none of them."""
    return [c for c in product(range(count + 1), repeat=values) if sum(c) <= count]


def by_value(world: World, values: int) -> list[tuple[Vector, ...]]:
    """Return every table of counts by group and value that one unit can be left with."""
    return list(
        dict.fromkeys(
            table
            for counts in row_counts(world)
            for table in product(*(splits(count, values) for count in counts))
        )
    )


def neighbours_by_value(world: World, values: int) -> Iterator[list[Vector]]:
    """Yield how far each count of each group moves, for every pair of neighbours."""
    found = by_value(world, values)
    empty = tuple((0,) * values for _ in range(world.cells))
    others = found if world.setting.neighbours == "change-one" else [empty]
    for left, right in product(found, others):
        yield [
            tuple(abs(a - b) for a, b in zip(x, y, strict=True))
            for x, y in zip(left, right, strict=True)
        ]


FEW = [world for world in APART if world.cells * world.setting.limits.rows < 9]


@pytest.mark.parametrize("world", FEW, ids=named)
def test_counts_by_value_move_exactly_as_declared(world: World) -> None:
    declared = sensitivity_of_histogram(world.setting)
    l1 = linf = squared = 0
    for gaps in neighbours_by_value(world, 2):
        moved = [gap for group in gaps for gap in group]
        l1, linf = max(l1, sum(moved)), max(linf, *moved)
        squared = max(squared, sum(gap * gap for gap in moved))
    assert (l1, linf, squared) == (declared.l1, declared.linf, declared.l2_squared)


@pytest.mark.parametrize("world", MERGED, ids=named)
def test_what_is_counted_by_value_is_never_merged(world: World) -> None:
    apart = replace(world.setting, merged=False)
    assert sensitivity_of_histogram(world.setting) == sensitivity_of_histogram(apart)
