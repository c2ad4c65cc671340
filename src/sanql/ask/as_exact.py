"""Whether what a batch has measured is at least as exact as a question would be alone.

Three things are compared, of every statistic: the half-widths over several numbers of rows, as within
bounds those over few rows say nothing; the noise of each measurement that both have; and what norms take
away of units, as far as anybody knows. What is unknown of both is taken to be alike, as limits are.
"""

from __future__ import annotations

from fractions import Fraction

from sanql.measurements import Measured, NormBound
from sanql.plan import Level, Plan, half_width
from sanql.question import Expr
from sanql.statistics import Estimate

ROWS_COMPARED = (10**3, 10**6, 10**9, 10**12)
"""Over the most no width of a statistic reaches its bounds."""

_Named = tuple[Measured, Expr | None, int | None]


def is_as_exact(there: Plan, alone: Plan, confidence: Fraction) -> bool:
    """Return whether nothing of a plan is less exact than of another that measures the same."""
    pairs = zip(there.levels, alone.levels, strict=True)
    return all(_level_is(level, other, confidence) for level, other in pairs)


def _level_is(level: Level, other: Level, confidence: Fraction) -> bool:
    return _shows_as_many_keys(level, other) and all(
        _widths_are(level, other, place, confidence)
        and _noises_are(level, other, place)
        and _keeps_as_much(level, other, place)
        for place in range(len(level.estimates))
    )


def _shows_as_many_keys(level: Level, other: Level) -> bool:
    """Return whether a key needs no more units than at another level, counted in the same way."""
    own, its = level.selection, other.selection
    if own is None or its is None:
        return own is its
    if (own.kind, own.groups_max) != (its.kind, its.groups_max):
        return False
    return (level.priced.threshold or 0) * own.grid <= (other.priced.threshold or 0) * its.grid


def _widths_are(level: Level, other: Level, place: int, confidence: Fraction) -> bool:
    """Return whether no interval of a statistic is wider, over however many rows."""
    if not level.estimates[place].has_interval:
        return False
    for rows in ROWS_COMPARED:
        own, its = (half_width(each, place, confidence, rows) for each in (level, other))
        if own is None or its is None or own > its:
            return False
    return True


def _noises_are(level: Level, other: Level, place: int) -> bool:
    """Return whether no measurement of a statistic that both levels have is noisier."""
    own, its = (_deviations(each, each.estimates[place]) for each in (level, other))
    return all(own[named] <= its[named] for named in own.keys() & its.keys())


def _deviations(level: Level, estimate: Estimate) -> dict[_Named, float]:
    """Return the deviation of each measurement of a statistic, in the units of its values."""
    found = {}
    for place in estimate.measurements:
        part = level.measurements[place]
        deviation = level.noises[place].standard_deviation * float(part.cell_step)
        found[part.kind, part.expression, part.around] = deviation
    return found


def _keeps_as_much(level: Level, other: Level, place: int) -> bool:
    """Return whether norms take away no more of units than at another level, as far as is known.

    The same norms take away the same, also where less was known of units when they were chosen.
    """
    if _norms(level, level.estimates[place]) == _norms(other, other.estimates[place]):
        return True
    own, its = (_taken(each, each.estimates[place]) for each in (level, other))
    return own[0] <= its[0] and own[1] <= its[1]


def _norms(level: Level, estimate: Estimate) -> dict[_Named, NormBound | None]:
    """Return the norm of each measurement of a statistic."""
    parts = [level.measurements[place] for place in estimate.measurements]
    return {(part.kind, part.expression, part.around): part.norm for part in parts}


def _taken(level: Level, estimate: Estimate) -> tuple[float, float]:
    """Return the most by which a variance counts more, and the largest squared error besides."""
    norms, parts = (
        level.outline.measuring.unit_norms,
        map(level.measurements.__getitem__, estimate.measurements),
    )
    taken = [
        norms.taken(part.norm, part.expression, part.size)
        for part in parts
        if norms is not None and part.norm is not None
    ]
    factors, missed = zip((1.0, 0.0), *taken, strict=True)
    return max(factors), max(missed)
