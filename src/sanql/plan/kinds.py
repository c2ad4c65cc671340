"""What is asked of rows that belong to units of two kinds at once: sums of rows, in public groups.

In each group so many rows of one unit of either kind count, and what all rows add up to is poured
(kernel/pouring.py): one unit of a kind moves it by no more than its own room, the number of its rows
that count times the largest value, whatever its rows are and whoever else they belong to. That is
add-remove; a unit that changes is taken away and another one added, and both move what is above zero the
same way, so that it moves by no more, and what is below likewise. A unit may be in every group. So for
each kind and values of one sign

    L1 <= G r M,    L-infinity <= r M,    squared L2 <= G (r M)^2

with G groups, r rows of a unit in a group and M the largest value. These are the bounds of a unit with r
rows in each of G groups (measurements/sensitivity.py), where no row is dropped for another: limits of G
groups and G r rows say so, with the larger r of both kinds. One noise is enough for both, and both are
charged what it costs the one with more rows.

It takes rows that hang on nobody else: what a row adds, and to which group, is computed of the row
itself and of public tables. Everything else is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sanql.errors import Refused
from sanql.measurements import ContributionLimits, Measured, Measurement, Poured, Sensitivity
from sanql.plan.keys import Keys, OneGroup, PublicKeys
from sanql.policy import SecondKind, Table
from sanql.question import (
    Aggregate,
    Derived,
    Expr,
    From,
    Join,
    Query,
    Subquery,
    Window,
    is_private,
    walk,
)
from sanql.statistics import Measuring

_SUMS = (Measured.ROWS, Measured.VALUES, Measured.SUM, Measured.UNITS)


def check_kinds_covered(query: Query, table: Table, *, other: bool) -> None:
    """Refuse a question over rows of two kinds whose rows could hang on others, or be merged."""
    if other:
        raise _uncovered(table, "other adds up groups, and a unit may be in all of them")
    if _has_private_subquery(query.source):
        raise _uncovered(table, "a subquery may make a row of several")
    for expression in _expressions(query):
        if any(isinstance(node, Subquery | Window) for node in walk(expression)):
            raise _uncovered(table, "a subquery or a window looks at other rows")


def limits_of_two_kinds(
    table: Table, keys: Keys, groups_asked: int | None, rows_asked: int | None
) -> ContributionLimits:
    """Return the limits that bound what one unit of either kind moves; only public groups have any."""
    rows = _rows(table).largest
    match keys:
        case OneGroup():
            groups = 1
        case PublicKeys(count=int(count)):
            groups = max(1, count)
        case _:
            raise _uncovered(
                table, "of groups that are not listed nobody knows how many one unit is in"
            )
    if groups_asked not in (None, groups) or rows_asked not in (None, groups * rows):
        raise _uncovered(table, "limits are the policy's: so many rows of a unit in each group")
    return ContributionLimits(groups, groups * rows, rows)


def poured(
    measuring: Measuring, aggregates: tuple[Aggregate, ...], table: Table, second: SecondKind
) -> Measuring:
    """Return measurements that are poured: sums of rows, and counts of units of the first kind."""
    made = []
    for measurement in measuring.measurements:
        if not _is_sum_of_rows(measurement):
            told = ", ".join(dict.fromkeys(aggregate.text for aggregate in aggregates))
            raise _uncovered(table, f"{told} is no count, sum or average of rows")
        if measurement.kind is Measured.UNITS:
            made.append(_units(measurement, table, measuring.limits.groups))
        else:
            made.append(replace(measurement, poured=_rows(table)))
    return replace(measuring, measurements=tuple(made), setting=None)


def _units(measurement: Measurement, table: Table, groups: int) -> Measurement:
    """Return a count of units of the first kind, each of which has room for one.

    Of what a unit of the second kind has, so many units of the first count as rows of it do. So one unit
    of either kind moves a group by no more than the larger of both numbers, under either relation.
    """
    rows = replace(_rows(table), first=1)
    moved = Sensitivity(groups * rows.largest, rows.largest, groups * rows.largest**2)
    return replace(measurement, poured=rows, sensitivity=moved)


def _rows(table: Table) -> Poured:
    assert table.second is not None and table.rows_per_group_max is not None  # noqa: S101
    return Poured(table.rows_per_group_max, table.second.rows_per_group_max)


def _is_sum_of_rows(measurement: Measurement) -> bool:
    """Return whether it adds up something of each row, and its noise is for one number a group."""
    otherwise = (
        *(measurement.total, measurement.of, measurement.around),
        *(measurement.norm, measurement.pair, measurement.groups_max),
    )
    plain = all(each is None for each in otherwise)
    return plain and measurement.kind in _SUMS and not measurement.by_bins


def _has_private_subquery(source: From) -> bool:
    match source:
        case Derived(_, rows):
            return is_private(rows)
        case Join(_, left, right, on):
            looks = on is not None and any(isinstance(n, Subquery | Window) for n in walk(on))
            return looks or _has_private_subquery(left) or _has_private_subquery(right)
        case _:
            return False


def _expressions(query: Query) -> Iterator[Expr]:
    """Yield everything that is computed of a row."""
    yield from query.keys
    if query.where is not None:
        yield query.where
    for aggregate in query.aggregates:
        yield from aggregate.arguments


def _uncovered(table: Table, why: str) -> Refused:
    assert table.second is not None  # noqa: S101  (asked of tables of two kinds)
    return Refused(
        "kinds_not_covered",
        f"each row of {table.name} belongs to units of two kinds, {table.kind} and {table.second.kind}:"
        f" {why}, and how far one of them moves that is not proved",
        f"ask for counts, sums and averages of the table's own rows, or how many {table.kind} units there"
        " are, GROUP BY listed keys; or over a table of one kind",
    )
