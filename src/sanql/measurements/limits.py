"""How many groups and rows of one unit may reach one answer, and the norms that follow from it.

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


@dataclass(frozen=True)
class ContributionLimits:
    """The contribution limits on one unit in one answer: groups, rows, and rows in one group."""

    groups: int
    rows: int
    rows_per_group: int

    @property
    def row_norms(self) -> tuple[int, int, int]:
        """Return (L1, L-infinity, squared L2) of the largest vector of a unit's row counts."""
        largest = self.rows_per_group
        total = min(self.rows, self.groups * largest)
        full, remainder = divmod(total, largest)
        return total, largest, full * largest**2 + remainder**2


ONE_ROW = ContributionLimits(1, 1, 1)
"""The limits where each row is a unit."""
