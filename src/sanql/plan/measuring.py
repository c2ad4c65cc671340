"""Which measurements a question needs, and how each aggregate is computed from them.

Measurements are shared: COUNT is measured once however often it appears, and where rows with a value
are counted anyway, SUM and AVG of that value are both computed from one *centred* sum, of x - c with c
the middle of its bounds. A centred sum has half the width of the bounds as its sensitivity, and
SUM = centred + c · count is never noisier than a sum by itself: (low² + high²)/2 <= max(low², high²).
Variances, covariances and correlations are computed from centred sums too (moments.py), so that AVG and
STDDEV of a value share its centred sum and its count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal, assert_never

from sanql.errors import Refused
from sanql.parse.remedies import stating_bounds
from sanql.parse.tree import Aggregate, Aggregation, ColumnRef, Expr, Type
from sanql.plan import moments, quantiles, sensitivity
from sanql.plan.measurements import (
    AverageOf,
    CorrelationOf,
    CountOf,
    CovarianceOf,
    Estimate,
    Measured,
    Measurement,
    Measuring,
    QuantileOf,
    SumOf,
    VarianceOf,
)
from sanql.plan.reading import column_of
from sanql.plan.sensitivity import Setting
from sanql.policy import ColumnUnit, Table

GRID_POINTS = 2**24  # steps across the bounds of a value that has no precision of its own
GRID_POINTS_MAX = 2**52
Counted = Literal[Measured.ROWS, Measured.VALUES, Measured.UNITS, Measured.DISTINCT]
SPREADS = {  # whether it is the sample's, and whether its root is asked for
    Aggregation.VARIANCE: (False, False),
    Aggregation.VARIANCE_SAMPLE: (True, False),
    Aggregation.DEVIATION: (False, True),
    Aggregation.DEVIATION_SAMPLE: (True, True),
}


def measure(
    aggregates: tuple[Aggregate, ...],
    table: Table,
    tables: Mapping[str, Table],
    setting: Setting,
    select_keys: bool,
    groups: int | None = None,
) -> Measuring:
    """Return the measurements a question needs, each once; `groups` is how many there are, if known."""
    return _Collector(aggregates, table, tables, setting, groups).collect(select_keys)


class _Collector:
    def __init__(
        self,
        aggregates: tuple[Aggregate, ...],
        table: Table,
        tables: Mapping[str, Table],
        setting: Setting,
        groups: int | None,
    ) -> None:
        self._aggregates = aggregates
        self._groups = groups
        self._table = table
        self._tables = tables
        self._setting = setting
        self._found: list[Measurement] = []
        self._places: dict[Measurement, int] = {}  # by what they are before they have a weight
        # the values that are counted anyway, so that their sums can be centred
        self._counted = {
            aggregate.argument if _can_be_null(aggregate.argument) else None
            for aggregate in aggregates
            if aggregate.kind in (Aggregation.COUNT, Aggregation.AVERAGE, *SPREADS)
        }

        asked: dict[Expr | None, set[Fraction]] = {}
        for aggregate in aggregates:
            if aggregate.fraction is not None:
                asked.setdefault(aggregate.argument, set()).add(aggregate.fraction)
        self._fractions = {value: tuple(sorted(found)) for value, found in asked.items()}

    def collect(self, select_keys: bool) -> Measuring:
        estimates = tuple(self._named(aggregate) for aggregate in self._aggregates)
        selection = None
        if select_keys:
            selection = self._count(Measured.UNITS, None, 1.0)
        return Measuring(tuple(self._found), estimates, selection)

    def _named(self, aggregate: Aggregate) -> Estimate:
        try:
            return self._estimate(aggregate)
        except Refused as refused:
            raise refused.about(aggregate.text) from None

    def _estimate(self, aggregate: Aggregate) -> Estimate:
        match aggregate.kind:
            case Aggregation.COUNT:
                return CountOf(self._rows(aggregate.argument, 1.0))
            case Aggregation.COUNT_UNITS:
                return CountOf(self._count(Measured.UNITS, aggregate.argument, 1.0))
            case Aggregation.COUNT_DISTINCT:
                return CountOf(self._count(Measured.DISTINCT, aggregate.argument, 1.0))
            case Aggregation.SUM:
                return self._sum(aggregate)
            case Aggregation.AVERAGE:
                return self._average(aggregate)
            case (
                Aggregation.VARIANCE
                | Aggregation.VARIANCE_SAMPLE
                | Aggregation.DEVIATION
                | Aggregation.DEVIATION_SAMPLE
            ):
                sample, rooted = SPREADS[aggregate.kind]
                return self._variance(_argument(aggregate), sample, rooted)
            case Aggregation.CORRELATION:
                return self._correlation(aggregate)
            case Aggregation.QUANTILE:
                return self._quantile(aggregate)
            case Aggregation.COVARIANCE | Aggregation.COVARIANCE_SAMPLE:
                sample = aggregate.kind is Aggregation.COVARIANCE_SAMPLE
                return self._covariance(*_both(aggregate), sample)
            case _:
                assert_never(aggregate.kind)

    def _sum(self, aggregate: Aggregate) -> SumOf:
        argument = _argument(aggregate)
        whole = argument.facts.type is Type.INTEGER
        total = _narrower(self._total_bounds(argument), aggregate.total)
        if aggregate.total is not None and self._table.public:
            raise Refused(
                "contribution_unsupported",
                f"{aggregate.text} limits what one unit adds, and the table is public",
                "leave the bounds out: rows of nobody count in full",
            )
        if total is not None and not isinstance(self._table.unit, ColumnUnit):
            # a unit that has one row adds its value, so that is what is held
            argument, total = moments.held(argument, *total), None
        counted = (argument if _can_be_null(argument) else None) in self._counted
        if counted and total is None:
            part = self._gridded(argument, centred=True)
            half, centre = part.size, abs(part.centre)
            largest = half + centre
            index = self._add(part, (half / largest) ** 2)
            return SumOf(index, self._rows(argument, (centre / largest) ** 2), whole)
        part = self._gridded(argument, centred=False)
        if total is not None:
            low, high = math.floor(total[0] / part.grid), math.ceil(total[1] / part.grid)
            if aggregate.total is not None:  # typed without limit: no further than rows can reach
                rows = self._setting.limits.rows_per_group
                low, high = max(low, rows * min(part.low, 0)), min(high, rows * max(part.high, 0))
            bounds = sensitivity.of_sums(self._setting, part.low, part.high, (low, high))
            part = replace(part, total=(low, high), sensitivity=bounds)
        return SumOf(self._add(part, 1.0), None, whole)

    def _average(self, aggregate: Aggregate) -> AverageOf:
        argument = _argument(aggregate)
        low, high = bounds_of(argument)
        index = self._add(self._gridded(argument, centred=True), 1.0)
        # the count's noise enters times (average - centre), a third of the width squared on average
        return AverageOf(index, self._rows(argument, 1 / 3), low, high)

    def _variance(
        self, argument: Expr, sample: bool, rooted: bool, counted: Expr | None = None
    ) -> VarianceOf:
        """Measure a value, its square and their count.

        In units of h², the square's noise enters times 1/2; the value's times 2(mean - c)/h, and the
        count's times up to 1/2, both with a mean a third of the way from the middle on average.
        """
        part = self._gridded(argument, centred=True)
        square = self._gridded(moments.squared(_centred(argument, part)), centred=True)
        low, high = bounds_of(argument)
        return VarianceOf(
            self._add(part, 4 / 9),
            self._add(square, 1 / 4),
            self._rows(counted or argument, 1 / 9),
            sample,
            rooted,
            (high - low) / 2,
        )

    def _covariance(self, argument: Expr, second: Expr, sample: bool) -> CovarianceOf:
        """Measure two values, their product and the count of the pairs."""
        parts = [self._gridded(value, centred=True) for value in (argument, second)]
        product = moments.multiplied(_centred(argument, parts[0]), _centred(second, parts[1]))
        widths = [high - low for low, high in map(bounds_of, (argument, second))]
        return CovarianceOf(
            self._add(parts[0], 1 / 9),
            self._add(parts[1], 1 / 9),
            self._add(self._gridded(product, centred=True), 1.0),
            self._rows(argument, 1 / 9),
            sample,
            widths[0] * widths[1] / 4,
        )

    def _correlation(self, aggregate: Aggregate) -> CorrelationOf:
        argument, second = _both(aggregate)
        pair = self._covariance(argument, second, sample=False)
        own = self._variance(argument, sample=False, rooted=False)
        # both values are there in the same rows, so one count serves both
        other = self._variance(second, sample=False, rooted=False, counted=argument)
        return CorrelationOf(pair, own, other)

    def _quantile(self, aggregate: Aggregate) -> QuantileOf:
        """Pick all quantiles of a value together, and count rows around them.

        Of what both may spend, six parts in seven go to the picks, however many: they are what is
        read. (Shares are cube roots of weight times squared sensitivity; see price.py.)
        """
        argument = _argument(aggregate)
        fractions = self._fractions[argument]
        setting = replace(self._setting, merged=False)  # of the rest nothing is picked
        if argument.facts.nullable:
            setting = replace(setting, always_present=False)
        steps = self._gridded(argument, centred=False)
        leaves = quantiles.cut(steps.grid, steps.low, steps.high, len(fractions) > 1, self._groups)
        part = Measurement(
            Measured.PICKS,
            argument,
            quantiles.of_picks(setting, fractions),
            Fraction(1, quantiles.ROW),
            high=quantiles.ROW,
            leaves=leaves,
            fractions=fractions,
        )
        picks = self._add(part, 4.0)
        around = quantiles.of_ladder(setting)
        counts = Measurement(Measured.LADDER, None, around, of=picks)
        moved = part.sensitivity.l1 / quantiles.ROW / around.l1
        whole = aggregate.facts.type is Type.INTEGER
        assert aggregate.fraction is not None  # noqa: S101  (the binder gives a quantile one)
        place = fractions.index(aggregate.fraction)
        return QuantileOf(
            picks, self._add(counts, 4 * moved**2 / 6**3), place, aggregate.fraction, whole
        )

    def _rows(self, argument: Expr | None, weight: float) -> int:
        if _can_be_null(argument):
            return self._count(Measured.VALUES, argument, weight)
        # where one row of a unit counts, rows and units are the same number, measured once
        if self._setting.limits.rows == 1:
            return self._count(Measured.UNITS, None, weight)
        return self._count(Measured.ROWS, None, weight)

    def _count(self, kind: Counted, expression: Expr | None, weight: float) -> int:
        setting = self._setting
        if expression is not None:
            setting = replace(setting, always_present=False)
        match kind:
            case Measured.UNITS:
                bounds = sensitivity.of_units(setting)
            case Measured.DISTINCT:
                bounds = sensitivity.of_distinct(setting)
            case Measured.ROWS | Measured.VALUES:
                bounds = sensitivity.of_counts(setting)
            case _:
                assert_never(kind)
        return self._add(Measurement(kind, expression, bounds), weight)

    def _gridded(self, argument: Expr, centred: bool) -> Measurement:
        low, high = bounds_of(argument)
        grid = grid_for(argument)
        bottom, top = (
            math.floor(low / grid + Fraction(1, 2)),
            math.floor(high / grid + Fraction(1, 2)),
        )
        centre = (bottom + top) // 2 if centred else 0
        bottom, top = bottom - centre, top - centre
        setting = self._setting
        if argument.facts.nullable:
            setting = replace(setting, always_present=False)
        bounds = sensitivity.of_sums(setting, bottom, top, None)
        return Measurement(Measured.SUM, argument, bounds, grid, centre, bottom, top)

    def _total_bounds(self, argument: Expr) -> tuple[Fraction, Fraction] | None:
        # a row unit adds one value to one group: the column's bounds are its total
        if isinstance(argument, ColumnRef) and isinstance(self._table.unit, ColumnUnit):
            column = column_of(argument, self._tables)
            return column.total_bounds if column is not None else None
        return None

    def _add(self, measurement: Measurement, weight: float) -> int:
        index = self._places.setdefault(measurement, len(self._found))
        if index == len(self._found):
            self._found.append(replace(measurement, weight=weight))
        elif measurement.leaves is None and measurement.of is None:
            known = self._found[index]
            self._found[index] = replace(known, weight=known.weight + weight)
        # what is picked together is one measurement, of however many it is asked for
        return index


def _narrower(
    one: tuple[Fraction, Fraction] | None, other: tuple[Fraction, Fraction] | None
) -> tuple[Fraction, Fraction] | None:
    """Return what both bounds enclose; both have 0 within."""
    if one is None or other is None:
        return one or other
    return max(one[0], other[0]), min(one[1], other[1])


def _can_be_null(argument: Expr | None) -> bool:
    return argument is not None and argument.facts.nullable


def _argument(aggregate: Aggregate) -> Expr:
    assert aggregate.argument is not None  # noqa: S101  (the binder gives it one)
    return aggregate.argument


def _both(aggregate: Aggregate) -> tuple[Expr, Expr]:
    """Return the two values of a statistic of pairs, each only where both are there."""
    assert aggregate.argument is not None and aggregate.second is not None  # noqa: S101
    one, other = aggregate.argument, aggregate.second
    return moments.where_both(one, other), moments.where_both(other, one)


def _centred(argument: Expr, part: Measurement) -> Expr:
    return moments.less(argument, part.centre * part.grid)


def bounds_of(argument: Expr) -> tuple[Fraction, Fraction]:
    """Return the bounds that the binder made sure of; products of them may be beyond any number."""
    low, high = argument.facts.low, argument.facts.high
    if not isinstance(low, Fraction) or not isinstance(high, Fraction):
        raise Refused(
            "bounds_too_wide",
            "the values of a statistic are so large that their products are beyond any number",
            "limit them in the question, as in GREATEST(0, LEAST(1000000, x)), or write a smaller "
            "constant",
        )
    return low, high


def grid_for(argument: Expr) -> Fraction:
    """Return the step on which the values of an expression are summed, exactly, as integers."""
    facts = argument.facts
    low, high = bounds_of(argument)
    largest = max(abs(low), abs(high))
    if facts.type is Type.INTEGER:
        if largest > GRID_POINTS_MAX:
            raise Refused(
                "bounds_too_wide",
                f"the whole numbers summed may reach {float(largest):.3g}; sums are exact only "
                f"up to {float(GRID_POINTS_MAX):.3g} a row",
                "state narrower bounds in the question: " + stating_bounds("SUM", high=1_000_000),
            )
        return Fraction(1)
    if facts.grid is not None and largest / facts.grid <= GRID_POINTS_MAX:
        return facts.grid
    width = max(high - low, largest / GRID_POINTS, Fraction(1, 2**40))
    return Fraction(2) ** math.floor(math.log2(width / GRID_POINTS))
