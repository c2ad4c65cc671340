"""Which norm a unit's numbers are scaled down to, and which measurements are bounded that way.

Where a question has groups and a unit may have several rows, counts of rows and sums are bounded by
norm (measurements/norms.py): nothing of a unit is dropped, and at the same noise as many of its rows
count, or more, than where groups are drawn and the others left out. What is counted once a unit, picked,
told apart by value or held within a total is bounded by dropping as before, and so is what is added up
over groups that do not appear: merged cells are longer in L2. Without groups a sum by itself is bounded
by norm, that is, held to as much as its rows may add; counts of rows are the same either way.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

from sanql.measurements import (
    ContributionLimits,
    Measured,
    Measurement,
    NormBound,
    NormOrder,
    SensitivitySetting,
    UnitNorms,
    scale_for,
    sensitivity_by_norm,
)
from sanql.question import Expr
from sanql.statistics import Measuring

_COUNTS = (Measured.ROWS, Measured.VALUES)


def norm_of(limits: ContributionLimits, order: NormOrder, groups: int) -> int:
    """Return the norm of a unit's rows, squared in L2, where nothing is known of the data.

    In L1 it is all rows that the policy lets count: a unit with no more stays as it is, in however many
    groups. In L2 a unit with that many rows is longest with as many as may be in one group (the root of
    `squared`), and shortest with equally many in each of the `groups` that it can be in (total / root of
    groups). Real ones are in between, and so is the norm: the geometric middle. Noise is never more than
    limits made it.
    """
    total, _, squared = limits.row_norms
    if order == 1:
        return total
    even = -(-(total**2) // groups)
    return max(1, min(squared, math.isqrt(squared * even)))


def bounds_by_norm(setting: SensitivitySetting) -> bool:
    """Return whether numbers of a unit can be longer than they may be."""
    return not setting.merged and setting.limits.rows > 1


def unit_norms_of(setting: SensitivitySetting, groups: int | None) -> UnitNorms:
    """Return the norms of units where nothing is known of the data but how many groups there are."""
    limits = setting.limits
    can_be_in = min(limits.rows, groups or limits.rows)
    return UnitNorms(setting, norm_of(limits, 1, can_be_in), norm_of(limits, 2, can_be_in))


def added_up_over_groups(measuring: Measuring) -> Measuring:
    """Return measurements whose cells estimate, added up, what fewer groups of the same rows would.

    Whatever groups a unit's rows are in, they are as many, and add up to as much where no value has
    another sign: in L1 its factor is the same. In L2 it is the less the fewer groups there are, so that
    with Gaussian noise rows are dropped, as many in either.
    """
    norms = measuring.unit_norms
    if norms is None:
        return measuring
    by_rows = any(part.low < 0 < part.high for part in measuring.measurements)
    return replace(measuring, unit_norms=replace(norms, l2_squared=None, by_rows=by_rows))


def scaling_of(measuring: Measuring) -> Hashable | None:
    """Return what decides how much of a unit counts in a level; None where its groups do, in part.

    Numbers of two levels are estimates of the same thing only where this is the same of both: the number
    of its rows or of its values, or how long a sum is of which all values have one sign; and how many.
    """
    norms = measuring.unit_norms
    scaled = [part for part in measuring.measurements if part.norm is not None]
    if any(part.poured is not None for part in measuring.measurements):
        return None
    if not scaled or norms is None:
        return "rows", None, measuring.limits.rows
    if any(part.norm is not None and part.norm.order == 2 for part in scaled):
        return None
    if any(part.norm is not None and part.norm.jointly for part in scaled):
        bounds = frozenset((part.kind, part.expression, part.norm) for part in scaled)
        two_signed = any(part.low < 0 < part.high for part in scaled)
        return None if two_signed else ("jointly", counted_by(scaled), bounds)
    if any(part.norm is not None and part.norm.alone for part in scaled):
        return None if any(part.low < 0 < part.high for part in scaled) else ("sums", norms.l1)
    return "rows", counted_by(scaled), norms.l1


def counted_by(scaled: Sequence[Measurement]) -> Expr | None:
    """Return the value whose rows decide the factor of a unit; None where all of its rows do."""
    values = {
        part.expression if part.expression is not None and part.expression.facts.nullable else None
        for part in scaled
    }
    return values.pop() if len(values) == 1 else None


def counted_rows(measuring: Measuring) -> Expr | None:
    """Return the value whose rows would decide the factor of a unit; None where all of its rows would."""
    return counted_by([part for part in measuring.measurements if _can_be_scaled(part)])


def bounded_by_norm(measuring: Measuring, order: NormOrder | None) -> Measuring:
    """Return the measurements of a level with those bounded by norm that can be; noise has this norm."""
    norms = measuring.unit_norms
    bound = None if norms is None or order is None else norms.bound(order)
    if norms is None or order is None or bound is None:
        return measuring
    setting = norms.setting
    places = [i for i, part in enumerate(measuring.measurements) if _can_be_scaled(part)]
    if norms.jointly:
        return _bounded_jointly(measuring, places, norms, order)
    counted = any(measuring.measurements[place].kind in _COUNTS for place in places)
    alone = not counted and not norms.by_rows
    if setting.one_group and not (
        alone and all(_is_shorter(measuring.measurements[place], setting) for place in places)
    ):
        return measuring
    made = list(measuring.measurements)
    for place in places:
        part = made[place]
        known = norms.own_bound(part.expression, order) if alone else None
        norm = _norm(part, setting, order, bound, known, alone=alone)
        if not norm.fits(part.size):
            return measuring
        moved = sensitivity_by_norm(setting, norm, part.low, part.high)
        made[place] = replace(part, norm=norm, sensitivity=moved)
    return replace(measuring, measurements=tuple(made))


def _bounded_jointly(
    measuring: Measuring, places: Sequence[int], norms: UnitNorms, order: NormOrder
) -> Measuring:
    """Return sums with norms of their own and counts with that of rows, which share the least factor."""
    made = list(measuring.measurements)
    total, _, squared = norms.setting.limits.row_norms
    longest = total if order == 1 else squared
    bounds = []
    for place in places:
        part = made[place]
        alone = part.kind is Measured.SUM
        known = norms.own_bound(part.expression, order) if alone else norms.bound(order)
        if known is None:
            return measuring
        bound = min(known, longest * part.size**order if alone else longest)
        bounds.append(NormBound(order, bound, scale_for(order, bound, 1), alone, jointly=True))
    if not all(norm.bears(other) for norm in bounds for other in bounds):
        return measuring
    for place, norm in zip(places, bounds, strict=True):
        part = made[place]
        by_rows = replace(norm, alone=False)
        if not norm.fits(part.size) or not by_rows.fits(part.size):
            return measuring
        moved = sensitivity_by_norm(norms.setting, norm, part.low, part.high)
        made[place] = replace(part, norm=norm, sensitivity=moved)
    return replace(measuring, measurements=tuple(made))


def _can_be_scaled(part: Measurement) -> bool:
    if part.sensitivity.zero or part.total is not None:
        return False
    return part.kind in (*_COUNTS, Measured.SUM)


def _is_shorter(part: Measurement, setting: SensitivitySetting) -> bool:
    """Return whether a sum in one group moves no further by norm than where rows are dropped.

    Held between -M C and M C, one that changes moves by 2 M C; where values have both signs, rows that
    are dropped let it move by less, if their bounds are uneven.
    """
    return setting.neighbours == "add-remove" or part.low >= 0 or part.high <= 0


def _norm(
    part: Measurement,
    setting: SensitivitySetting,
    order: NormOrder,
    bound: int,
    known: int | None,
    *,
    alone: bool,
) -> NormBound:
    """Return the norm that bounds a measurement: `alone` by its own length, else by the unit's rows.

    Alone it is what as many rows of the largest value could add, as limits let count, or less, where it
    is `known` that hardly any unit has so much.
    """
    scale = scale_for(order, bound, part.size)
    if not alone:
        return NormBound(order, bound, scale)
    total, _, squared = setting.limits.row_norms
    largest = (total if order == 1 else squared) if known else bound
    own = largest * part.size**order
    if order == 2 and setting.neighbours == "change-one" and part.low < 0 < part.high:
        own = (
            largest * (part.low**2 + part.high**2) // 2
        )  # as long as two that change were by limits
    return NormBound(order, min(own, known or own), scale, alone=True)
