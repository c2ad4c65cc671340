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
    of_rows = profile.rows_kept(rows) if profile and rows is not None else None
    of_groups = _groups_kept(level, profile, groups) if profile and groups is not None else None
    if profile is None or not (of_rows or of_groups):
        return "which share of the rows they keep is not known"
    said = []
    if rows is not None:
        limit = f"the limit on rows{_alone(level, groups)}"
        if of_rows is not None and _hangs_on_more(level):
            where = "where sums are within theirs, " if is_joint(level) else ""
            limit = f"{where}scaling keeps no less than a limit of {rows:,} rows, which"
        said.append(_said(limit, of_rows, f"rows of {profile.table}"))
    if groups is not None:
        said.append(_said("the limit on groups", of_groups, f"groups of units of {profile.table}"))
    return f"{' and '.join(said)} ({profile.name})"


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


def _said(limit: str, share: KeptShare | None, what: str) -> str:
    if share is None:
        return f"what {limit} keeps is not known"
    beyond = ""
    if share.units_above:
        beyond = f", apart from up to {share.units_above:,} units with more than {share.up_to:,},"
        beyond += " which may lose most of theirs"
    share_in_words = share.in_words()
    of_all = "" if share_in_words == "all" else " of all"
    return f"{limit} keeps {share_in_words}{of_all} {what}{beyond}"
