"""Levels fitted to each other, against a dense least squares solver and counting by hand."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from sanql.answer.lattice import CELLS_MAX, CellLattice, Integers, axes_of, lattice

Sets = list[tuple[int, ...]]


def cube(keys: int) -> Sets:
    return [s for size in range(keys, -1, -1) for s in combinations(range(keys), size)]


def groups_of(sets: Sets, cells: list[tuple[int, ...]], rng: np.random.Generator) -> list[Integers]:
    """Return the groups of each level that the cells fall into, in no order."""
    found = []
    for own in sets:
        rows = sorted({tuple(cell[key] for key in own) for cell in cells})
        table = np.array(rows, dtype=np.int64).reshape(len(rows), len(own))
        found.append(table[rng.permutation(len(rows))])
    return found


def made(
    sets: Sets, cells: list[tuple[int, ...]], seed: int = 1
) -> tuple[CellLattice, list[Integers]]:
    groups = groups_of(sets, cells, np.random.default_rng(seed))
    found = lattice(sets, groups)
    assert found is not None
    return found, groups


def full(*sizes: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, sizes)))


TREE = [(region, 10 * region + town) for region in range(4) for town in range(1 + 2 * region)]
SPARSE = [(a, b) for a in range(6) for b in range(5) if (a * b) % 3 != 1]
FAMILIES = {
    "cube of two": (cube(2), full(3, 4)),
    "cube of three": (cube(3), full(3, 2, 4)),
    "rollup": ([(0, 1, 2), (0, 1), (0,), ()], full(4, 3, 5)),
    "rollup of a hierarchy": ([(0, 1), (0,), ()], TREE),
    "cube of a hierarchy": (cube(2), TREE),
    "cube of pairs that are not all there": (cube(2), SPARSE),
    "hierarchy by another key": (
        [(0, 1, 2), (0, 1), (0, 2), (2,), ()],
        [(*place, sex) for place in TREE for sex in range(2)],
    ),
    "no finest level": ([(0,), (1,), ()], full(5, 7)),
    "tables that share a key": ([(0, 1), (1, 2), ()], full(3, 4, 5)),
    "two keys that share nothing": ([(0,), (1,)], full(6, 4)),
    "one key and the total": ([(0,), ()], full(9)),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_least_squares_rounded_within_the_stated_bound(name: str, seed: int) -> None:
    sets, cells = FAMILIES[name]
    known, groups = made(sets, cells, seed)
    rng = np.random.default_rng(seed)
    noisy = [rng.integers(-1000, 5000, len(rows)) for rows in groups]
    variances = list(rng.uniform(0.5, 60, len(sets)))
    matrices = [np.eye(n)[:, part] for n, part in zip(known.sizes, known.groups, strict=True)]
    scale = np.concatenate(
        [np.full(n, v**-0.5) for n, v in zip(known.sizes, variances, strict=True)]
    )
    least, *_ = np.linalg.lstsq(
        np.vstack(matrices) * scale[:, None], np.concatenate(noisy) * scale, rcond=None
    )
    whole = len(known.shape) == len(axes_of(sets))
    for own, matrix, values in zip(sets, matrices, known.fit(noisy, variances), strict=True):
        touched = sum(bool(set(axis) & set(own)) for axis in axes_of(sets))
        bound = max(0.5, 2.0 ** (touched - 1)) if whole else len(cells)
        assert np.abs(matrix @ least - values).max() <= bound + 1e-6


@pytest.mark.parametrize("name", FAMILIES)
def test_parts_add_up_to_totals_to_the_last_digit(name: str) -> None:
    sets, cells = FAMILIES[name]
    known, groups = made(sets, cells)
    rng = np.random.default_rng(5)
    noisy = [rng.integers(-(10**9), 10**9, len(rows)) for rows in groups]
    fit = known.fit(noisy, [1.0] * len(sets))
    tables = [
        {tuple(row): int(value) for row, value in zip(rows.tolist(), values, strict=True)}
        for rows, values in zip(groups, fit, strict=True)
    ]
    for (own, table), (other, larger) in product(zip(sets, tables, strict=True), repeat=2):
        shared = [key for key in own if key in other]
        assert _margin(table, own, shared) == _margin(larger, other, shared)


def _margin(
    table: dict[tuple[int, ...], int], own: tuple[int, ...], shared: list[int]
) -> dict[tuple[int, ...], int]:
    found: dict[tuple[int, ...], int] = {}
    for row, value in table.items():
        key = tuple(row[own.index(each)] for each in shared)
        found[key] = found.get(key, 0) + value
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_numbers_that_add_up_stay_as_they_are(name: str) -> None:
    sets, cells = FAMILIES[name]
    known, groups = made(sets, cells)
    truth = np.random.default_rng(3).integers(-50, 50, known.cells)
    exact = []
    for rows, part in zip(groups, known.groups, strict=True):
        total = np.zeros(len(rows), dtype=np.int64)
        np.add.at(total, part, truth)
        exact.append(total)
    fit = known.fit(exact, [3.0 + level for level in range(len(sets))])
    assert [list(values) for values in fit] == [list(values) for values in exact]


def test_a_total_without_noise_is_kept() -> None:
    known, _ = made(cube(2), full(5, 4))
    rng = np.random.default_rng(2)
    noisy = [rng.integers(0, 100, size) for size in known.sizes]
    fit = known.fit(noisy, [9.0, 9.0, 9.0, 0.0])
    assert list(fit[3]) == list(noisy[3])
    assert {int(values.sum()) for values in fit} == {int(noisy[3][0])}


def test_a_level_that_was_not_measured_is_left_out() -> None:
    known, _ = made(cube(2), full(3, 2))
    levels = [np.arange(6), None, np.array([5, 11]), None]
    fit = known.fit(levels, [1.0, 0.0, 1.0, 0.0])
    assert [values.size for values in fit] == [6, 2]
    assert fit[0].sum() == fit[1].sum()


def test_larger_tables_keep_totals_within_half_a_unit() -> None:
    known, _ = made(cube(2), full(150, 80))
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 40, known.cells)
    noisy = []
    for size, part in zip(known.sizes, known.groups, strict=True):
        exact = np.zeros(size, dtype=np.int64)
        np.add.at(exact, part, truth)
        noisy.append(exact + rng.integers(-9, 10, size))
    total = known.fit(noisy, [30.0, 30.0, 30.0, 1e-6])[3]
    assert abs(int(total[0]) - int(noisy[3][0])) <= 1  # rounding 12,000 cells one by one: about 30


def test_groups_without_a_cell_and_numbers_too_large_are_left_as_they_are() -> None:
    groups = [
        np.array([[0, 0], [0, 1], [1, 1]]),
        np.array([[0], [1], [2]]),
        np.zeros((1, 0), np.int64),
    ]
    known = lattice([(0, 1), (0,), ()], groups)
    assert known is not None
    fit = known.fit([np.array([5, 5, 5]), np.array([20, 5, 77]), np.array([30])], [1.0, 1.0, 1.0])
    assert fit[1][2] == 77  # nothing is known of it but this
    huge = [np.full(size, 2**62) for size in known.sizes]
    assert [list(v) for v in known.fit(huge, [1.0] * 3)] == [list(v) for v in huge]


def test_a_product_that_is_too_large_is_not_made() -> None:
    side = np.arange(2_000, dtype=np.int64)[:, None]
    assert side.size**2 > CELLS_MAX
    assert lattice([(0,), (1,), ()], [side, side, np.zeros((1, 0), np.int64)]) is None
