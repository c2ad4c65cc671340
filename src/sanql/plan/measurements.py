"""What is measured, and how an aggregate rests on measurements; which are needed, measuring.py says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from sanql.parse.tree import Expr
from sanql.plan.quantiles import Leaves
from sanql.plan.sensitivity import Sensitivity


class Measured(StrEnum):
    """The kinds of integer that the engine computes for each group."""

    ROWS = "rows"
    VALUES = "rows with a value"
    UNITS = "units"
    SUM = "sum"
    DISTINCT = "distinct values"
    PICKS = "rows on either side of a value"
    LADDER = "rows between values around the picked ones"
    REST = "units in groups that do not appear"


@dataclass(frozen=True)
class Measurement:
    """One integer per group, its sensitivity, and how much its error matters.

    A SUM adds `round(x / grid) - centre`, enclosed in [low, high]. `size` is the magnitude of one
    row's part, by which errors of different measurements are compared. PICKS are not one integer but
    the quantiles' leaves (quantiles.py), and a LADDER counts rows around the picks of measurement `of`.
    The REST is made of the counts of units of measurement `of` (rest.py).
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
    leaves: Leaves | None = None
    fractions: tuple[Fraction, ...] = ()
    of: int | None = None

    @property
    def size(self) -> int:
        """The largest part of one row, in steps of the grid."""
        return max(abs(self.low), abs(self.high), 1)

    @property
    def always_zero(self) -> bool:
        """Whether it is a sum of which every part is 0."""
        return self.kind is Measured.SUM and (0, 0) in ((self.low, self.high), self.total)


@dataclass(frozen=True)
class CountOf:
    """A noisy count, as it is."""

    measurement: int


@dataclass(frozen=True)
class SumOf:
    """A noisy sum; a centred one is moved back by its noisy count."""

    measurement: int
    count: int | None
    whole: bool


@dataclass(frozen=True)
class AverageOf:
    """The centre plus noisy centred sum over noisy count, within the bounds."""

    measurement: int
    count: int
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class VarianceOf:
    """A variance, or its root, from centred sums of a value and of its square.

    `half` is half the width of the value's bounds, which no standard deviation exceeds.
    """

    first: int
    second: int
    count: int
    sample: bool
    rooted: bool
    half: Fraction


@dataclass(frozen=True)
class CovarianceOf:
    """A covariance from centred sums of two values and of their product."""

    first: int
    other: int
    product: int
    count: int
    sample: bool
    largest: Fraction


@dataclass(frozen=True)
class CorrelationOf:
    """A covariance over the root of both variances."""

    covariance: CovarianceOf
    variance: VarianceOf
    other: VarianceOf


@dataclass(frozen=True)
class QuantileOf:
    """One of the quantiles picked from a value's leaves; the ladder gives its interval."""

    picks: int
    ladder: int
    place: int
    fraction: Fraction
    whole: bool


Estimate = CountOf | SumOf | AverageOf | VarianceOf | CovarianceOf | CorrelationOf | QuantileOf


def measurements_of(estimate: Estimate) -> frozenset[int]:
    """Return the measurements an estimate rests on."""
    match estimate:
        case CountOf(index) | SumOf(index, None):
            return frozenset({index})
        case SumOf(index, count) | AverageOf(index, count):
            return frozenset({index, count}) if count is not None else frozenset({index})
        case VarianceOf(first, second, count):
            return frozenset({first, second, count})
        case CovarianceOf(first, other, product, count):
            return frozenset({first, other, product, count})
        case QuantileOf(_, ladder):
            return frozenset({ladder})
        case CorrelationOf(covariance, variance, other_variance):
            both = measurements_of(variance) | measurements_of(other_variance)
            return measurements_of(covariance) | both


@dataclass(frozen=True)
class Measuring:
    """All measurements of a question, and each aggregate as an estimate from them."""

    measurements: tuple[Measurement, ...]
    estimates: tuple[Estimate, ...]
    selection: int | None  # the measurement of units that decides which unknown keys appear
    rest: int | None = None  # the measurement that stands for `selection` in the row of the others
