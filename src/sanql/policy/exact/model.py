"""What an owner declares about exact releases: a column, its cells, an adversary, an acceptance.

A declaration is read on a grid: the column's values are whole numbers of `grid` steps between `low`
and `high`, and a record without a value counts as `missing` steps. A uniform part of width w then
is a uniform part on lattice points. An interval of W = w/grid steps, wherever it lies, holds at
least N = ⌊W⌋ − 1 whole rounding cells, so the rounded value is uniform on N consecutive points with
probability at least alpha·N/W; where the values were on the grid already, the W + 1 points of the
interval hold N consecutive ones with probability alpha·N/(W + 1). The smaller of the two is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from sanql.mechanisms.noiseless import (
    BinomialPrior,
    CountAdversary,
    HistogramAdversary,
    Lattice,
    PoissonPrior,
    SumAdversary,
)
from sanql.policy.exact.cells import Acceptance, Cells
from sanql.policy.exact.footprint import Footprint
from sanql.policy.exact.verdicts import ExactVerdict


@dataclass(frozen=True)
class UniformComponent:
    """Every unknown value is, with probability alpha, uniform on some interval of this width."""

    alpha: Fraction
    width: Fraction


@dataclass(frozen=True)
class LatticePart:
    """Every unknown value is each of `points` consecutive grid points with at least this mass."""

    points: int
    mass: Fraction


@dataclass(frozen=True)
class BinaryColumn:
    """No unknown value is known with more than 1 − beta."""

    beta: Fraction


@dataclass(frozen=True)
class PoissonSample:
    """Every cell's count is Poisson."""


@dataclass(frozen=True)
class BinomialSample:
    """Everybody of a population is in the table independently, at this rate."""

    rate: Fraction


ValueClass = UniformComponent | LatticePart | BinaryColumn
SampleClass = PoissonSample | BinomialSample


@dataclass(frozen=True)
class ExactValues:
    """Exact sums of a column in every cell, with public cell sizes.

    `records_min` is None where the owner leaves it to San to find a number that passes.
    """

    name: str
    table: str
    cells: Cells
    accept: Acceptance
    known_records: int
    column: str
    adversary: ValueClass
    known_columns: tuple[str, ...]
    grid: Fraction
    low: int
    high: int
    missing: int
    records_min: int | None

    @property
    def footprint(self) -> Footprint:
        """What the release touches."""
        return Footprint(self.name, self.table, self.column, self.known_columns)

    def against(self, others: int) -> SumAdversary | CountAdversary:
        """Return the class to certify against in a cell with so many records besides one."""
        match self.adversary:
            case BinaryColumn(beta):
                return CountAdversary(others, beta, self.known_records)
            case UniformComponent(alpha, width):
                belief = (
                    f"is uniform with probability at least {float(alpha):g} on some interval "
                    f"{_shown(width)} wide, within bounds {self._bounds}"
                )
                steps = width / self.grid
                points = math.floor(steps) - 1
                share = alpha * points / (steps + 1)
            case LatticePart(points, mass):
                belief = (
                    f"takes each of some {points:,} values, {_shown(self.grid)} apart, with "
                    f"probability at least {float(mass):g}, within bounds {self._bounds}"
                )
                share = points * mass
            case _:
                assert_never(self.adversary)
        reach = Fraction(-(-(self.high - self.low) // 2))
        return SumAdversary(others, share, reach, Lattice(points), self.known_records, belief)

    @property
    def middle(self) -> int:
        """The value, in grid steps, that a sum's simulator puts in the place of the protected one."""
        return self.low + (self.high - self.low) // 2

    @property
    def _bounds(self) -> str:
        low, high = self.low * self.grid, self.high * self.grid
        return f"{_shown(low)} to {_shown(high)}"


@dataclass(frozen=True)
class ExactHistogram:
    """Exact counts of every cell, those below a threshold shown as 0, with secret cell sizes.

    `threshold` is None where the owner leaves it to be the least that passes.
    """

    name: str
    table: str
    cells: Cells
    accept: Acceptance
    known_records: int
    adversary: SampleClass
    threshold: int | None

    @property
    def prior(self) -> PoissonPrior | BinomialPrior:
        """How the table was sampled."""
        match self.adversary:
            case PoissonSample():
                return PoissonPrior()
            case BinomialSample(rate):
                return BinomialPrior(rate)
            case _:
                assert_never(self.adversary)

    @property
    def footprint(self) -> Footprint:
        """What the release touches."""
        return Footprint(self.name, self.table, None)

    def against(self, threshold: int) -> HistogramAdversary:
        """Return the class to certify against at a threshold."""
        return HistogramAdversary(threshold, self.prior, self.known_records)


Exact = ExactValues | ExactHistogram | ExactVerdict


def _shown(value: Fraction) -> str:
    """Return a number of the column's own units."""
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,g}"
