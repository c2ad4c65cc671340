"""Bounding by norm: a unit's numbers in all groups are scaled down together until they are short enough.

Nothing of a unit is dropped. Let v be its vector of whole numbers over groups (rows, or a sum's steps),
C the norm it may have, and 2^k the `scale`: cells count steps of 1/2^k, or a few rows scaled to a part
of one would round to nothing. Where |v| <= C its part of the cells is v · 2^k. Where |v| > C it is

    v' = trunc(v · 2^k · c / N),     c <= 2^s C  and  N >= 2^s |v|  whole numbers,

so |v'_i| <= |v_i| 2^k C / |v| in every group, and |v'| <= 2^k C: truncating toward zero shortens. The
norm is L1 where noise is Laplace, L2 where it is Gaussian; v' depends on the unit's own rows only.
`shift` is s: with it c has 24 bits, so that c is 2^s C but for one part in 2^23, and the engine's whole
numbers of 128 bits suffice:

- In one group no more than `most` rows count, 2^31 / 2^s or some 2^7 C: the numbers of a group with n
  rows, if these are more, are scaled to most/n, toward zero. (A sum bounded alone is held between -most
  and most.) That depends on the unit's own rows as well. So 2^s |v_i| <= 2^31, its square is at most
  2^62, and the squares of all groups, fewer than 2^63, add up to less than 2^125.
- N is the length of the vector of ceil(2^s |v_i|), rounded up: an integer whose square is no less than
  the sum of squares, as a comparison of whole numbers has shown.
- `fits` says that no product reaches 2^126; sums are held to those of 2^40 rows, which nobody has.

Numbers that belong together have one factor. Where rows are counted, r is the vector of a unit's rows,
and sums follow it: s' = trunc(s · 2^k · c / N) with the N of r. As |s_i| <= M r_i for values within
[-M, M], also |s'| <= 2^k M C: a sum is as short as it must be whenever its rows are, and an average stays
one of the same rows, each unit with a weight of its own.

Numbers that are bounded `jointly` have one factor too, the least of several: that of the unit's rows,
held to C, and for each sum that of its own length, held to a K of its own. Each number is scaled by
every one of them, toward zero, and what is nearest to zero is taken: so |r'| <= 2^k C and |s'| <= 2^k K
hold both, whatever the other lengths are (docs/averages.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sanql.measurements.sensitivity import Sensitivity, SensitivitySetting
from sanql.question import Expr

NORM_BITS = 24  # of c: how exactly a norm is met
VALUE_BITS = 31  # of 2^s v: what is longer is held there
ENGINE_BITS = 126  # of a product: whole numbers of the engine have 127, and a sign
ROWS_BITS = 40  # of rows of one unit in one group: nobody has so many
STEP_BITS = 20  # of a norm in steps: the least that one scaled number can lose is so small a part

NormOrder = Literal[1, 2]


@dataclass(frozen=True)
class NormBound:
    """The norm that one unit's numbers over all groups may have, and how they are scaled to it.

    `bound` is an L1 norm, or the square of an L2 norm, in whole rows, or in steps of the grid where a
    sum is bounded `alone`, by its own length. `scale` is 2^k: as many steps of cells are one of these.
    Numbers that are bounded `jointly` are scaled by the least factor of all.
    """

    order: NormOrder
    bound: int
    scale: int
    alone: bool = False
    jointly: bool = False

    @property
    def shift(self) -> int:
        """The s of the formula: 2^s C has no more than 24 bits; an L1 norm is exact without."""
        bits = self.bound.bit_length()
        if self.order == 1:
            return min(0, NORM_BITS - bits)
        return NORM_BITS - (bits + 1) // 2

    @property
    def numerator(self) -> int:
        """The c of the formula: 2^s C, rounded down."""
        if self.order == 1:
            return self.threshold
        return math.isqrt(_shifted(self.bound, 2 * self.shift))

    @property
    def threshold(self) -> int:
        """The largest L1 norm, or sum of squares, of 2^s v that stays as it is."""
        return _shifted(self.bound, self.shift * self.order)

    @property
    def most(self) -> int:
        """Where one group's number is held before anything else."""
        return 1 << (VALUE_BITS - self.shift)

    def fits(self, size: int) -> bool:
        """Return whether the engine's whole numbers suffice for values of this size in a row."""
        if self.bound < 1:
            return False
        each = 1 if self.alone else size
        largest = self.most * each * max(self.scale * self.numerator, 1 << ROWS_BITS)
        return largest.bit_length() <= ENGINE_BITS

    def bears(self, other: NormBound) -> bool:
        """Return whether numbers held for this norm may be scaled by the factor of another."""
        largest = self.most * self.scale * other.numerator
        return largest.bit_length() <= ENGINE_BITS


Taken = tuple[float, float]
"""By what a variance counts more, and the squared error besides, in rows of an average group."""


@dataclass(frozen=True)
class OwnNorm:
    """The norms that a sum by itself may have, in steps of its grid; None where limits alone tell.

    `size` is how far an average value is from the centre of the sum, where that is what they rest on;
    `taken_l1` and `taken_l2` what they take away, in average values of a group.
    """

    expression: Expr
    l1: int
    l2_squared: int | None
    size: int = 1
    taken_l1: Taken = (1.0, 0.0)
    taken_l2: Taken = (1.0, 0.0)

    def bound(self, order: NormOrder) -> int | None:
        """Return the L1 norm, or the square of the L2 norm."""
        return self.l1 if order == 1 else self.l2_squared


@dataclass(frozen=True)
class UnitNorms:
    """The norms that one unit's rows over all groups may have, one for each kind of noise.

    None stands for noise with which units are bounded by dropping. What is bounded `by_rows` has the
    factor of the unit's rows, and no sum one of its own: then, in L1, each unit has the same factor
    however its rows are grouped. `own` are norms of sums that are bounded alone, where they are known to
    be shorter than rows of the largest values; `taken_l1` and `taken_l2` what norms that were chosen by
    what is known take away. Sums and counts bounded `jointly` have the least factor of all; `averages`
    are the norms that they have where averages are measured so (plan/average_norms.py).
    """

    setting: SensitivitySetting
    l1: int
    l2_squared: int | None
    by_rows: bool = False
    own: tuple[OwnNorm, ...] = ()
    taken_l1: Taken = (1.0, 0.0)
    taken_l2: Taken | None = None
    jointly: bool = False
    averages: UnitNorms | None = None

    def bound(self, order: NormOrder) -> int | None:
        """Return the L1 norm, or the square of the L2 norm."""
        return self.l1 if order == 1 else self.l2_squared

    def own_bound(self, expression: Expr | None, order: NormOrder) -> int | None:
        """Return the L1 norm of a sum by itself, or the square of its L2 norm, if it is known."""
        found = (own.bound(order) for own in self.own if own.expression == expression)
        return next(found, None)

    def known_size(self, expression: Expr | None) -> int | None:
        """Return how large an average value is, in steps of its grid, if that is known."""
        return next((own.size for own in self.own if own.expression == expression), None)

    def taken(self, norm: NormBound, expression: Expr | None, size: int) -> Taken:
        """Return what scaling takes away of a measurement, as far as anybody knows.

        In L1 a unit within limits loses nothing. In L2 it may lose all that it is longer than the norm;
        so, where nothing is known, the noise counts as that of a norm between this one and the longest
        that limits allow. A sum whose own norm is known loses what its values tell, and one of a known
        size rows of an average value. An error is in rows of the largest value, of this `size`.
        """
        first = norm.order == 1
        known = next((own for own in self.own if own.expression == expression), None)
        in_rows = 1.0 if known is None else (known.size / size) ** 2
        if known is not None and norm.alone and known.bound(norm.order) is not None:
            factor, missed = known.taken_l1 if first else known.taken_l2
            return factor, missed * in_rows
        found = self.taken_l1 if first else self.taken_l2
        if found is not None:
            factor, missed = (
                found  # of means, of which more counts, it is in rows of the largest value
            )
            return factor, missed * (in_rows if factor == 1 else 1.0)
        if not self.l2_squared:
            return 1.0, 0.0
        _, _, longest = self.setting.limits.row_norms
        return math.sqrt(longest / self.l2_squared), 0.0


def scale_for(order: NormOrder, bound: int, size: int) -> int:
    """Return how many steps the cells have for one of the grid: enough for a norm of 2^20 steps."""
    bits = bound.bit_length() if order == 1 else (bound.bit_length() + 1) // 2
    return 1 << max(0, STEP_BITS - bits - (size - 1).bit_length())


def sensitivity_by_norm(
    setting: SensitivitySetting, norm: NormBound, low: int, high: int
) -> Sensitivity:
    """Return how far one unit moves cells that are bounded by norm, in steps of the cells.

    A row's values lie in [low, high], which of a count is [0, 1]. `length` is 2^k M C, the most that a
    unit's cells can have. add-remove: one vector of that length. change-one: v - v' is at most twice as
    long; where all entries have one sign, (v_i - v'_i)^2 <= v_i^2 + v'_i^2, so in L2 it is at most sqrt 2
    times as long, and no entry moves by more than it can have. An entry is no longer than the vector, and
    has no more than `rows_per_group` rows. In one group there is no other entry. The norm that noise does
    not use: whole numbers are no longer in L1 than in squared L2, and squared L2 is at most L1 times the
    largest entry.
    """
    size = max(abs(low), abs(high), 1)
    per_row = norm.scale * (1 if norm.alone else size)
    one_sign = low >= 0 or high <= 0
    if norm.order == 1:
        length = squared = norm.bound * per_row
    else:
        squared = norm.bound * per_row**2
        length = math.isqrt(squared)
    entry = min(length, setting.limits.rows_per_group * size * norm.scale)
    if setting.neighbours == "change-one":
        entry *= 1 if one_sign else 2
        if norm.order == 1:
            length *= 2
        else:
            squared *= 2 if one_sign else 4
    if setting.one_group:
        return Sensitivity(entry, entry, entry**2)
    if norm.order == 1:
        return Sensitivity(length, entry, length * entry)
    return Sensitivity(squared, entry, squared)


def _shifted(number: int, bits: int) -> int:
    """Return a number times a power of two, rounded down."""
    return number << bits if bits >= 0 else number >> -bits
