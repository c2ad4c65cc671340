"""The kinds of integer that the engine computes for each group, and what is declared of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from sanql.computed_once import computed_once
from sanql.measurements.norms import NormBound
from sanql.measurements.quantile_picks import QuantileBins
from sanql.measurements.sensitivity import Sensitivity
from sanql.question import Expr, LiteralValue


class Measured(StrEnum):
    """The kinds of integer that the engine computes for each group."""

    ROWS = "rows"
    VALUES = "rows with a value"
    UNITS = "units"
    SUM = "sum"
    BELOW = "how far values are below their upper bound, in all"
    DISTINCT = "distinct values"
    CHOICE = "how many distinct values of a unit count"
    PICKS = "rows on either side of a value"
    LADDER = "rows between values around the picked ones"
    OTHER_GROUPS = "units in groups that do not appear"
    HISTOGRAM = "rows with each public value"
    KEY_WEIGHTS = "units weighted by their groups"


@dataclass(frozen=True)
class Paired:
    """With which measurement one is measured, as how far values are from either end (pairs.py).

    `width` is what the two ends are apart, and `scale` of the steps of cells are one, in steps of the
    grid of the values.
    """

    partner: int
    width: int
    scale: int


@dataclass(frozen=True)
class Poured:
    """How many rows in a group count of one unit of the first kind, and of one of the second.

    Where rows belong to units of two kinds, what they add is taken in turn as far as both units have
    room (kernel/pouring.py): the room of so many rows of the largest value.
    """

    first: int
    second: int

    @property
    def largest(self) -> int:
        """The rows of one unit of whichever kind has more."""
        return max(self.first, self.second)

    def rooms(self, low: int, high: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return what units of each kind may add in a group: of what is above zero, and below."""
        up, down = max(high, 0), max(-low, 0)
        return (self.first * up, self.second * up), (self.first * down, self.second * down)


@dataclass(frozen=True)
class Measurement:
    """One integer per group, its sensitivity, and how much its error matters.

    A SUM adds `round(x / grid) - centre`, enclosed in [low, high]. `size` is the magnitude of one
    row's part, by which errors of different measurements are compared. PICKS are not one integer but
    the quantiles' bins (quantile_picks.py), and a LADDER counts rows around the picks of measurement
    `of`. A SUM of squares may be `around` the noisy mean of another sum (squares.py). OTHER_GROUPS is
    made of the counts of units of measurement `of` (plan/other_groups.py). A HISTOGRAM is one integer for
    each of the public `values` of its expression. KEY_WEIGHTS only select
    keys (key_weights.py): at most `groups_max` groups of a unit count. Of DISTINCT values one unit adds
    at most `values_per_unit`; None where it has one row that counts. Where that number is chosen
    privately, they are counted for each of the `choices`, of which `values_per_unit` is the largest, and
    the CHOICE is made for measurement `of` (value_choice.py). Where a unit's numbers are scaled to a
    `norm` (norms.py), cells count parts of a step of the grid, of which `scale` are one. A SUM and the
    count of its values may be measured as a `pair`, and have the sensitivity of both together (pairs.py).
    What rows of two kinds of unit add is `poured`.
    """

    kind: Measured
    expression: Expr | None
    sensitivity: Sensitivity
    grid: Fraction = Fraction(1)
    centre: int = 0
    low: int = 0
    high: int = 1
    total: tuple[int, int] | None = None
    weight: float = 1.0
    quantile_bins: QuantileBins | None = None
    fractions: tuple[Fraction, ...] = ()
    of: int | None = None
    values: tuple[LiteralValue, ...] = ()
    groups_max: int | None = None
    norm: NormBound | None = None
    values_per_unit: int | None = None
    choices: tuple[int, ...] = ()
    pair: Paired | None = None
    around: int | None = None
    poured: Poured | None = None

    @property
    def counted_before(self) -> bool:
        """Whether the engine takes turns for it before the statement that makes the cells."""
        return self.kind is Measured.DISTINCT or self.poured is not None

    @computed_once
    def size(self) -> int:
        """The largest part of one row, in steps of what is released."""
        if self.around is not None:
            return self.sensitivity.linf
        return max(abs(self.low), abs(self.high), 1)

    @computed_once
    def scale(self) -> int:
        """How many steps of its cells are one step of its grid."""
        if self.pair is not None:
            by_step = self.kind in (Measured.SUM, Measured.BELOW)
            return self.pair.scale * (1 if by_step else self.pair.width)
        return 1 if self.norm is None else self.norm.scale

    @computed_once
    def cell_step(self) -> Fraction:
        """What one step of its cells is in the units of its values."""
        return self.grid / self.scale

    @computed_once
    def value_grid(self) -> Fraction:
        """The step that values are rounded to before they are summed."""
        halved = self.pair is not None and self.kind is Measured.SUM
        return 2 * self.grid if halved else self.grid

    @computed_once
    def steps_of_value(self) -> int:
        """How many steps of its cells are one that values are rounded to."""
        return self.scale * int(self.value_grid / self.grid)

    @computed_once
    def always_zero(self) -> bool:
        """Whether it is a sum of which every part is 0."""
        return self.kind is Measured.SUM and (0, 0) in ((self.low, self.high), self.total)

    @computed_once
    def by_bins(self) -> bool:
        """Whether the engine counts its rows bin by bin: equal ranges, or public values."""
        return self.quantile_bins is not None or bool(self.values)

    @property
    def picked(self) -> bool:
        """Whether it is the largest of noisy scores, which has an epsilon of its own."""
        return self.kind in (Measured.PICKS, Measured.CHOICE)

    @property
    def bin_count(self) -> int:
        """How many bins there are."""
        return self.quantile_bins.count if self.quantile_bins is not None else len(self.values)
