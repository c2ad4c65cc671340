"""Averages of values that are known to be small beside their bounds, by sums with norms of their own.

An average of delays within [-60, 600] is some ten minutes, and noise for bounds of 660 drowns it. Where
a profile tells how large an average value is (s), a sum of rows of that size has the norm K = s C where
rows have C: San centres the sum on the value nearest to 0, holds it to K, and rows to C. Both numbers of
a unit are scaled by the least factor that either needs (measurements/norms.py), so that an average stays
one of the same rows, each unit with a weight of its own. The noise of the sum is then in proportion to s
instead of to the bounds, whatever these are. Values that are far larger cost weight, not privacy.

With N rows, the error of an average m is about (Z - (m - c) Z')/N, Z the noise of the sum and Z' that of
the count: as m - c is about s at most, the count's noise matters by s² where it was a third of the width
of the bounds squared. Where counts are shown as well, the norm of rows is the one with the least error of
both: a mean may lose more of large units than a count, and has less noise so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sanql.measurements import Measured, Measurement, OwnNorm, Taken, UnitNorms, sensitivity_of_sums
from sanql.plan.best_norm import (
    DIFFERENCE_OF_AVERAGE,
    DIFFERENCE_OF_OWN,
    Lengths,
    NormCost,
    ValueSpread,
    best_norm,
)
from sanql.plan.known_units import (
    KnownUnits,
    average_size,
    lengths_over_groups,
    spread_of_values,
    with_large_values,
)
from sanql.plan.norms import counted_rows
from sanql.plan.relative_weights import SHARE_OF_COUNT
from sanql.policy import Table
from sanql.question import Query
from sanql.statistics import Measuring

NORM_STEP = 2 ** (1 / 4)
"""Between two norms of a sum that are tried, and of rows beside counts."""
ROOMS = 9
"""How many times as much as rows of average values add, in such steps, is tried beside counts."""
_COUNTS = (Measured.ROWS, Measured.VALUES)


def norms_of_averages(
    norms: UnitNorms,
    query: Query,
    tables: Mapping[str, Table],
    measuring: Measuring,
    units: KnownUnits,
    costs: Sequence[NormCost],
) -> UnitNorms | None:
    """Return norms of sums that belong to averages, and of the rows of these, where all are known.

    A row counts as one of an average value, of which what is lost moves the mean by half. Where counts or
    sums are shown as well, what is lost of these matters too.
    """
    sums = [
        (part, place, size)
        for place, part in enumerate(measuring.measurements)
        if part.kind is Measured.SUM and (size := average_size(part.expression, query, units))
    ]
    if not sums or norms.l2_squared is None or units.accuracy_asked:
        return None
    total, _, squared = norms.setting.limits.row_norms
    by_rows, over_groups = lengths_over_groups(query, units, tables, counted_rows(measuring))
    values = tuple(spread_of_values(part.expression, query, units) for part, _, _ in sums)
    first = _joint_norms(by_rows, values, total, costs[0])
    second = _joint_norms(over_groups or by_rows, values, max(1, math.isqrt(squared)), costs[1])
    own = []
    for number, (part, place, size) in enumerate(sums):
        assert part.expression is not None  # noqa: S101  (its size is known)
        centre = 0 if _counts_of(measuring, place) == {None} else _centre_near_zero(part)
        step = max(1, math.ceil(size / part.grid) - abs(centre))
        k1, k2 = first.sums[number], second.sums[number]
        own.append(
            OwnNorm(
                part.expression, k1.norm * step, (k2.norm * step) ** 2, step, k1.taken, k2.taken
            )
        )
    return replace(
        norms,
        l1=first.rows,
        l2_squared=second.rows**2,
        own=tuple(own),
        jointly=True,
        taken_l1=first.taken,
        taken_l2=second.taken,
    )


@dataclass(frozen=True)
class _SumNorm:
    """The norm of a sum, in average values, and what it takes away."""

    norm: int
    taken: Taken


@dataclass(frozen=True)
class _JointNorms:
    """The norm of rows, those of the sums that share a factor with them, and what is taken of counts."""

    rows: int
    sums: tuple[_SumNorm, ...]
    taken: Taken


@lru_cache(maxsize=256)
def _joint_norms(
    lengths: Lengths, values: tuple[ValueSpread, ...], most: int, cost: NormCost
) -> _JointNorms:
    """Return the norms of least error, of averages alone or beside counts that are shown as well."""
    alone = replace(cost, means=True, difference=DIFFERENCE_OF_OWN)
    rows = best_norm(lengths, alone, most)
    if not cost.means:
        return _beside_counts(lengths, values, rows, best_norm(lengths, cost, most), cost)
    # compared with other ways by what these take to be lost
    factor, lost = replace(cost, difference=DIFFERENCE_OF_AVERAGE).taken(lengths, rows)
    sums = (_own_norm(lengths, each, rows, alone) for each in values)
    made = tuple(_SumNorm(norm, (factor, missed + lost)) for norm, missed in sums)
    return _JointNorms(rows, made, (factor, 0.0))


def _beside_counts(
    lengths: Lengths, values: tuple[ValueSpread, ...], of_means: int, of_counts: int, cost: NormCost
) -> _JointNorms:
    """Return norms by which averages and counts of the same rows have the least error together.

    The norm of rows is between those that means and counts would have alone. Errors of means are in rows
    of an average value, and so are those of counts relative to the same number of rows.
    """
    least, largest = sorted((of_means, of_counts))
    found, rows = [], largest
    while True:
        found += [_with_room(lengths, values, rows, NORM_STEP**step, cost) for step in range(ROOMS)]
        if rows <= least:
            return min(found, key=lambda norms: _error(norms, cost))
        rows = max(least, min(rows - 1, math.floor(rows / NORM_STEP)))


def _with_room(
    lengths: Lengths, values: tuple[ValueSpread, ...], rows: int, room: float, cost: NormCost
) -> _JointNorms:
    """Return norms of sums that are so many times what rows of average values add."""
    norm = math.ceil(room * rows)
    moved = [_moved(lengths, each, rows, norm) for each in values]
    whole = sum(each.units * each.rows for each in lengths) / cost.groups
    sums = []
    for kept, missed in moved:
        lost = DIFFERENCE_OF_AVERAGE * (1 - kept) * whole
        sums.append(_SumNorm(norm, (kept**-2, (missed / cost.groups) ** 2 + lost**2)))
    lost_of_counts = (1 - min(kept for kept, _ in moved)) * whole
    return _JointNorms(rows, tuple(sums), (1.0, lost_of_counts**2))


def _error(norms: _JointNorms, cost: NormCost) -> float:
    """Return the squared error of a count and of averages beside it, each as what is measured equally."""
    noise_of_rows = (cost.deviation * norms.rows) ** 2
    error = noise_of_rows + norms.taken[1]
    for each in norms.sums:
        factor, missed = each.taken
        error += factor * ((cost.deviation * each.norm) ** 2 + noise_of_rows) + missed
    return error


@lru_cache(maxsize=1024)
def _own_norm(
    lengths: Lengths, values: ValueSpread, rows: int, cost: NormCost
) -> tuple[int, float]:
    """Return the norm of a sum, in average values, whose rows have one; and the square of what it misses.

    It is what so many rows of average values add, or more where few large values make much of the sum:
    whoever has one counts for less, and the mean is moved towards that of the others.
    """
    found, least = (rows, 0.0), math.inf
    norm = rows
    longest = max((each.length for each in with_large_values(lengths, values)), default=0.0)
    while True:
        kept, missed = _moved(lengths, values, rows, norm)
        missed, noise = (missed / cost.groups) ** 2, (cost.deviation * norm / kept) ** 2
        if noise + missed < least:
            found, least = (norm, missed), noise + missed
        if norm >= longest or noise >= least:
            return found
        norm = min(math.ceil(longest), math.ceil(norm * NORM_STEP))


def _moved(lengths: Lengths, values: ValueSpread, rows: int, norm: int) -> tuple[float, float]:
    """Return which share of rows counts, and how far all sums are from those of their mean, in values."""
    of_all, counted, added, seen = 0.0, 0.0, 0.0, 0.0
    for each in lengths:
        for larger, share in values or ((1.0, 1.0),):
            size = 1 + (larger - 1) / max(1.0, each.rows)
            number = share * each.units * each.rows
            length = max(each.length, size * each.length * rows / norm)
            weight = min(1.0, rows / length) if length else 1.0
            of_all, added = of_all + number, added + number * size
            counted, seen = counted + number * weight, seen + number * weight * size
    if not counted:
        return 1.0, 0.0
    return counted / of_all, abs(added / of_all - seen / counted) * of_all


def with_average_norms(measuring: Measuring) -> Measuring | None:
    """Return averages by sums that have norms of their own; None where not all norms are known."""
    norms = measuring.unit_norms
    if norms is None or norms.averages is None or measuring.setting is None:
        return None
    known = norms.averages
    made = list(measuring.measurements)
    for place, part in enumerate(made):
        if part.sensitivity.zero or part.kind in (*_COUNTS, Measured.KEY_WEIGHTS):
            continue
        selects = place == measuring.selection and part.kind is Measured.UNITS
        if not selects and (
            part.kind is not Measured.SUM or known.known_size(part.expression) is None
        ):
            return None
    for place, part in enumerate(measuring.measurements):
        if part.kind is not Measured.SUM or part.sensitivity.zero:
            continue
        counts, size = _counts_of(measuring, place), known.known_size(part.expression)
        if counts is None or len(counts) != 1 or size is None or part.total is not None:
            return None
        (count,) = counts
        if count is None:
            continue  # a sum by itself is one of values as they are
        if made[count].kind not in _COUNTS or made[count].sensitivity.zero:
            return None
        centre = _centre_near_zero(part)
        low, high = part.low + part.centre - centre, part.high + part.centre - centre
        setting = measuring.setting
        if part.expression is not None and part.expression.facts.nullable:
            setting = replace(setting, always_present=False)
        recentred = replace(
            part,
            centre=centre,
            low=low,
            high=high,
            sensitivity=sensitivity_of_sums(setting, low, high, None),
        )
        made[place] = replace(recentred, weight=part.weight * (recentred.size / part.size) ** 2)
        if any(each.quotient == (place, count) for each in measuring.estimates):
            # never nothing: what a number without weight would have of epsilon has no noise
            others = max(0.0, made[count].weight - part.weight * SHARE_OF_COUNT)
            matters = part.weight * (size / part.size) ** 2
            made[count] = replace(made[count], weight=others + matters)
    if not any(part.kind in _COUNTS and not part.sensitivity.zero for part in made):
        return None
    if not any(part.kind is Measured.SUM and not part.sensitivity.zero for part in made):
        return None
    return replace(measuring, measurements=tuple(made), unit_norms=known)


def _counts_of(measuring: Measuring, place: int) -> set[int | None] | None:
    """Return the counts that a sum is read with, None for what is read off it alone.

    None where anything else is read off it, for which it must stay the sum that it is.
    """
    found = set[int | None]()
    for estimate in measuring.estimates:
        if place not in estimate.measurements:
            continue
        fixed = estimate.quotient is not None and not estimate.with_any_centre
        if estimate.plain == place:
            found.add(None)
        elif estimate.sum_and_count is not None and not fixed:
            found.add(estimate.sum_and_count[1])
        else:
            return None
    return found


def _centre_near_zero(part: Measurement) -> int:
    """Return the value nearest to 0 that a sum may have in a row, in steps of its grid."""
    return max(part.low + part.centre, min(0, part.high + part.centre))
