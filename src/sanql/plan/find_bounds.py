"""Bounds found privately: units are counted by the binary order of magnitude of a column's values.

The counts are an answer of their own (bins.py): of the whole table, at the price the policy states,
on the analyst's account and in the ledger, so that they are paid for once. The bounds are the
smallest range of bins that encloses every one whose noisy count is `least_count_above_noise` or more.
That is post-processing, as is whatever is then asked with them: a value outside is read as the nearer
end, exactly as with bounds that the owner declares, so the sensitivities of the question are those of
declared bounds, whatever the data.

Bins count in steps of the column: 1 for an integer, the precision where there is one, and 2^-30
otherwise. Bin 0 holds what is nearer to zero than a step, bin k what is at least 2^(k-1) and less
than 2^k steps above it, bin -k the same below. The outermost are open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sanql.functions import call
from sanql.numbers import show_upper
from sanql.parse import derived_item, table_item
from sanql.plan.best_norm import ValueSpread
from sanql.plan.bins import bin_of, count_units, least_count_above_noise
from sanql.plan.plan import Plan
from sanql.policy import Column, Neighbours, Table
from sanql.question import (
    Derived,
    Expr,
    Facts,
    Field,
    Literal,
    Scan,
    Selected,
    Type,
    integer_literal,
)

STEP_OF_REALS = Fraction(1, 2**30)
MOST_OF_REALS = 90  # up to 2^60
MOST_OF_STEPS = 52  # sums are exact so far
UNIT_SUM_BITS = 61  # what the rows of one unit can add up to stays below 2^62 steps

QualifiedColumn = tuple[str, str]
"""A table and a column of it, by name."""
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Magnitudes:
    """Orders of magnitude: bins from -most to most, counted in steps."""

    step: Fraction
    most: int
    gridded: bool

    @property
    def count(self) -> int:
        """How many bins there are."""
        return 2 * self.most + 1

    def below(self, number: int) -> tuple[str, Fraction]:
        """Return the comparison, operator and end, that holds for values below a bin."""
        if number > 0:
            return "less", self.step * 2 ** (number - 1)
        return "less_equal", -self.step * 2**-number

    def range_of(self, first: int, last: int) -> Ends:
        """Return the values from one bin to another, at least one step apart."""
        low = self.step * 2 ** (first - 1) if first > 0 else -self._outer(-first)
        high = self._outer(last) if last >= 0 else -self.step * 2 ** (-last - 1)
        return low, max(high, low + self.step)

    def middle(self, number: int) -> Fraction:
        """Return how far from zero the middle of a bin is."""
        low, high = self.range_of(abs(number), abs(number))
        return (low + high) / 2 if number else Fraction(0)

    def _outer(self, number: int) -> Fraction:
        """Return the end of a bin that is further from zero; on a grid it is the last step within."""
        if number == 0:
            return Fraction(0)
        end = self.step * Fraction(2) ** number
        return end - self.step if self.gridded else end


@dataclass(frozen=True)
class BoundsSearch:
    """The question that finds a column's bounds."""

    place: QualifiedColumn
    magnitudes: Magnitudes
    plan: Plan

    @property
    def least(self) -> int:
        """The least noisy count that an empty bin is unlikely to reach."""
        return least_count_above_noise(self.plan, self.magnitudes.count)

    def ends(self, bins: Sequence[int], counts: Sequence[int]) -> Ends | None:
        """Return the bounds that noisy counts show, or None where no bin has enough units."""
        seen = [number for number, count in zip(bins, counts, strict=True) if count >= self.least]
        return self.magnitudes.range_of(min(seen), max(seen)) if seen else None

    def average_size(self, bins: Sequence[int], counts: Sequence[int], most: Fraction) -> Fraction:
        """Return how far from zero values are on average, and no further than `most`; 0 if unknown.

        Of each unit one order counts, drawn from those of its values: large ones are seen too often,
        which is the safer side where it is used.
        """
        sizes = self._sizes(bins, counts, most)
        return sum((size * share for size, share in sizes), Fraction(0))

    def spread_of_sizes(
        self, bins: Sequence[int], counts: Sequence[int], most: Fraction
    ) -> ValueSpread:
        """Return how many times as large as the average values are, each with its share of units.

        Beyond the last order that is told from noise there are taken to be as many as if they went on
        getting fewer as they did, and no more than were counted: few very large values are much of a sum.
        """
        average = self.average_size(bins, counts, most)
        counted = dict(zip(bins, counts, strict=True))
        units = sum(count for count in counts if count >= self.least)
        if not average:
            return ()
        sizes = [*self._sizes(bins, counts, most)]
        for side in (1, -1):
            further = self._further(counted, side)
            sizes += [(min(most, self.magnitudes.middle(n)), count / units) for n, count in further]
        return tuple((float(size / average), float(share)) for size, share in sizes)

    def _further(self, counted: Mapping[int, int], side: int) -> Iterator[tuple[int, Fraction]]:
        """Yield orders beyond the last on a side that is told from noise, and how many have them."""
        seen = [number for number, count in counted.items() if count >= self.least]
        number = max((n * side for n in seen), default=0) * side
        before = Fraction(counted.get(number - side, 0))
        count = Fraction(counted.get(number, 0))
        if number * side <= 0 or before < self.least:
            return
        while number + side in counted:
            number += side
            fewer = count * min(Fraction(1), count / before)
            before, count = count, min(fewer, Fraction(counted[number]))
            if count < 1:
                return
            yield number, count

    def _sizes(
        self, bins: Sequence[int], counts: Sequence[int], most: Fraction
    ) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return how far from zero values of each order are that is told from noise, and its share."""
        seen = [(n, count) for n, count in zip(bins, counts, strict=True) if count >= self.least]
        units = sum(count for _, count in seen)
        return tuple((min(most, self.magnitudes.middle(n)), Fraction(c, units)) for n, c in seen)

    def to_dict(self) -> dict[str, object]:
        """Return what a certificate says of bounds that are still to be found."""
        table, column = self.place
        return {
            "table": table,
            "column": column,
            "bounds": None,
            "epsilon": float(show_upper(self.plan.charge.epsilon)),
            "rule": (
                f"units counted by order of magnitude, {self.plan.noises[0].describe()}; the range "
                f"of all orders with a noisy count of {self.least} or more"
            ),
            "release": "of its own: charged once, free for the same analyst from then on",
        }


@dataclass(frozen=True)
class FoundBounds:
    """The bounds of a column, with the question that found them."""

    search: BoundsSearch
    ends: Ends

    def to_dict(self) -> dict[str, object]:
        """Return what a certificate says of them."""
        low, high = self.ends
        return self.search.to_dict() | {"bounds": [float(low), float(high)]}


def plan_bounds_search(
    place: QualifiedColumn, tables: Mapping[str, Table], neighbours: Neighbours, epsilon: Fraction
) -> BoundsSearch:
    """Return the question that finds the bounds of a column at a price."""
    table = tables[place[0]]
    magnitudes = magnitudes_of(table, table.columns[place[1]])
    rows = _values(table, place[1], tables)
    value = derived_item(rows, "found", 1).columns[0].value
    assert value is not None  # noqa: S101  (the only field is a value)
    bin_ends = [
        magnitudes.below(number) for number in range(1 - magnitudes.most, magnitudes.most + 1)
    ]
    whole = value.facts.type is Type.INTEGER
    below = [call(op, value, _constant(end, whole)) for op, end in bin_ends]
    bins = bin_of(below, -magnitudes.most)
    return BoundsSearch(
        place, magnitudes, count_units(bins, Derived(1, rows), tables, neighbours, epsilon)
    )


def _values(table: Table, column: str, tables: Mapping[str, Table]) -> Selected:
    """Return the values of a column that are there, read once however often they are compared."""
    visible = table_item(table, table.name, 0, tables).find(column)
    assert visible is not None and visible.value is not None  # noqa: S101  (the policy has it)
    there = call("not", call("is_null", visible.value))
    return Selected(Scan(0, table.name, private=True), there, (Field(column, visible.value, None),))


def magnitudes_of(table: Table, column: Column) -> Magnitudes:
    """Return the bins of a column: as far as the rows of one unit can be added up exactly."""
    step = Fraction(1) if column.type == "integer" else column.precision
    if step is None:
        return Magnitudes(STEP_OF_REALS, MOST_OF_REALS, gridded=False)
    rows = table.rows_per_unit_max or 1
    return Magnitudes(step, min(MOST_OF_STEPS, UNIT_SUM_BITS - (rows - 1).bit_length()), True)


def _constant(end: Fraction, whole: bool) -> Expr:
    if whole:
        return integer_literal(int(end))
    return Literal(end, Facts(Type.REAL, end, end, nullable=False))


def with_bounds(
    tables: Mapping[str, Table], ends: Mapping[QualifiedColumn, Ends]
) -> Mapping[str, Table]:
    """Return the tables with these bounds on columns, as if the owner had declared them."""
    changed = dict(tables)
    for (name, column), (low, high) in ends.items():
        known = changed[name].columns[column]
        bounds = (int(low), int(high)) if known.type == "integer" else (low, high)
        columns = {**changed[name].columns, column: replace(known, bounds=bounds)}
        changed[name] = replace(changed[name], columns=columns)
    return changed
