"""SUM: a noisy sum, to which one unit may add no more than is declared or asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sanql.errors import Refused
from sanql.functions import INTEGER_LIMIT, call
from sanql.measurements import (
    Band,
    Measurement,
    Reals,
    added,
    off_grid,
    scaled,
    sensitivity_of_sums,
    shared_confidence,
    valued,
)
from sanql.policy import ColumnUnit
from sanql.question import NULL, Aggregate, Expr, Facts, Type, integer_literal
from sanql.statistics.collector import Collector
from sanql.statistics.count import COUNTED, Count, count_of
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written
from sanql.statistics.values import as_number, held, number_bounds, when

SATURATION = float(2**62)
Total = tuple[Fraction, Fraction]


class Sum(Statistic):
    """SUM(x): a noisy sum, centred where rows with a value are counted anyway; of a condition a count."""

    name = "sum"
    spellings = ("SUM",)
    written = "`SUM(x)`"
    found = "a noisy sum; of x less the middle of its bounds where its rows are counted anyway"

    def ask(self, written: Written) -> Aggregate:
        if written.argument.facts.type is Type.BOOLEAN:  # how often it is true
            return count_of(when(written.argument), written.text)
        argument = as_number(written.argument)
        number_bounds(written, argument)
        facts = COUNTED
        if argument.facts.type is not Type.INTEGER:
            top = Fraction(INTEGER_LIMIT)
            facts = Facts(Type.REAL, -top, top, nullable=False)
        return Aggregate(self.name, (argument,), facts, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        argument = aggregate.value
        whole = argument.facts.type is Type.INTEGER
        total = _narrower(collector.total_bounds(argument), aggregate.total)
        if aggregate.total is not None and collector.table.public:
            raise Refused(
                "contribution_unsupported",
                f"{aggregate.text} limits what one unit adds, and the table is public",
                "leave the bounds out: rows of nobody count in full",
            )
        if total is not None and not isinstance(collector.table.unit, ColumnUnit):
            # a unit that has one row adds its value, so that is what is held
            argument, total = held(argument, *total), None
        if total is None and collector.is_counted(argument):
            part = collector.gridded(argument, centred=True)
            half, centre = part.size, abs(part.centre)
            largest = half + centre
            index = collector.add(part, (half / largest) ** 2)
            return SumOf(index, collector.rows(argument, (centre / largest) ** 2), whole)
        part = collector.gridded(argument, centred=False)
        if total is not None:
            part = _within_total(part, total, aggregate.total is not None, collector)
        return SumOf(collector.add(part, 1.0), None, whole)


def held_to(aggregate: Aggregate, total: Total | None) -> Aggregate:
    """Return a sum, or a count as a sum of ones, to which a unit adds no more than the bounds."""
    if aggregate.statistic == Count.name:  # each row, or each row with a value, adds one
        one: Expr = integer_literal(1)
        if aggregate.argument is not None:
            one = call("case", call("not", call("is_null", aggregate.argument)), one, NULL)
        aggregate = replace(aggregate, statistic=Sum.name, arguments=(one,))
    return replace(aggregate, total=total)


def _within_total(
    part: Measurement, total: Total, typed: bool, collector: Collector
) -> Measurement:
    """Return a sum to which one unit adds no more than its total in one group."""
    low, high = math.floor(total[0] / part.grid), math.ceil(total[1] / part.grid)
    if typed:  # typed without limit: no further than rows can reach
        rows = collector.setting.limits.rows_per_group
        low, high = max(low, rows * min(part.low, 0)), min(high, rows * max(part.high, 0))
    bounds = sensitivity_of_sums(collector.setting, part.low, part.high, (low, high))
    return replace(part, total=(low, high), sensitivity=bounds)


def _narrower(one: Total | None, other: Total | None) -> Total | None:
    """Return what both bounds enclose; both have 0 within."""
    if one is None or other is None:
        return one or other
    return max(one[0], other[0]), min(one[1], other[1])


@dataclass(frozen=True)
class SumOf(Estimate):
    """A noisy sum; a centred one is moved back by its noisy count."""

    measurement: int
    count: int | None
    is_whole: bool

    can_be_rounded: ClassVar[bool] = True
    with_any_centre: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset(
            {self.measurement} if self.count is None else {self.measurement, self.count}
        )

    def value(self, noisy: NoisyMeasurements) -> Values:
        part, steps = noisy.measurement(self.measurement), noisy.steps(self.measurement)
        if self.count is not None and part.pair is not None:
            moved = np.rint(_centred_back(noisy, self.measurement, self.count))
            whole = np.clip(moved, -SATURATION, SATURATION)
            return whole.astype(np.int64) if self.is_whole else off_grid(whole, part.value_grid)
        if self.count is not None:
            steps = _moved(steps, noisy.steps(self.count), part.centre)
        return steps if self.is_whole else off_grid(steps.astype(np.float64), part.grid)

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        if self.count is None:
            return noisy.around(self.measurement, confidence)
        part = noisy.measurement(self.measurement)
        moved = scaled(noisy.steps_around(self.count, confidence), float(part.centre))
        return valued(added(noisy.steps_around(self.measurement, confidence), moved), part.grid)

    def band_alone(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        count = self.count
        reach = None
        if count is not None:
            centre = noisy.centre(self.measurement)
            reach = noisy.noise.reach_of_both(self.measurement, count, -centre, confidence)
        if count is None or reach is None:
            return self.band(noisy, shared_confidence(confidence, len(self.measurements)))
        step = noisy.measurement(self.measurement).value_grid
        moved, far = _centred_back(noisy, self.measurement, count), reach / float(step)
        return valued(Band(np.floor(moved - far), np.ceil(moved + far)), step)

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return np.zeros(noisy.count, dtype=np.bool_)  # a sum of nothing is 0

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        part = noise.measurements[self.measurement]
        if self.count is None:
            return noise.reach(self.measurement, confidence) * part.grid
        centre = -float(part.centre * part.grid)
        reach = noise.reach_of_both(self.measurement, self.count, centre, confidence)
        if reach is not None:
            return Fraction(reach)
        each = shared_confidence(confidence, 2)
        moved = abs(part.centre) * noise.reach(self.count, each)
        return (noise.reach(self.measurement, each) + moved) * part.grid

    def in_words(self) -> str:
        if self.count is None:
            return f"measurement {self.measurement + 1}"
        return (
            f"measurement {self.measurement + 1} (centred) + centre × measurement {self.count + 1}"
        )

    @property
    def sum_and_count(self) -> tuple[int, int] | None:
        return None if self.count is None else (self.measurement, self.count)

    @property
    def plain(self) -> int | None:
        return self.measurement if self.count is None else None

    @property
    def whole(self) -> bool:
        return self.is_whole

    def never_negative(self, measurements: tuple[Measurement, ...]) -> bool:
        part = measurements[self.measurement]
        return part.low + part.centre >= 0 or (part.total is not None and part.total[0] >= 0)


def _centred_back(noisy: NoisyMeasurements, place: int, count: int) -> Reals:
    """Return centred sums moved back by centre · count in steps of their values, parts of them too."""
    moved = noisy.reals(place) + noisy.centre(place) * noisy.reals(count)
    return moved / float(noisy.measurement(place).value_grid)


def _moved(steps: NDArray[np.int64], counts: NDArray[np.int64], centre: int) -> NDArray[np.int64]:
    """Return centred sums moved back by centre · count, saturating instead of overflowing."""
    moved = steps.astype(np.float64) + counts.astype(np.float64) * centre
    beyond = np.abs(moved) >= SATURATION
    exact = np.where(beyond, 0, counts) * np.int64(centre) + np.where(beyond, 0, steps)
    return np.where(beyond, np.where(moved > 0, 2**62, -(2**62)), exact).astype(np.int64)
