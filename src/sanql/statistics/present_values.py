"""SUM, AVG and spreads of DISTINCT values: of those values that noisy counts say are there.

One noisy count of rows for each declared value, as for ENTROPY; a value is taken to be there where its
count is above what noise alone reaches, in any value of a group, in one answer of twenty. Nothing else
is read of the data, so the set of values, and whatever is computed from it, is post-processing. A plain
sum over distinct values would not be this cheap: one unit may be the only one with hundreds of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import Band, Reals
from sanql.question import Aggregate, Facts, Type
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written
from sanql.statistics.values import number_bounds

MOSTLY = Fraction(19, 20)
OF_DISTINCT = "of distinct values"


@dataclass(frozen=True)
class OfDistinct(Statistic):
    """A sum, a mean or a spread of the different values that there are."""

    kind: str

    spellings = ()
    needs_bounds = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of its aggregates."""
        return f"{self.kind} {OF_DISTINCT}"

    @property
    def written(self) -> str:  # type: ignore[override]
        """How the manual says it is written: one row for all of them."""
        listed = (
            "`SUM AVG VAR_POP VAR_SAMP STDDEV_POP STDDEV (DISTINCT x)`, of x with declared values"
        )
        return listed if self.kind == "sum" else ""

    @property
    def found(self) -> str:  # type: ignore[override]
        """How the manual says it is found."""
        return (
            "of those values whose noisy count of rows is above what noise alone reaches; a value of few "
            "rows may be missed"
        )

    def ask(self, written: Written) -> Aggregate:
        low, high = number_bounds(written, written.argument)
        facts = Facts(Type.REAL)
        if self.kind == "avg":
            facts = Facts(Type.REAL, low, high)
        elif self.kind != "sum":
            facts = Facts(Type.REAL, Fraction(0), max((high - low) ** 2, high - low))
        return Aggregate(self.name, (written.argument,), facts, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        return OfPresentValues(collector.histogram(aggregate, 1.0), self.kind)


OF_DISTINCTS = tuple(
    OfDistinct(kind)
    for kind in ("sum", "avg", "variance", "sample variance", "standard deviation",
                 "sample standard deviation")
)  # fmt: skip


@dataclass(frozen=True)
class OfPresentValues(Estimate):
    """A number computed from the values whose noisy counts are large enough."""

    counts: int
    kind: str

    needs_rows: ClassVar[bool] = True
    depends_on_spread: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset({self.counts})

    def value(self, noisy: NoisyMeasurements) -> Values:
        least = max(1, noisy.noise.reach_of_all(self.counts, MOSTLY))
        return _of_sets(self.kind, noisy.vectors(self.counts) >= least, self._values(noisy))

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        """Return the interval: of all sets with the values that surely are there and some that may be."""
        counts, values = noisy.vectors_around(self.counts, confidence), self._values(noisy)
        sure, possible = counts.low >= 1, counts.high >= 1
        band = _ends(self.kind, sure, possible, values)
        value = self.value(noisy)
        return Band(np.fmin(band.low, value), np.fmax(band.high, value))

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        fewest: Reals = noisy.vectors_around(self.counts, confidence).low
        enough = 2 if self.kind.startswith("sample") else 1
        missing: Mask = (fewest >= 1).sum(axis=1) < enough
        return missing

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return how far it can be off: nothing says how many of the values have few rows."""
        listed = noise.measurements[self.counts].values
        values = [Fraction(value) for value in listed if isinstance(value, int | Fraction)]
        width = max(values) - min(values)
        if self.kind == "sum":
            return sum((abs(value) for value in values), Fraction(0))
        return width * width if "variance" in self.kind else width

    def in_words(self) -> str:
        return (
            f"the values whose counts (measurement {self.counts + 1}) are above what noise reaches"
        )

    def _values(self, noisy: NoisyMeasurements) -> Reals:
        listed = noisy.measurement(self.counts).values
        return np.array([float(v) for v in listed if isinstance(v, int | Fraction)])


def _of_sets(kind: str, present: Mask, values: Reals) -> Reals:
    """Return the number for each row's set of values; NaN where there is none.

    >>> _of_sets("sum", np.array([[True, False, True], [False] * 3]), np.array([1.0, 2.0, 4.0])).tolist()
    [5.0, nan]
    """
    number = present.sum(axis=1)
    total = (present * values).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "sum":
            return np.where(number > 0, total, np.nan)
        mean = np.where(number > 0, total / number, np.nan)
        if kind == "avg":
            return mean
        squares = (present * (values - np.nan_to_num(mean)[:, None]) ** 2).sum(axis=1)
        divisor = number - 1 if kind.startswith("sample") else number
        spread = np.where(divisor > 0, squares / divisor, np.nan)
    return np.sqrt(spread) if "deviation" in kind else spread


def _ends(kind: str, sure: Mask, possible: Mask, values: Reals) -> Band:
    """Return the least and the greatest number of any set between those two."""
    open_ = possible & ~sure
    fixed = (sure * values).sum(axis=1)
    if kind == "sum":
        falling, rising = open_ & (values < 0), open_ & (values > 0)
        return Band(fixed + (falling * values).sum(axis=1), fixed + (rising * values).sum(axis=1))
    if kind == "avg":
        return Band(_means(sure, open_, values, 1), _means(sure, open_, values, -1))
    least = np.where(possible, values, np.inf).min(axis=1)
    most = np.where(possible, values, -np.inf).max(axis=1)
    width = np.where(most > least, most - least, 0.0)
    top = width if "deviation" in kind else width**2
    return Band(np.zeros(len(top)), top)


def _means(sure: Mask, open_: Mask, values: Reals, sign: int) -> Reals:
    """Return the least mean of any set (greatest for -1): the open values are added from the best on."""
    order = np.argsort(sign * values)
    ordered, more = values[order], open_[:, order]
    totals = (sure * values).sum(axis=1)[:, None] + np.cumsum(more * ordered, axis=1)
    numbers = sure.sum(axis=1)[:, None] + np.cumsum(more, axis=1)
    fixed = np.maximum(sure.sum(axis=1), 1)
    start = np.where(sure.any(axis=1), (sure * values).sum(axis=1) / fixed, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(numbers > 0, totals / numbers, np.nan)
    both = np.concatenate([start[:, None], means], axis=1)
    found = np.where(np.isnan(both), sign * np.inf, both)
    best = found.min(axis=1) if sign > 0 else found.max(axis=1)
    return np.where(np.isinf(best), np.nan, best)
