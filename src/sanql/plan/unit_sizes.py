"""Private counts of how many rows, or groups, units have, and the contribution limit that suits them.

Every unit is one row of the relation counted here, with its number of rows (or of different values of a
column), so it is in one bin: bins.py says what it moves. A unit with more than 2^20 counts as one that
has so many. No limit of the policy is needed, and none is used.

A limit L costs noise, in proportion to L, and it costs what units have beyond it. The one suggested
has the least of both together, at an epsilon that is typical of questions:

    standard deviation of the noise of one count  +  rows lost

For groups it is the noise of COUNT(DISTINCT unit) in one group and what an average group loses. Near the
best limit one step more keeps about as many rows as it adds noise: some 1.4/epsilon units are above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sanql.errors import Refused
from sanql.functions import call
from sanql.mechanisms import DiscreteLaplace
from sanql.parse import derived_item, table_item
from sanql.plan.bins import bin_of, count_units
from sanql.plan.keys import PublicKeys, keys_of
from sanql.plan.plan import Plan
from sanql.policy import ROWS_MOST, Neighbours, RowUnit, Table
from sanql.question import (
    AggregateRef,
    Derived,
    Expr,
    Facts,
    Field,
    From,
    Grouped,
    Scan,
    Type,
    UnitAggregate,
    integer_literal,
)
from sanql.results import LimitChoice

SIZE_EDGES = tuple(
    sorted({2**k for k in range(ROWS_MOST.bit_length())} | {3 * 2**k for k in range(19)})
)
"""The largest number in each bin: 1, 2, 3, 4, 6, 8, 12, 16, …, 2^20."""
VALUE_EDGES = (0, *SIZE_EDGES)
"""The same of rows with a value, which a unit may have none of."""


def rows_of_units(
    name: str, tables: Mapping[str, Table], neighbours: Neighbours, epsilon: Fraction
) -> Plan:
    """Return the plan of counting units by how many rows they have."""
    return _spread(name, None, tables, neighbours, epsilon)


def groups_of_units(
    name: str, by: Expr, tables: Mapping[str, Table], neighbours: Neighbours, epsilon: Fraction
) -> Plan:
    """Return the plan of counting units by how many different values they have."""
    return _spread(name, by, tables, neighbours, epsilon)


def grouping_column(name: str, column: str, tables: Mapping[str, Table]) -> Expr:
    """Return the column to group by, or refuse one that cannot be grouped by."""
    item = table_item(tables[name], name, 0, tables)
    visible = item.find(column)
    usable = [known.name for known in item.columns if known.value is not None]
    if visible is None or visible.value is None:
        raise Refused(
            "column_unknown",
            f"the table {name} has no column {column[:60]} to group by",
            f"the columns are {', '.join(usable) or 'none'}",
        )
    if visible.value.facts.type is Type.REAL and visible.value.facts.grid is None:
        raise Refused(
            "group_real",
            f"{column[:60]} has no fixed precision, so no two of its values are one group",
            "name a column that questions are grouped by",
        )
    return visible.value


def number_of_groups(by: Expr, tables: Mapping[str, Table]) -> int | None:
    """Return how many groups there are, where the policy says so."""
    keys = keys_of((by,), tables)
    return keys.count if isinstance(keys, PublicKeys) else None


def limit_choices(
    seen: Sequence[tuple[int, int, Fraction]], epsilon: Fraction, cells: int = 1, groups: int = 1
) -> list[LimitChoice]:
    """Return the limits to choose from: the ends of the bins up to the last in which units were seen.

    Of each bin, `seen` has its end, how many units there are and how many rows or groups one of them
    has. `cells` is how many counts one unit moves for each unit of the limit, `groups` over how many
    groups the loss is spread.
    """
    total = sum(units for _, units, _ in seen)
    rows = sum(units * size for _, units, size in seen)
    limits_to_choose = []
    for limit in (edge for edge, _, _ in seen if edge):
        kept = sum(units * min(size, Fraction(limit)) for _, units, size in seen)
        noise = DiscreteLaplace(cells * limit / epsilon).standard_deviation
        within = sum(units for edge, units, _ in seen if edge <= limit) / total
        limits_to_choose.append(
            LimitChoice(limit, within, float(kept / rows), noise, float((rows - kept) / groups))
        )
    return limits_to_choose


def unlimited(name: str, tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return the tables with one of them free of limits, or refuse one that has nothing to limit.

    What is counted of its units has no limit yet, and none of those declared is part of the question.
    """
    table = tables[name]
    if table.public or isinstance(table.unit, RowUnit):
        what = "is public" if table.public else "protects each row by itself"
        raise Refused(
            "limits_needless",
            f"the table {name} {what}, so there is nothing to limit",
            "ask about a table whose unit may have several rows",
        )
    free = replace(
        table, rows_per_unit_max=ROWS_MOST, rows_per_group_max=None, groups_per_unit_max=ROWS_MOST
    )
    return {**tables, name: free}


def one_row_each(source: From, number: UnitAggregate, slot: int) -> tuple[Grouped, Expr]:
    """Return a relation with one row for each unit, and the number of it that the row has."""
    units_rows = Grouped(
        source,
        where=None,
        keys=(),
        aggregates=(number,),
        fields=(Field("number", AggregateRef(0, number.facts), None),),
        having=None,
        one_each=True,
    )
    value = derived_item(units_rows, "units", slot).columns[0].value
    assert value is not None  # noqa: S101  (the only field is a value)
    return units_rows, value


def values_of_units(
    name: str, value: Expr, tables: Mapping[str, Table], neighbours: Neighbours, epsilon: Fraction
) -> Plan:
    """Return the plan of counting units by how many of their rows have a value: those of none as well."""
    return _spread(name, value, tables, neighbours, epsilon, VALUE_EDGES, different=False)


def _spread(
    name: str,
    by: Expr | None,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    epsilon: Fraction,
    edges: Sequence[int] = SIZE_EDGES,
    *,
    different: bool = True,
) -> Plan:
    free = unlimited(name, tables)
    counted = Facts(
        Type.INTEGER, Fraction(0), Fraction(ROWS_MOST), nullable=False, grid=Fraction(1)
    )
    number = UnitAggregate("count", by, different and by is not None, counted)
    units_rows, value = one_row_each(Scan(0, name, private=True), number, 1)
    below = [call("less_equal", value, integer_literal(edge)) for edge in edges[:-1]]
    return count_units(bin_of(below), Derived(1, units_rows), free, neighbours, epsilon)
