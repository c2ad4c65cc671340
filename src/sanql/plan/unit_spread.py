"""Private counts of units by size, in octaves, and how far in its octave each of them is.

A unit of size s (its rows, or the groups that it is in) is one row, in one bin: 0, 1, 2, 3 to 4, 5 to
8, and so on up to 2^20, beyond which it counts as one of that size. It adds 1 to the count of units in
its bin, and to a sum its place (s - base) / width there, in steps of 1/1024: from above 0 to 1, and 0
where a bin has one size only. So it moves the counts by 1 in L1 and the places by 1024 steps when it
comes or goes, and by twice as much when it changes (its old bin and its new one); each has half of
epsilon. No limit of the policy is needed, and none is used.

Any function of s that is straight within bins has its sum over units from these two: that is what the
shares that limits keep are made of, for limits at the ends of bins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sanql.functions import call
from sanql.plan.bins import bin_of
from sanql.plan.plan import Plan, outline, price
from sanql.plan.unit_sizes import one_row_each, unlimited
from sanql.policy import ROWS_MOST, Neighbours, Table
from sanql.question import (
    Aggregate,
    AggregateRef,
    Derived,
    Expr,
    Facts,
    KeyRef,
    Output,
    Query,
    Scan,
    Type,
    UnitAggregate,
    integer_literal,
)
from sanql.statistics import COUNTED, units_of

OCTAVES = (0, *(2**k for k in range(ROWS_MOST.bit_length())))
"""The largest size in each bin: 0, 1, 2, 4, 8, …, 2^20."""
PLACES = 1024
"""Into so many steps a bin is divided."""


def base_and_width(index: int) -> tuple[int, int]:
    """Return where a bin begins and how wide it is; one that has a single size has no width.

    >>> [base_and_width(index) for index in range(5)]
    [(0, 0), (1, 0), (2, 0), (2, 2), (4, 4)]
    """
    if index < 3:
        return OCTAVES[index], 0
    return OCTAVES[index - 1], OCTAVES[index] - OCTAVES[index - 1]


def spread_of_units(
    name: str,
    by: Expr | None,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    epsilon: Fraction,
) -> Plan:
    """Return the plan of counting units by their rows, or by how many values of a column they have."""
    free = unlimited(name, tables)
    most = Fraction(ROWS_MOST)
    counted = Facts(Type.INTEGER, Fraction(0), most, nullable=False, grid=Fraction(1))
    number = UnitAggregate("count", by, by is not None, counted)
    rows, size = one_row_each(Scan(0, name, private=True), number, 1)
    below = [call("less_equal", size, integer_literal(edge)) for edge in OCTAVES[:-1]]
    bins = bin_of(below)
    places = _place(size, below, range(len(OCTAVES)))
    query = Query(
        source=Derived(1, rows),
        where=None,
        keys=(bins,),
        aggregates=(units_of(None, "units"), Aggregate("sum", (places,), COUNTED, "places")),
        outputs=(
            Output("bin", KeyRef(0, bins.facts)),
            Output("units", AggregateRef(0, COUNTED)),
            Output("places", AggregateRef(1, COUNTED)),
        ),
    )
    return price(outline(query, free, neighbours, groups_asked=1), epsilon, Fraction(0))


def _place(size: Expr, below: Sequence[Expr], bins: range) -> Expr:
    """Return how far in its bin a size is, chosen among bins as `bin_of` chooses."""
    if len(bins) == 1:
        return _place_within(size, *base_and_width(bins[0]))
    middle = len(bins) // 2
    left, right = bins[:middle], bins[middle:]
    return call("case", below[right[0] - 1], _place(size, below, left), _place(size, below, right))


def _place_within(size: Expr, base: int, width: int) -> Expr:
    if not width:
        return integer_literal(0)
    steps = call("multiply", call("subtract", size, integer_literal(base)), integer_literal(PLACES))
    whole = call("integer_divide", steps, integer_literal(width))
    return call("greatest", call("least", whole, integer_literal(PLACES)), integer_literal(0))
