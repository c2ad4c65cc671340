"""How much of one unit may reach one answer: contribution limits and what follows from them.

Bounding works per unit and on that unit's own rows only:

1. rows are summed up per unit and group;
2. at most `groups` groups of a unit are kept, chosen by a hash under a key drawn for this answer;
3. at most `rows_per_group` rows of a unit count in one group, and `rows` in all its groups; where it
   has more, each group gets its share, made whole by a random rounding under the same key;
4. where only m of n rows count, counts and sums of values are scaled to m/n in the same way.

So a unit's row counts form a vector of at most `groups` entries, each at most `rows_per_group`, with
sum at most `rows`; sensitivities are computed from exactly these three numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from sanql.errors import Refused
from sanql.plan.keys import Keys, OneGroup, PublicKeys
from sanql.policy import ColumnUnit, RowUnit, Table


@dataclass(frozen=True)
class Limits:
    """The limits on one unit in one answer, already no larger than they can matter."""

    groups: int
    rows: int
    rows_per_group: int

    @property
    def row_norms(self) -> tuple[int, int, int]:
        """Return (L1, L-infinity, squared L2) of the largest vector of a unit's row counts."""
        largest = self.rows_per_group
        total = min(self.rows, self.groups * largest)
        full, rest = divmod(total, largest)
        return total, largest, full * largest**2 + rest**2


def limits_of(table: Table, keys: Keys, groups_asked: int | None) -> Limits:
    """Return the limits that the policy sets and the question may tighten."""
    if table.unit is None or isinstance(table.unit, RowUnit):
        return Limits(1, 1, 1)
    if not isinstance(table.unit, ColumnUnit):
        raise AssertionError("reading.py follows references to the unit they lead to")
    rows = table.rows_per_unit_max
    if rows is None:
        raise Refused(
            "limits_missing",
            f"the policy does not limit the rows of one unit in {table.name}",
            "let the owner declare rows_per_unit_max",
        )
    groups = table.groups_per_unit_max or rows
    if groups_asked is not None:
        groups = min(groups, groups_asked)
    if isinstance(keys, OneGroup):
        groups = 1
    if isinstance(keys, PublicKeys) and keys.count is not None:
        groups = max(1, min(groups, keys.count))
    groups = min(groups, rows)
    per_group = min(rows, table.rows_per_group_max or rows)
    return Limits(groups, min(rows, groups * per_group), per_group)


def parse_groups(text: str | int | None) -> int | None:
    """Return max_groups_contributed as a whole number, or refuse what is not one."""
    if text is None:
        return None
    plain = str(text)
    if plain.isascii() and plain.isdecimal() and len(plain) < 8 and int(plain) >= 1:
        return int(plain)
    raise Refused(
        "groups_invalid",
        f"max_groups_contributed = {plain[:40]!r} is not a whole number of at least 1",
        "write, for example, max_groups_contributed = 3",
    )
