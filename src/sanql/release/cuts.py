"""What contribution limits may take away, in words: intervals cover noise and nothing of this."""

from __future__ import annotations

from sanql.plan import LevelsPlan, Plan, Planned
from sanql.plan.keys import OneGroup, PublicKeys
from sanql.plan.measurements import Measured
from sanql.policy import ColumnUnit

UNITS_ONLY = (Measured.UNITS, Measured.REST)  # a unit counts once in a group, however many rows


def cuts_in_words(plan: Planned) -> str:
    """Return the limits that may cut an answer; nothing where none can.

    Whether they did cut depends on the rows, so the line is there whenever they could.
    """
    said = [_of_level(level) for level in plan.levels]
    if isinstance(plan, LevelsPlan) and len(set(said)) > 1:
        named = zip(plan.names, said, strict=True)
        said = [f"{words} in {name}" for name, words in named if words]
    found = ", ".join(dict.fromkeys(words for words in said if words))
    return f"limits: {found}; what they cut is not in the intervals" if found else ""


def _of_level(plan: Plan) -> str:
    unit = plan.outline.table.unit
    # a derived table has no such declaration: joins repeat rows, and unions add them
    if not isinstance(unit, ColumnUnit) or plan.outline.free or plan.outline.table.unique:
        return ""
    limits = plan.outline.limits
    rows_count = any(part.kind not in UNITS_ONLY for part in plan.measurements)
    said = [_counted(limits.rows, "row")] if rows_count else []
    if rows_count and limits.rows_per_group < limits.rows:
        said[0] += f" ({limits.rows_per_group} in a group)"
    if _groups_cut(plan) and (limits.groups < limits.rows or not rows_count):
        said.append(_counted(limits.groups, "group"))
    return f"{' and '.join(said)} a {unit.column}" if said else ""


def _groups_cut(plan: Plan) -> bool:
    """Return whether a unit may be in more groups than count."""
    match plan.outline.keys:
        case OneGroup():
            return False
        case PublicKeys(count=int(count)):
            return plan.outline.limits.groups < count
        case _:
            return True


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
