"""Which measurements a question needs, each once, however many statistics are computed from it.

COUNT is measured once however often it appears, and where rows with a value are counted anyway, SUM and
AVG of that value are both computed from one *centred* sum, of x - c with c the middle of its bounds. A
centred sum has half the width of the bounds as its sensitivity, and SUM = centred + c · count is never
noisier than a sum by itself: (low² + high²)/2 <= max(low², high²). Variances, covariances and
correlations are computed from centred sums too, so that AVG and STDDEV of a value share its centred sum
and its count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar, assert_never, cast

from sanql.errors import Refused
from sanql.measurements import (
    BINS_IN_ALL,
    ONE_ROW,
    ROW,
    UNKNOWN_GROUPS,
    ContributionLimits,
    Measured,
    Measurement,
    SensitivitySetting,
    UnitNorms,
    bounds_of,
    grid_for,
    sensitivity_of_choice,
    sensitivity_of_counts,
    sensitivity_of_distinct,
    sensitivity_of_histogram,
    sensitivity_of_sums,
    sensitivity_of_units,
)
from sanql.policy import ColumnUnit, RowUnit, Table
from sanql.question import NUMERIC, Aggregate, ColumnRef, Expr, LiteralValue, Type
from sanql.statistics.statistic import Estimate

T = TypeVar("T")
Counted = Literal[Measured.ROWS, Measured.VALUES, Measured.UNITS]
Listed = Callable[[Expr], tuple[LiteralValue, ...] | None]
"""Finds the values of an expression that the question and the policy tell, if they do."""


def unlisted(expression: Expr) -> None:
    """Find no values."""


@dataclass(frozen=True)
class Measuring:
    """All measurements of a question, and each aggregate as an estimate from them."""

    measurements: tuple[Measurement, ...]
    estimates: tuple[Estimate, ...]
    selection: int | None  # the measurement of units that decides which unknown keys appear
    counted_apart: tuple[
        Expr, ...
    ] = ()  # by whose unknown values rows are counted in a level apart
    other_groups: int | None = None  # the measurement that stands for `selection` in their row
    limits: ContributionLimits = ONE_ROW  # what may count of one unit
    setting: SensitivitySetting | None = None  # by which sums may be measured with their counts
    unit_norms: UnitNorms | None = None  # where units may be bounded by norm: by which
    hidden_weight: float = 1.0  # how much it matters what the selection of keys hides
    fewest_units: int = (
        1  # that a key needs which is selected, but for the chance of one unit's key
    )

    def threshold_of(self, of_one_unit: int) -> int:
        """Return what a noisy count that selects must reach, given what hides the key of a single unit.

        A key of one unit appears with a chance of at most delta, and one of fewer than k units reaches
        a threshold that is k - 1 units higher no more often, whatever the noise. Raising what a noisy
        count must reach takes nothing from anybody's privacy: it is done to the noisy count.
        """
        assert self.selection is not None  # noqa: S101  (what selects has a threshold)
        return of_one_unit + (self.fewest_units - 1) * self.measurements[self.selection].size


class Collector:
    """Collects the measurements of one level; statistics ask it for those that they rest on.

    `counted` are the values whose rows are counted anyway (None: all rows), so that sums of them can be
    centred. `groups` is how many groups there are, if that is known; `listed` finds public values.
    """

    def __init__(
        self,
        aggregates: tuple[Aggregate, ...],
        counted: frozenset[Expr | None],
        table: Table,
        tables: Mapping[str, Table],
        setting: SensitivitySetting,
        groups: int | None,
        listed: Listed,
    ) -> None:
        self.aggregates = aggregates
        self.table = table
        self.setting = setting
        self.groups = groups
        self._tables = tables
        self._counted = counted
        self._listed = listed
        self._found: list[Measurement] = []
        self._places: dict[Measurement, int] = {}  # by what they are before they have a weight
        self._shared: dict[object, Any] = {}
        self._counted_apart: dict[Expr, int] = {}
        self.importance = 1.0
        """How much more what is asked for next matters than a statistic of a question by itself."""

    @property
    def found(self) -> tuple[Measurement, ...]:
        """The measurements so far, in the order in which they were asked for."""
        return tuple(self._found)

    @property
    def counted_apart(self) -> tuple[Expr, ...]:
        """The values whose rows are counted in a level apart, in the order of their places."""
        return tuple(self._counted_apart)

    def shared(self, key: object, make: Callable[[], T]) -> T:
        """Return what several statistics rest on together, made when the first of them asks for it."""
        if key not in self._shared:
            self._shared[key] = make()
        return cast(T, self._shared[key])

    def is_counted(self, argument: Expr) -> bool:
        """Return whether the rows that have this value are counted anyway."""
        return (argument if can_be_null(argument) else None) in self._counted

    def rows(self, argument: Expr | None, weight: float) -> int:
        """Return the place of a count of rows, of those with a value where it may be NULL."""
        if can_be_null(argument):
            return self.count(Measured.VALUES, argument, weight)
        # where one row of a unit counts, rows and units are the same number, measured once
        if self.setting.limits.rows == 1:
            return self.count(Measured.UNITS, None, weight)
        return self.count(Measured.ROWS, None, weight)

    def rows_are_public(self, argument: Expr) -> bool:
        """Return whether each unit is a row, and none can change how many rows have this value."""
        setting = self.setting
        public = isinstance(self.table.unit, RowUnit) and sensitivity_of_counts(setting).zero
        return public and not can_be_null(argument) and setting.one_group and not setting.merged

    def count(self, kind: Counted, expression: Expr | None, weight: float) -> int:
        """Return the place of a count."""
        setting = self.setting
        if expression is not None:
            setting = replace(setting, always_present=False)
        match kind:
            case Measured.UNITS:
                bounds = sensitivity_of_units(setting)
            case Measured.ROWS | Measured.VALUES:
                bounds = sensitivity_of_counts(setting)
            case _:
                assert_never(kind)
        return self.add(Measurement(kind, expression, bounds), weight)

    def distinct(self, expression: Expr, choices: tuple[int, ...], weight: float) -> int:
        """Return the place of a count of distinct values, of one unit as many as one of the choices.

        Of several, one is chosen privately, with two parts in five of what both may spend. (Shares are
        cube roots of weight times squared sensitivity; see plan/pricing.py.)
        """
        most = choices[-1]
        bounds = sensitivity_of_distinct(self.setting, most)
        measurement = Measurement(
            Measured.DISTINCT,
            expression,
            bounds,
            values_per_unit=most if self.setting.limits.rows > 1 else None,
            choices=choices if len(choices) > 1 else (),
        )
        place = self.add(measurement, weight)
        if measurement.choices:
            choice = Measurement(
                Measured.CHOICE, None, sensitivity_of_choice(), Fraction(1, ROW), high=ROW, of=place
            )
            self.add(choice, weight * bounds.l1**2 * (2 / 3) ** 3)
        return place

    def gridded(self, argument: Expr, centred: bool) -> Measurement:
        """Return a sum of a value in whole steps, less the middle of its bounds where it is centred."""
        low, high = bounds_of(argument)
        grid = grid_for(argument)
        bottom, top = (
            math.floor(low / grid + Fraction(1, 2)),
            math.floor(high / grid + Fraction(1, 2)),
        )
        centre = (bottom + top) // 2 if centred else 0
        bottom, top = bottom - centre, top - centre
        setting = self.setting
        if argument.facts.nullable:
            setting = replace(setting, always_present=False)
        bounds = sensitivity_of_sums(setting, bottom, top, None)
        return Measurement(Measured.SUM, argument, bounds, grid, centre, bottom, top)

    def count_apart(self, aggregate: Aggregate) -> int | None:
        """Return the place of a value by which rows are counted in a level apart, its keys selected.

        None where its values are known without the data, so that nothing need be selected.
        """
        facts = aggregate.value.facts
        if self._listed(aggregate.value) is not None:
            return None
        if facts.type is Type.REAL and facts.grid is None:
            raise _no_values(aggregate)
        return self._counted_apart.setdefault(aggregate.value, len(self._counted_apart))

    def histogram(self, aggregate: Aggregate, weight: float) -> int:
        """Return the place of counts of rows by public value, one noisy integer for each."""
        values = self._listed(aggregate.value)
        if values is None:
            raise _no_values(aggregate)
        groups = UNKNOWN_GROUPS if self.groups is None else self.groups
        if len(values) * groups > BINS_IN_ALL:
            raise _too_many_values(aggregate, len(values), groups)
        bounds = sensitivity_of_histogram(self.setting)
        return self.add(
            Measurement(Measured.HISTOGRAM, aggregate.value, bounds, values=values), weight
        )

    def total_bounds(self, argument: Expr) -> tuple[Fraction, Fraction] | None:
        """Return what the policy lets one unit add to one group of a column's sum."""
        # a row unit adds one value to one group: the column's bounds are its total
        if not isinstance(argument, ColumnRef) or not isinstance(self.table.unit, ColumnUnit):
            return None
        if argument.origin is None:
            return None
        table, name = argument.origin
        column = self._tables[table].columns.get(name)
        return column.total_bounds if column is not None else None

    def add(self, measurement: Measurement, weight: float) -> int:
        """Return the place of a measurement, which matters by so much more."""
        weight *= self.importance
        index = self._places.setdefault(measurement, len(self._found))
        if index == len(self._found):
            self._found.append(replace(measurement, weight=weight))
        elif not measurement.by_bins and measurement.of is None:
            known = self._found[index]
            self._found[index] = replace(known, weight=known.weight + weight)
        # what is picked together is one measurement, of however many it is asked for
        return index


def _no_values(aggregate: Aggregate) -> Refused:
    value = aggregate.value
    name = value.name if isinstance(value, ColumnRef) and value.stored else "x"
    constants = "1, 2" if value.facts.type in NUMERIC else "'a', 'b'"
    return Refused(
        "values_unknown",
        f"{aggregate.text} compares how often values occur, and which values there are is not known "
        "without the data, or they are very many",
        "let the owner declare the column's domain, or bounds of its whole numbers; state the values in "
        f"the question, as in CASE WHEN {name} IN ({constants}) THEN {name} END; or have them selected "
        f"privately: SELECT {name}, COUNT(*) AS n … GROUP BY {name} ORDER BY n DESC",
    )


def _too_many_values(aggregate: Aggregate, values: int, groups: int) -> Refused:
    return Refused(
        "values_too_many",
        f"{aggregate.text} counts rows by {values:,} values in each of some {groups:,} groups, and "
        f"{BINS_IN_ALL:,} counts is the most",
        "ask for fewer groups, or for coarser values, as in x // 10",
    )


def can_be_null(argument: Expr | None) -> bool:
    """Return whether some row may have no value; None stands for the row itself."""
    return argument is not None and argument.facts.nullable
