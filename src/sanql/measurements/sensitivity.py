"""How far one unit can move a measurement: L1, L-infinity and squared L2, as exact integers.

Notation: a unit's row counts are a vector r with |r|_1 <= n1, |r|_inf <= n8, |r|_2^2 <= n2 (limits.py);
a sum's grid values lie in [low, high], p = max(high, 0), q = max(-low, 0), M = max(p, q).

add-remove. One unit's vector v appears or disappears: the norms of v itself. For sums |v_i| <= M r_i.

change-one. v is replaced by v'. Always |v - v'|_1 <= |v|_1 + |v'|_1.
In one cell, both values lie in one interval, so the difference is at most its length.
Squared L2 of a count: entries of v and v' are nonnegative, so (v_i - v'_i)^2 <= v_i^2 + v'_i^2, and
the sum is at most 2 n2. Of a sum: |v_i - v'_i| <= max(p r_i + q r'_i, q r_i + p r'_i). Splitting the
cells by which is larger and maximising over the angles of (r, r') gives at most
(p^2 + q^2 + sqrt((p^2 - q^2)^2 + 4 p^2 q^2)) n2 = 2 (p^2 + q^2) n2. With one row in one group there is
no splitting: the row stays in its cell (high - low, or p + q if it may be absent) or moves to another.

merged. Where groups that do not appear are added up in one cell more (plan/other_groups.py), a unit's
row counts are added up likewise, whichever groups these are: still |r|_1 <= n1, so |r|_inf <= n1 and
|r|_2^2 <= n1^2. A sum over a unit's rows lies between -q r_i and p r_i in a merged cell as in any other,
and nothing else is used above: the same formulas hold with n8 = n1 and n2 = n1^2. Cells saturate before
they are added up, which shrinks each cell's difference and keeps it between the same ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sanql.computed_once import computed_once
from sanql.measurements.limits import ContributionLimits
from sanql.policy import Neighbours


@dataclass(frozen=True)
class Sensitivity:
    """The most one unit can change a measurement's cells, in steps of its grid."""

    l1: int
    linf: int
    l2_squared: int

    @computed_once
    def zero(self) -> bool:
        """Whether no unit can change anything: the value is public."""
        return self.l1 == 0


@dataclass(frozen=True)
class SensitivitySetting:
    """What a sensitivity depends on besides the measurement."""

    neighbours: Neighbours
    limits: ContributionLimits
    one_group: bool
    always_present: bool  # every unit has exactly one row, and it counts
    merged: bool = False  # groups may be added up in one cell
    values_asked: int | None = None  # distinct values of one unit, where the question says how many

    @property
    def row_norms(self) -> tuple[int, int, int]:
        """Return (L1, L-infinity, squared L2) of a unit's row counts, in cells merged or not."""
        total, largest, squared = self.limits.row_norms
        return (total, total, total**2) if self.merged else (total, largest, squared)


def sensitivity_of_units(setting: SensitivitySetting) -> Sensitivity:
    """Return the sensitivity of counting distinct units in each group."""
    if setting.always_present:
        return _always_one(setting)
    if setting.one_group:
        return Sensitivity(1, 1, 1)
    cells = setting.limits.groups * (1 if setting.neighbours == "add-remove" else 2)
    return Sensitivity(cells, 1, cells)


def _always_one(setting: SensitivitySetting) -> Sensitivity:
    if setting.one_group:
        return Sensitivity(0, 0, 0)
    return Sensitivity(2, 1, 2)


def sensitivity_of_counts(setting: SensitivitySetting) -> Sensitivity:
    """Return the sensitivity of counting rows, or rows with a value, in each group."""
    if setting.always_present:
        return _always_one(setting)
    n1, n8, n2 = setting.row_norms
    if setting.neighbours == "add-remove" or setting.one_group:
        return Sensitivity(n1, n8, n2)
    return Sensitivity(2 * n1, n8, 2 * n2)


def sensitivity_of_sums(
    setting: SensitivitySetting, low: int, high: int, total: tuple[int, int] | None
) -> Sensitivity:
    """Return the sensitivity of summing grid values between low and high in each group.

    `total`, when given, encloses what one unit may add to one group.
    """
    n1, n8, n2 = setting.row_norms
    up, down = max(high, 0), max(-low, 0)
    largest = max(up, down)
    if setting.neighbours == "add-remove":
        sensitivity = Sensitivity(n1 * largest, n8 * largest, n2 * largest**2)
    elif setting.one_group:
        width = high - low if setting.always_present else up + down
        sensitivity = Sensitivity(n8 * width, n8 * width, (n8 * width) ** 2)
    else:
        single = n1 == 1
        squared = max((up + down) ** 2, 2 * largest**2) if single else 2 * (up**2 + down**2)
        sensitivity = Sensitivity(2 * n1 * largest, n8 * (up + down), n2 * squared)
    return sensitivity if total is None else _with_total(sensitivity, setting, total)


def _with_total(
    by_rows: Sensitivity, setting: SensitivitySetting, total: tuple[int, int]
) -> Sensitivity:
    low, high = total
    largest, width, groups = max(high, -low), high - low, setting.limits.groups
    together = groups if setting.merged else 1  # groups of one unit that may share a cell
    if setting.neighbours == "add-remove":
        by_total = Sensitivity(groups * largest, together * largest, groups * together * largest**2)
    elif setting.one_group:
        by_total = Sensitivity(width, width, width**2)
    else:
        # a merged cell holds r_i groups' totals, as it would r_i rows' values
        worst = max(width**2, 2 * largest**2) if together == 1 else 2 * (low**2 + high**2)
        by_total = Sensitivity(2 * groups * largest, together * width, groups * together * worst)
    return Sensitivity(
        min(by_rows.l1, by_total.l1),
        min(by_rows.linf, by_total.linf),
        min(by_rows.l2_squared, by_total.l2_squared),
    )


def sensitivity_of_other_groups(setting: SensitivitySetting) -> Sensitivity:
    """Return the sensitivity of units added up over the groups that do not appear: one number."""
    groups = setting.limits.groups
    return Sensitivity(groups, groups, groups**2)


def sensitivity_of_distinct(setting: SensitivitySetting, values: int) -> Sensitivity:
    """Return the sensitivity of counting distinct values greedily, `values` of one unit at most.

    Each unit in turn takes up to `values` (group, value) pairs that no unit before it has taken. One unit
    more makes the taken pairs a larger set, by at most `values` (docs/distinct_values.md): over all
    groups together, whatever the limits on rows and groups are, and in merged cells as well. The counts
    grow by some d >= 0 with |d|_1 <= values, so |d|_inf <= values and |d|_2^2 <= values^2. A unit that
    changes is taken away and another one added: d' - d with both as above, so at most 2 values in L1,
    `values` in each cell, and (d_i - d'_i)^2 <= d_i^2 + d'_i^2 adds up to 2 values^2.
    """
    if setting.one_group or setting.neighbours == "add-remove":
        return Sensitivity(values, values, values**2)
    return Sensitivity(2 * values, values, 2 * values**2)


def sensitivity_of_histogram(setting: SensitivitySetting) -> Sensitivity:
    """Return the sensitivity of counting rows by group and public value: one vector over both.

    A row is in one group and has one value, so the cells of a unit are its row counts r split further:
    c_gv >= 0 with sum_v c_gv <= r_g. Splitting lengthens no norm: |c|_1 <= |r|_1 <= n1, each cell is at
    most n8, and sum_v c_gv^2 <= r_g^2, so |c|_2^2 <= n2. A unit that changes may leave all its cells and
    enter others, also within one group, which makes them the counts of several groups. What is counted
    by value has no place in the row of other groups, so groups are never merged.
    """
    apart = replace(setting, one_group=False, always_present=False, merged=False)
    return sensitivity_of_counts(apart)
