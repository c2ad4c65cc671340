"""How much of one unit may count: the contribution limits of a table, resolved."""

from __future__ import annotations

from dataclasses import dataclass

from sanql.policy.keys import ROWS_MOST
from sanql.policy.model import RowUnit, Unit
from sanql.policy.section import Section, quote
from sanql.policy.values import integer_between, parse_flag

UNDECIDED = "undecided"
LIMIT_KEYS = ("rows_per_unit_max", "rows_per_group_max", "groups_per_unit_max")


@dataclass(frozen=True)
class DeclaredLimits:
    """A private table's limits; `rows_per_group_max` stays None where the owner wrote none.

    An owner who is undecided has none at all; one who declares the table `unique` says that there is
    nothing to limit.
    """

    rows_per_unit_max: int | None
    rows_per_group_max: int | None
    groups_per_unit_max: int | None
    unique: bool = False


def read_limits(section: Section, unit: Unit | None) -> DeclaredLimits | None:
    """Return the limits that a table's section declares for its unit.

    While the unit is unknown the limits are still read, so that their faults are named too.
    """
    if isinstance(unit, RowUnit):
        return _limits_of_row(section)
    if section.content.get("rows_per_unit_max") == UNDECIDED:
        return _limits_of_undecided(section)
    unique = section.read("unique", parse_flag, "write unique = true or leave it out")
    parse = integer_between(1, ROWS_MOST)
    remedy = f"write a whole number from 1 to {ROWS_MOST}"
    rows, rows_in_group, groups = (section.read(key, parse, remedy) for key in LIMIT_KEYS)
    if unit is None:
        return None
    if unique:
        return _limits_of_unique(section)
    if "rows_per_unit_max" not in section.content:
        rows = _multiply_limits(section, rows_in_group, groups)
    if rows is None:
        return None
    groups = rows if groups is None else groups
    _check_agreement(section, rows, rows_in_group, groups)
    return DeclaredLimits(rows, rows_in_group, groups)


def _limits_of_row(section: Section) -> DeclaredLimits:
    for key in ("unique", *LIMIT_KEYS):
        if key in section.content:
            section.fault(
                key,
                f'with privacy_unit = "row" there is no {key}: a row counts once, in one group',
                f"remove {key}",
            )
    return DeclaredLimits(1, None, 1)


def _limits_of_undecided(section: Section) -> DeclaredLimits:
    for key in ("unique", *LIMIT_KEYS[1:]):
        if key in section.content:
            section.fault(
                key,
                f'{key} is written beside rows_per_unit_max = "{UNDECIDED}"',
                f"remove {key} until rows_per_unit_max is decided",
            )
    return DeclaredLimits(None, None, None)


def _limits_of_unique(section: Section) -> DeclaredLimits:
    for key in LIMIT_KEYS:
        if section.content.get(key, 1) != 1:
            section.fault(
                key,
                f"{key} = {quote(section.content[key])} contradicts unique = true, one row each",
                f"remove {key} or unique",
            )
    return DeclaredLimits(1, 1 if "rows_per_group_max" in section.content else None, 1, unique=True)


def _multiply_limits(section: Section, rows_in_group: int | None, groups: int | None) -> int | None:
    if not {"rows_per_group_max", "groups_per_unit_max"} <= section.content.keys():
        section.fault(
            "rows_per_unit_max",
            "rows_per_unit_max is missing",
            "write how many rows of one unit may count in an answer; or unique = true if a unit has"
            " one row; or both rows_per_group_max and groups_per_unit_max; or"
            f' "{UNDECIDED}", and `sanql suggest` proposes one',
        )
        return None
    if rows_in_group is None or groups is None:
        return None
    if rows_in_group * groups > ROWS_MOST:
        section.fault(
            "rows_per_group_max",
            f"{rows_in_group} rows in each of {groups} groups are {rows_in_group * groups} rows of"
            f" one unit, over {ROWS_MOST}",
            "lower one of the two limits",
        )
        return None
    return rows_in_group * groups


def _check_agreement(section: Section, rows: int, rows_in_group: int | None, groups: int) -> None:
    for key, limit in (
        ("groups_per_unit_max", groups),
        ("rows_per_group_max", rows_in_group),
    ):
        if limit is not None and limit > rows:
            section.fault(
                key,
                f"{limit} is more than the {rows} rows of one unit that may count",
                f"lower {key} or raise rows_per_unit_max",
            )
    if rows_in_group is not None and rows_in_group * groups < rows:
        reachable = rows_in_group * groups
        section.fault(
            "rows_per_unit_max",
            f"{rows} rows of one unit can never count: {groups} groups of"
            f" {rows_in_group} rows are {reachable}",
            f"write rows_per_unit_max = {reachable}, or leave it out",
        )
