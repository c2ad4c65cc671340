"""Tables without what the policy takes away: what answers would be if nothing were cut.

Limits are beyond what any unit has, bounds hold every value, and every value is a key. That may make a
question one that cannot be asked, say where bounds follow from a domain; so there are several ways, from
the one that lifts most to the policy as it is.

How far beyond: where nothing is known of the data, a unit's L2 norm is held to the geometric middle of
those that its limit of L rows allows (plan/norms.py), which is at least L^(3/4). A unit that has m rows
is no longer than m, so that L = m^(4/3) would do. Twice that is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sanql.examine import Reach
from sanql.policy import ROWS_MOST, Column, Policy, Table


@dataclass(frozen=True)
class Lifted:
    """Tables with something lifted, and what is left as the policy has it, in words."""

    tables: Mapping[str, Table]
    left: str


def lifted(policy: Policy, reach: Mapping[str, Reach]) -> Iterator[Lifted]:
    """Yield the ways to lift what a policy takes away, that which lifts most first.

    Only ways that differ are given: the policy as it is comes last.
    """
    ways = (
        ("", True, True, True),
        ("domains", True, True, False),
        ("domains and bounds", True, False, False),
        ("domains, bounds and limits", False, False, False),
    )
    seen: list[Mapping[str, Table]] = []
    for left, limits, bounds, domains in ways:
        tables = {
            name: _table(table, reach[name], limits, bounds, domains) if name in reach else table
            for name, table in policy.tables.items()
        }
        if tables not in seen:
            seen.append(tables)
            yield Lifted(tables, left)


def _table(table: Table, reach: Reach, limits: bool, bounds: bool, domains: bool) -> Table:
    columns = {
        name: _column(column, reach if bounds else Reach(), domains)
        for name, column in table.columns.items()
    }
    table = replace(table, columns=columns, units_per_selected_group_min=1)
    return _without_limits(table, reach) if limits else table


def _column(column: Column, reach: Reach, domains: bool) -> Column:
    ends = reach.bounds.get(column.name, column.bounds)
    whole = replace(column, bounds=ends, total_bounds=None)
    return replace(whole, domain=None) if domains else whole


def _without_limits(table: Table, reach: Reach) -> Table:
    """Return a table whose limits no unit reaches, unless the owner is undecided about them."""
    most = reach.rows_of_a_unit
    if table.second is not None:
        first, second = (_beyond(most[kind]) for kind in (table.kind, table.second.kind))
        return replace(
            table,
            rows_per_unit_max=None if table.rows_per_unit_max is None else first,
            rows_per_group_max=first,
            groups_per_unit_max=None if table.groups_per_unit_max is None else first,
            second=replace(table.second, rows_per_group_max=second),
        )
    if table.rows_per_unit_max is None:
        return table
    (rows,) = map(_beyond, most.values())
    return replace(
        table,
        rows_per_unit_max=rows,
        rows_per_group_max=None,
        groups_per_unit_max=rows,
        unique=table.unique and rows == 1,
    )


def _beyond(rows: int) -> int:
    """Return a limit that does not touch a unit with so many rows, however long it is.

    >>> [_beyond(rows) for rows in (1, 2, 10)]
    [1, 6, 44]
    """
    return 1 if rows == 1 else min(ROWS_MOST, 2 * math.ceil(rows ** (4 / 3)))
