"""What contribution limits may take away, in words: intervals cover noise and nothing of this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sanql.certificate.kept_by_limits import kept_in_words
from sanql.certificate.kinds_in_words import rows_of_kinds
from sanql.certificate.norms_in_words import (
    drops_groups,
    is_scaled,
    norm_in_words,
    rows_kept_at_least,
)
from sanql.measurements import Measured
from sanql.plan import Level, OneGroup, Plan, PublicKeys, limits_joined, scaling_of
from sanql.policy import ColumnUnit
from sanql.profile import Profile
from sanql.question import Derived, From, Grouped, Rows, Selected
from sanql.statistics import statistic_of

CUT = "what they cut is not in the intervals"


def limits_in_words(plan: Plan, profiles: Mapping[str, Profile]) -> str:
    """Return the limits that may leave rows out of an answer; nothing where none can.

    Whether they did cut depends on the rows, so the line is there whenever they could; how much they
    keep is said by a profile, which was charged, or not at all.
    """
    levels = [level for level in plan.levels if _of_level(level)]
    listed = _listed(plan, [_of_level(level) for level in plan.levels])
    return "; ".join([f"limits: {listed}", *_shares(levels, profiles), CUT]) if listed else ""


def is_of_noise_alone(plan: Plan) -> bool:
    """Return whether limits may leave rows out of an answer, of which its intervals tell nothing."""
    return any(map(_of_level, plan.levels))


def limits_may_cut(plan: Plan, profiles: Mapping[str, Profile]) -> str:
    """Return a warning where a unit may have more rows or groups than count, as the policy has it.

    A unit that is declared to have one row has none that could be cut.
    """
    levels = [level for level in plan.levels if _of_level(level) and _binds(level)]
    listed = _listed(plan, [_of_level(level) if _binds(level) else "" for level in plan.levels])
    warning = f"limits: at most {listed} count, so counts may be too low, and sums and averages off"
    return "; ".join([warning, *_shares(levels, profiles)]) if listed else ""


def _listed(plan: Plan, limits: list[str]) -> str:
    """Return the limits of levels in words, each once, by level where they differ."""
    if plan.several and len(set(limits)) > 1:
        named = zip(plan.names, limits, strict=True)
        limits = [f"{words} in {name}" for name, words in named if words]
    return ", ".join(dict.fromkeys(words for words in limits if words))


def _shares(levels: Iterable[Level], profiles: Mapping[str, Profile]) -> list[str]:
    """Return what is known of the shares that the limits of levels keep, each once."""
    return list(dict.fromkeys(_kept(level, profiles) for level in levels))


def _binds(level: Level) -> bool:
    """Return whether a unit may have more than one row, so that limits are more than a precaution."""
    return _rows_that_count(level) > 1 or not level.outline.table.unique


def uneven_limits(plan: Plan, fitted: Iterable[Mapping[int, int]]) -> str:
    """Return a line where levels are fitted to each other, and limits may cut some of them more.

    Scaled to an L2 norm, a unit loses the less the more groups it is in; where groups are dropped, one
    that is in more than count loses rows that a coarser level keeps. Scaled by its number of rows, or
    held to as many in one group, it loses as much in every level.
    """
    levels = {level: plan.levels[level] for places in fitted for level in places}
    alike = {scaling_of(level.outline.measuring) for level in levels.values()}
    limited = {
        plan.names[number]
        for number, level in levels.items()
        if (is_scaled(level) and (len(alike) > 1 or None in alike)) or _loses_groups(level)
    }
    if not limited:
        return ""
    names = ", ".join(name for name in plan.names if name in limited)
    return (
        f"levels are fitted to each other, and limits may cut {names} more or less than the others: "
        "totals may be off (counts too low); for an undisturbed total ask for it by itself"
    )


def _loses_groups(level: Level) -> bool:
    """Return whether a unit's rows may be left out because they are in too many groups."""
    dropped = any(
        part.norm is None and part.kind in (Measured.ROWS, Measured.VALUES, Measured.SUM)
        for part in level.measurements
    )
    limits = level.outline.limits
    return dropped and _may_lose_groups(level) and limits.groups < limits.rows


def _of_level(level: Level) -> str:
    unit = level.outline.table.unit
    alone = _one_row(level.query.source)
    if not isinstance(unit, ColumnUnit) or level.outline.free or alone:
        return ""
    if level.outline.table.second is not None:
        return rows_of_kinds(level)
    limits = level.outline.limits
    rows_count = _rows_count(level)
    words = [_counted(_rows_that_count(level), "row")] if rows_count else []
    if is_scaled(level):
        words = [norm_in_words(level)]
    if rows_count and limits.rows_per_group < limits.rows:
        words[0] += f" ({limits.rows_per_group} in a group)"
    groups_count = any(
        measured.kind not in (Measured.DISTINCT, Measured.CHOICE) for measured in level.measurements
    )
    few_groups = limits.groups < limits.rows or not rows_count
    if _may_lose_groups(level) and groups_count and few_groups and drops_groups(level):
        words.append(_counted(limits.groups, "group"))
    words += [_counted(most, "distinct value") for most in values_per_unit(level)]
    return f"{' and '.join(words)} a {unit.column}" if words else ""


def _kept(level: Level, profiles: Mapping[str, Profile]) -> str:
    rows = _rows_that_count(level) if _rows_count(level) else None
    limits = level.outline.limits
    loses = _may_lose_groups(level) and (limits.groups < limits.rows or rows is None)
    if is_scaled(level):
        rows, loses = rows_kept_at_least(level), loses and drops_groups(level)
    return kept_in_words(level, profiles, rows, limits.groups if loses else None)


def _rows_count(level: Level) -> bool:
    """Return whether it matters how many rows a unit has: as a unit it counts once; so do values."""
    statistics = [statistic_of(aggregate) for aggregate in level.query.aggregates]
    return not all(statistic.by_unit or statistic.by_value for statistic in statistics)


def values_per_unit(level: Level) -> list[int]:
    """Return how many distinct values of one unit count, of each count of such values."""
    counts = (m for m in level.measurements if m.kind is Measured.DISTINCT)
    return sorted({measurement.values_per_unit or 1 for measurement in counts})


def _rows_that_count(level: Level) -> int:
    """Return how many rows of a unit count; where a subquery makes one of them, in the subquery."""
    match level.query.source:
        case Derived(_, Grouped(one_each=True) as inner):
            return limits_joined(inner.source, level.outline.tables)[0]
        case _:
            return level.outline.limits.rows


def _one_row(source: From | Rows) -> bool:
    """Return whether a unit has one row by construction, so that nothing can be cut.

    That a table is declared `unique` is no such thing: should the data have a unit twice, one row of
    it counts, and nothing would say so. A subquery that is grouped by the unit alone has one row for
    each; what it counts and sums up of their rows is held within limits all the same.
    """
    match source:
        case Derived(_, rows):
            return _one_row(rows)
        case Grouped():
            return source.one_each and not source.aggregates and len(source.keys) == 1
        case Selected():
            return _one_row(source.source)
        case _:
            return False


def _may_lose_groups(level: Level) -> bool:
    """Return whether a unit may be in more groups than count."""
    match level.outline.keys:
        case OneGroup():
            return False
        case PublicKeys(count=int(count)):
            return level.outline.limits.groups < count
        case _:
            return True


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
