"""Averages of values that are known to be small beside their bounds, by sums with norms of their own.

An average of delays within [-60, 600] is some ten minutes, and noise for bounds of 660 drowns it. Where
a profile tells how large an average value is (s), a sum of rows of that size has the norm K = s C where
rows have C: San centres the sum on the value nearest to 0, holds it to K, and rows to C. Both numbers of
a unit are scaled by the least factor that either needs (measurements/norms.py), so that an average stays
one of the same rows, each unit with a weight of its own. The noise of the sum is then in proportion to s
instead of to the bounds, whatever these are. Values that are far larger cost weight, not privacy.

With N rows, the error of an average m is about (Z - (m - c) Z')/N, Z the noise of the sum and Z' that of
the count: as m - c is about s at most, the count's noise matters by s² where it was a third of the width
of the bounds squared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sanql.measurements import Measured, Measurement, OwnNorm, UnitNorms, sensitivity_of_sums
from sanql.plan.best_norm import (
    DIFFERENCE_OF_AVERAGE,
    DIFFERENCE_OF_OWN,
    NormCost,
    best_norm,
)
from sanql.plan.known_units import KnownUnits, average_size, lengths_over_groups
from sanql.question import Expr, Query
from sanql.statistics import Measuring

SHARE_OF_COUNT = 1 / 3
"""Of the weight of an average's sum, that of its count by itself (statistics/average.py)."""
_COUNTS = (Measured.ROWS, Measured.VALUES)


def norms_of_averages(
    norms: UnitNorms,
    query: Query,
    measuring: Measuring,
    units: KnownUnits,
    costs: Sequence[NormCost],
) -> UnitNorms | None:
    """Return norms of sums that belong to averages, and of the rows of these, where all are known.

    A row counts as one of an average value, of which what is lost moves the mean by half.
    """
    total, _, squared = norms.setting.limits.row_norms
    by_rows, over_groups = lengths_over_groups(query, units)
    cost, cost_l2 = (replace(each, difference=DIFFERENCE_OF_OWN) for each in costs)
    l1 = best_norm(by_rows, cost, total)
    l2 = best_norm(over_groups or by_rows, cost_l2, max(1, math.isqrt(squared)))
    own = []
    for part in measuring.measurements:
        size = average_size(part.expression, query, units)
        if part.kind is Measured.SUM and part.expression is not None and size:
            step = max(1, math.ceil(size / part.grid) - abs(_centre_near_zero(part)))
            own.append(OwnNorm(part.expression, l1 * step, (l2 * step) ** 2, step))
    if not own or norms.l2_squared is None or units.accuracy_asked:
        return None
    # compared with other ways by what these take to be lost
    cost, cost_l2 = (replace(each, difference=DIFFERENCE_OF_AVERAGE) for each in costs)
    taken = cost.taken(by_rows, l1), cost_l2.taken(over_groups or by_rows, l2)
    return replace(
        norms,
        l1=l1,
        l2_squared=l2**2,
        own=tuple(own),
        jointly=True,
        taken_l1=taken[0],
        taken_l2=taken[1],
    )


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
        if not selects and (part.kind is not Measured.SUM or _size(known, part.expression) is None):
            return None
    for place, part in enumerate(measuring.measurements):
        if part.kind is not Measured.SUM or part.sensitivity.zero:
            continue
        counts = {
            estimate.quotient[1] if estimate.quotient and estimate.with_any_centre else None
            for estimate in measuring.estimates
            if place in estimate.measurements
        }
        size = _size(known, part.expression)
        if len(counts) != 1 or None in counts or size is None or part.total is not None:
            return None
        (count,) = (each for each in counts if each is not None)
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
        matters = (size / part.size) ** 2 - SHARE_OF_COUNT
        made[count] = replace(made[count], weight=made[count].weight + part.weight * matters)
    if not any(part.kind is Measured.SUM and not part.sensitivity.zero for part in made):
        return None
    return replace(measuring, measurements=tuple(made), unit_norms=known)


def _centre_near_zero(part: Measurement) -> int:
    """Return the value nearest to 0 that a sum may have in a row, in steps of its grid."""
    return max(part.low + part.centre, min(0, part.high + part.centre))


def _size(known: UnitNorms, expression: Expr | None) -> int | None:
    return next((own.size for own in known.own if own.expression == expression), None)
