"""Noisy totals at several levels fitted to each other by least squares, so that parts add up.

Let x be the numbers of the finest cells, and A_l the sums of x that level l consists of. Noisy levels
y_l of variance v_l are fitted by the x that makes Σ_l |y_l - A_l x|² / v_l least, and each level becomes
A_l x. Where the y_l are unbiased for one x, so are the fitted levels, and each of their numbers has a
variance of at most v_l: among unbiased combinations of all y_l the least squares ones vary least (Gauss
and Markov), and y_l itself is another. The normal equations are solved by conjugate gradients; their
matrix has few different eigenvalues, one for each level or so, and that many steps are enough.

Whole numbers. The fit is rounded on the finest cells, and levels are sums of these, so they add up
exactly. Cells are laid out along axes, a chain of keys each (as of ROLLUP), and what is rounded to the
nearest whole number is not x but its running sums along all axes. A number of level l is a signed sum of
at most 2^a running sums, a the number of axes its keys lie on, so rounding moves it by at most 2^(a-1),
and a grand total by at most 1/2, however many cells there are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Columns = dict[int, Integers]  # for each key a number in every row

CELLS_MAX = 2**20  # finest cells: levels of more are shown as measured
LARGEST = 2**62  # sums of larger numbers might not fit
STEPS_MAX = 300
TOLERANCE = 1e-12


@dataclass(frozen=True)
class CellLattice:
    """The finest cells of several levels, and to which group of each level every cell belongs.

    `shape` is how many cells there are along each axis, in the order of the cells.
    """

    groups: tuple[Integers, ...]
    sizes: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many finest cells there are."""
        return math.prod(self.shape)

    def fit(self, levels: Sequence[Integers | None], variances: Sequence[float]) -> list[Integers]:
        """Return whole numbers for all levels that add up; None stands for a level not measured.

        Numbers that might not fit into their type are returned as they are, as are groups that have no
        cell in common with the other levels.
        """
        known = [level for level, values in enumerate(levels) if values is not None]
        measured = {level: np.asarray(levels[level]) for level in known}
        largest = max((int(np.abs(v).max(initial=0)) for v in measured.values()), default=0)
        if largest * self.cells >= LARGEST or not any(variances[level] > 0 for level in known):
            return [measured[level] for level in known]
        start = self._start(measured)
        missing = {
            level: (measured[level] - self._add_up(level, start)).astype(np.float64)
            for level in known
        }
        cells = start + self._rounded(self._least_squares(missing, variances))
        return [
            np.where(self._has_cells(level), self._add_up(level, cells), measured[level])
            for level in known
        ]

    def _start(self, measured: dict[int, Integers]) -> Integers:
        """Return the level whose groups are the finest cells, if it was measured: a first guess."""
        for level, values in measured.items():
            if self.sizes[level] == self.cells and bool(self._has_cells(level).all()):
                return values[self.groups[level]]
        return np.zeros(self.cells, dtype=np.int64)

    def _has_cells(self, level: int) -> NDArray[np.bool_]:
        return np.bincount(self.groups[level], minlength=self.sizes[level]) > 0

    def _add_up(self, level: int, cells: Integers) -> Integers:
        total = np.zeros(self.sizes[level], dtype=np.int64)
        np.add.at(total, self.groups[level], cells)
        return total

    def _least_squares(self, missing: dict[int, Reals], variances: Sequence[float]) -> Reals:
        """Return what must be added to the finest cells; a total without noise is met at last."""
        noisy = {level: variances[level] for level in missing if variances[level] > 0}
        least = min(noisy.values())

        def spread(levels: dict[int, Reals]) -> Reals:
            whole = np.zeros(self.cells)
            for level, values in levels.items():
                whole += values[self.groups[level]] * (least / noisy[level])
            return whole

        def normal(cells: Reals) -> Reals:
            return spread({level: self._totals(level, cells) for level in noisy})

        correction = conjugate_gradients(normal, spread({level: missing[level] for level in noisy}))
        for level in missing.keys() - noisy.keys():
            own = self.groups[level]
            residual = missing[level] - self._totals(level, correction)
            correction = (
                correction
                + (residual / np.maximum(1, np.bincount(own, minlength=residual.size)))[own]
            )
        return correction

    def _totals(self, level: int, cells: Reals) -> Reals:
        totals = np.zeros(self.sizes[level])
        totals += np.bincount(self.groups[level], weights=cells, minlength=totals.size)
        return totals

    def _rounded(self, cells: Reals) -> Integers:
        table = cells.reshape(self.shape)
        for axis in range(table.ndim):
            table = np.cumsum(table, axis=axis)
        table = np.rint(table)
        for axis in range(table.ndim):
            table = np.diff(table, axis=axis, prepend=0)
        return table.ravel().astype(np.int64)


def conjugate_gradients(matrix: Callable[[Reals], Reals], target: Reals) -> Reals:
    """Return the shortest x with matrix(x) = target, for a symmetric matrix without negative values."""
    solution = np.zeros_like(target)
    residual = target.copy()
    direction = residual.copy()
    length = float(residual @ residual)
    enough = TOLERANCE**2 * length
    for _ in range(STEPS_MAX):
        if length <= enough:
            break
        moved = matrix(direction)
        step = length / float(direction @ moved)
        solution += step * direction
        residual -= step * moved
        previous, length = length, float(residual @ residual)
        direction = residual + (length / previous) * direction
    return solution


def lattice(keys: Sequence[tuple[int, ...]], groups: Sequence[Integers]) -> CellLattice | None:
    """Return the lattice of levels with these keys, or None where it would be too large.

    `groups` has a row for each group of a level and a column for each of its keys; equal values of
    a key have equal numbers in all levels. The finest cells are the combinations of values that
    appear in every level.
    """
    tables = [dict(zip(own, rows.T, strict=True)) for own, rows in zip(keys, groups, strict=True)]
    radix = _radix(tables)
    if math.prod(radix.values()) >= LARGEST:
        return None
    cells: Columns = {}
    count = 1
    for index in sorted(range(len(keys)), key=lambda level: -len(keys[level])):
        joined = _joined(cells, count, tables[index], len(groups[index]), radix)
        if joined is None:
            return None
        cells, count = joined
    axes = axes_of(keys)
    order = np.argsort(_names(cells, [key for axis in axes for key in axis], radix, count))
    cells = {key: column[order] for key, column in cells.items()}
    parts = []
    for own, rows, table in zip(keys, groups, tables, strict=True):
        names = _names(table, own, radix, len(rows))
        back = np.argsort(names)
        parts.append(back[np.searchsorted(names[back], _names(cells, own, radix, count))])
    shape = tuple(len(np.unique(_names(cells, axis, radix, count))) for axis in axes)
    full = math.prod(shape) == count
    return CellLattice(tuple(parts), tuple(map(len, groups)), shape if full else (count,))


def axes_of(keys: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return chains of keys: no level has a key without those before it in its chain.

    >>> axes_of([(0, 1, 2), (0, 1), (0,), (2,)])
    [(0, 1), (2,)]
    """
    often = Counter(key for own in keys for key in own)
    axes: list[tuple[int, ...]] = []
    for key, _ in sorted(often.items(), key=lambda item: (-item[1], item[0])):
        having = [set(own) for own in keys if key in own]
        for place, axis in enumerate(axes):
            if all(own.issuperset(axis) for own in having):
                axes[place] = (*axis, key)
                break
        else:
            axes.append((key,))
    return axes


def _radix(tables: Sequence[Columns]) -> dict[int, int]:
    """Return for each key a number above those of its values."""
    radix: dict[int, int] = {}
    for table in tables:
        for key, column in table.items():
            radix[key] = max(radix.get(key, 1), int(column.max(initial=0)) + 1)
    return radix


def _names(table: Columns, keys: Sequence[int], radix: dict[int, int], count: int) -> Integers:
    """Return a number for each row that is the same where the values of these keys are."""
    names = np.zeros(count, dtype=np.int64)
    for key in keys:
        names = names * radix[key] + table[key]
    return names


def _joined(
    left: Columns, rows: int, right: Columns, others: int, radix: dict[int, int]
) -> tuple[Columns, int] | None:
    """Return the rows of two tables that agree in common keys, and their number, if any and not many."""
    common = [key for key in right if key in left]
    ours, theirs = _names(left, common, radix, rows), _names(right, common, radix, others)
    order = np.argsort(theirs)
    first = np.searchsorted(theirs[order], ours, side="left")
    counts = np.searchsorted(theirs[order], ours, side="right") - first
    count = int(counts.sum())
    if not 0 < count <= CELLS_MAX:
        return None
    repeated = np.repeat(np.arange(rows), counts)
    within = np.arange(count) - np.repeat(np.cumsum(counts) - counts, counts)
    matches = order[first[repeated] + within]
    added = {key: column[matches] for key, column in right.items() if key not in left}
    return {key: column[repeated] for key, column in left.items()} | added, count
