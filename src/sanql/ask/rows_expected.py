"""Over how many rows a statistic is expected to be: by a profile of its table, or else assumed.

A guess of the analyst's own goes before both. A profile is a release of its own, so whatever is said of
it costs nothing more. It tells of whole tables:
of what a condition or a join leaves nothing is known, nor of how many groups keys make that it has not
counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sanql.plan import Level, OneGroup, PublicKeys
from sanql.profile import Profile
from sanql.question import Scan

ROWS_ASSUMED = 1000


@dataclass(frozen=True)
class RowsExpected:
    """A number of rows in a group, and where it is from."""

    rows: int
    of: str = ""

    @property
    def in_words(self) -> str:
        """On what a width rests that depends on how many rows there are."""
        return f" if the group has {self.rows:,} rows{self.of}"


def rows_expected(
    level: Level, profiles: Mapping[str, Profile], guessed: int | None = None
) -> RowsExpected:
    """Return how many rows a group of a level is expected to have, as far as limits keep them."""
    if guessed is not None:
        return RowsExpected(guessed, ", as guessed")
    known = _rows_kept(level, profiles)
    match level.outline.keys:
        case OneGroup() if known:
            return RowsExpected(_rounded(known), ", as by the profile limits keep of all")
        case PublicKeys(count=int(count)) if known and known >= count > 0:
            average = ", as by the profile limits keep of an average one at least"
            return RowsExpected(_rounded(known / count), average)
        case _:
            return RowsExpected(ROWS_ASSUMED)


def _rows_kept(level: Level, profiles: Mapping[str, Profile]) -> float | None:
    """Return how many rows of a table limits keep, by its profile; None where it is not known."""
    query = level.query
    whole = isinstance(query.source, Scan) and query.where is None
    profile = profiles.get(query.source.table) if isinstance(query.source, Scan) else None
    units = None if profile is None else profile.known_units
    if not whole or units is None or level.outline.filtering_keys:
        return None
    most = min([level.outline.limits.rows, *_norms(level)])
    return sum(each.units * min(each.length, most) for each in units.rows)


def _norms(level: Level) -> list[int]:
    """Return how many rows of a unit count in full by the norms of its rows, in however many groups."""
    norms = [part.norm for part in level.measurements if part.norm is not None]
    return [
        norm.bound if norm.order == 1 else math.isqrt(norm.bound)
        for norm in norms
        if not norm.alone
    ]


def _rounded(rows: float) -> int:
    """Return a number of rows to two digits, downwards.

    >>> _rounded(61_834.5), _rounded(7.9)
    (61000, 7)
    """
    step = float(f"1e{max(0, len(str(int(rows))) - 2)}")
    return int(rows // step) * int(step)
