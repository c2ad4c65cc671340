"""Which share of a table's rows contribution limits keep, in words: by its profile, or not known.

A profile is a release of its own, charged to the dataset, so that this is the one thing under an answer
that may tell of rows. It is of a whole table; what a condition chooses may lose more or less, and of
joined tables and subqueries nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sanql.certificate.norms_in_words import is_joint
from sanql.plan import Level, PublicKeys
from sanql.profile import KeptShare, Profile
from sanql.question import ColumnRef, Scan


def kept_in_words(
    level: Level, profiles: Mapping[str, Profile], rows: int | None, groups: int | None
) -> str:
    """Return what is known of the share that limits keep; None stands for what takes nothing away."""
    source = level.query.source
    profile = profiles.get(source.table) if isinstance(source, Scan) else None
    of_rows = profile.rows_kept(rows) if profile and rows else None
    of_groups = _groups_kept(level, profile, groups) if profile and groups is not None else None
    if rows == 0:  # less than one of the largest value
        return "how much of large values it takes away is not known"
    if profile is None or not (of_rows or of_groups):
        return "which share of the rows they keep is not known"
    said = []
    if rows is not None:
        limit = f"the limit on rows{_alone(level, groups)}"
        if of_rows is not None and _hangs_on_more(level):
            where = "where sums are within theirs, " if is_joint(level) else ""
            limit = f"{where}scaling keeps no less than a limit of {rows:,} rows, which"
        said.append(_said(limit, of_rows, "rows", profile.table))
    if groups is not None:
        said.append(_said("the limit on groups", of_groups, "groups", profile.table))
    return f"{'; '.join(said)} ({profile.name})"


def _groups_kept(level: Level, profile: Profile, limit: int) -> KeptShare | None:
    """Return what a limit on groups keeps, where they are those of one column that was looked at."""
    match level.query.keys:
        case (ColumnRef(origin=(table, column)),) if table == profile.table:
            share = profile.groups_kept(column, limit)
        case _:
            return None
    keys = level.outline.keys
    there_are = keys.count if isinstance(keys, PublicKeys) else None
    if share is not None and there_are is not None and there_are <= share.up_to:
        return replace(share, units_above=0)  # nobody is in more groups than there are
    return share


def _hangs_on_more(level: Level) -> bool:
    """Return whether more than the number of a unit's rows decides how much of it counts."""
    norms = [part.norm for part in level.measurements if part.norm is not None]
    return any(norm.order == 2 or norm.alone for norm in norms)


def _alone(level: Level, groups: int | None) -> str:
    limits = level.outline.limits
    return " alone" if groups is not None or limits.rows_per_group < limits.rows else ""


def _said(limit: str, share: KeptShare | None, noun: str, table: str) -> str:
    """Return what a limit keeps, beginning with whose rows or groups that is said of."""
    if share is None:
        return f"what {limit} keeps is not known"
    what = f"{noun} of {table}" if noun == "rows" else f"{noun} of units of {table}"
    if not share.units_above:
        of_all = "" if share.in_words() == "all" else " of all"
        return f"{limit} keeps {share.in_words()}{of_all} {what}"
    return (
        f"of the {what} whose unit has at most {share.up_to:,}, {limit} keeps {share.in_words()}; "
        f"{share.beyond_in_words} and may lose most of theirs: which share of all {noun} these have "
        "nobody knows"
    )
