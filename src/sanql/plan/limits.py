"""Contribution limits: what the policy sets and a question may tighten."""

from __future__ import annotations

from sanql.errors import Refused
from sanql.measurements import ONE_ROW, ContributionLimits
from sanql.plan.keys import Keys, OneGroup, PublicKeys
from sanql.plan.kinds import limits_of_two_kinds
from sanql.policy import ColumnUnit, RowUnit, Table


def limits_of(
    table: Table, keys: Keys, groups_asked: int | None, rows_asked: int | None = None
) -> ContributionLimits:
    """Return the limits that the policy sets and the question may tighten."""
    if table.unit is None or isinstance(table.unit, RowUnit):
        return ONE_ROW
    if not isinstance(table.unit, ColumnUnit):
        raise AssertionError("reading.py follows references to the unit they lead to")
    if table.second is not None:
        return limits_of_two_kinds(table, keys, groups_asked, rows_asked)
    rows = table.rows_per_unit_max
    if rows is None:
        raise Refused(
            "limits_missing",
            f"the policy does not limit the rows of one unit in {table.name}",
            "let the owner declare rows_per_unit_max",
        )
    groups = table.groups_per_unit_max or rows
    if rows_asked is not None:
        rows = min(rows, rows_asked)
    if groups_asked is not None:
        groups = min(groups, groups_asked)
    if isinstance(keys, OneGroup):
        groups = 1
    if isinstance(keys, PublicKeys) and keys.count is not None:
        groups = max(1, min(groups, keys.count))
    groups = min(groups, rows)
    per_group = min(rows, table.rows_per_group_max or rows)
    return ContributionLimits(groups, min(rows, groups * per_group), per_group)
