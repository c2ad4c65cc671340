"""Private counts of units by the length of their contributions, and by the groups that they are in.

`norms_of_units` counts units by the L2 norm of their numbers of rows over the groups of a column: rows
are counted for each unit and group, and the squares added up for each unit. So a unit is one row, in one
bin (bins.py): it moves the counts by 1 in L1 when it comes or goes, by 2 when it changes, and nothing of
it is limited. A norm beyond 2^20 counts as one that is so long. The L1 norm is its number of rows, which
unit_sizes.py counts; counted as a unit, somebody in g groups has norms g and √g, from its groups.

`units_by_group` counts units in each group of a column whose values are public. Somebody may be in many,
so that the policy's limit on groups holds, G say: the counts move by G in L1 when a unit comes or goes,
and by 2G when it changes, by 1 in each group (measurements/sensitivity.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sanql.functions import call
from sanql.parse import derived_item
from sanql.plan.bins import bin_of, count_units
from sanql.plan.plan import Plan, outline, price
from sanql.plan.unit_sizes import SIZE_EDGES, one_row_each, unlimited
from sanql.policy import ROWS_MOST, Neighbours, Table
from sanql.question import (
    AggregateRef,
    Derived,
    Expr,
    Facts,
    Field,
    Grouped,
    KeyRef,
    Output,
    Query,
    Scan,
    Type,
    UnitAggregate,
    integer_literal,
)
from sanql.statistics import COUNTED, units_of


def norms_of_units(
    name: str, by: Expr, tables: Mapping[str, Table], neighbours: Neighbours, epsilon: Fraction
) -> Plan:
    """Return the plan of counting units by the L2 norm of their rows over the groups of a column."""
    free = unlimited(name, tables)
    counted = _whole_up_to(ROWS_MOST)
    in_groups = Grouped(
        Scan(0, name, private=True),
        where=None,
        keys=(by,),
        aggregates=(UnitAggregate("count", None, False, counted),),
        fields=(Field("rows", AggregateRef(0, counted), None),),
        having=None,
        one_each=False,
    )
    rows = derived_item(in_groups, "groups", 1).columns[0].value
    assert rows is not None  # noqa: S101  (the only field is a value)
    square = UnitAggregate("sum", call("multiply", rows, rows), False, _whole_up_to(ROWS_MOST**2))
    squares, value = one_row_each(Derived(1, in_groups), square, 2)
    below = [call("less_equal", value, integer_literal(edge**2)) for edge in SIZE_EDGES[:-1]]
    return count_units(bin_of(below), Derived(2, squares), free, neighbours, epsilon)


def units_by_group(
    name: str, by: Expr, tables: Mapping[str, Table], neighbours: Neighbours, epsilon: Fraction
) -> Plan:
    """Return the plan of counting units in each public group of a column, within the policy's limits."""
    query = Query(
        source=Scan(0, name, private=True),
        where=None,
        keys=(by,),
        aggregates=(units_of(None, "units"),),
        outputs=(Output("group", KeyRef(0, by.facts)), Output("units", AggregateRef(0, COUNTED))),
    )
    return price(outline(query, tables, neighbours), epsilon, Fraction(0))


def _whole_up_to(most: int) -> Facts:
    return Facts(Type.INTEGER, Fraction(0), Fraction(most), nullable=False, grid=Fraction(1))
