"""Plans once it has been chosen privately how many distinct values of a unit count.

A plan has the noise of the most that may be chosen. What was chosen is part of the noisy cells, and noise
was in proportion to it: intervals, and what is said of an answer, are those of the plan as it is here.
What it cost does not depend on the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sanql.measurements import Measured, Measurement, NoisyCells, Sensitivity
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace
from sanql.plan.keys import OneGroup, PublicKeys
from sanql.plan.level import Level, LevelOutline
from sanql.plan.plan import Plan
from sanql.statistics import DistinctOf


def as_chosen(plan: Plan, cells: Sequence[NoisyCells]) -> Plan:
    """Return the plan with the noise that its cells have."""
    levels = tuple(_level(*pair) for pair in zip(plan.levels, cells, strict=True))
    if levels == plan.levels:
        return plan
    outlined = replace(plan.outline, levels=tuple(level.outline for level in levels))
    return replace(plan, outline=outlined, levels=levels)


def noise_for(level: Level, index: int, chosen: int) -> DiscreteLaplace | DiscreteGaussian:
    """Return the noise of a count of distinct values where so many values of a unit count."""
    share = Fraction(chosen, level.measurements[index].choices[-1])
    match level.noises[index]:
        case DiscreteLaplace(scale):
            return DiscreteLaplace(scale * share)
        case DiscreteGaussian(sigma2):
            return DiscreteGaussian(sigma2 * share**2)
        case other:
            raise AssertionError(f"{other!r} is no noise of a count of distinct values")


def groups_known(level: LevelOutline) -> int | None:
    """Return how many groups a level has, where that is known without the data."""
    match level.keys:
        case OneGroup():
            return 1
        case PublicKeys(count=count):
            return count
        case _:
            return None


def _level(level: Level, cells: NoisyCells) -> Level:
    for estimate in level.estimates:
        for place, measurement in enumerate(level.measurements):
            if measurement.kind is Measured.CHOICE and measurement.of in estimate.measurements:
                chosen = int(cells.measurement(place).max(initial=0))
                if chosen:  # else no group appears, and nothing is shown
                    level = _with_chosen(level, measurement.of, chosen)
    return level


def _with_chosen(level: Level, index: int, chosen: int) -> Level:
    measuring, priced = level.outline.measuring, level.priced
    if not measuring.measurements[index].choices:
        return level  # another statistic is made of the same count
    noises = list(priced.noises)
    noises[index] = noise_for(level, index, chosen)
    measurements = list(measuring.measurements)
    measurements[index] = _measured(measurements[index], chosen)
    estimates = tuple(
        estimate.with_chosen(chosen)
        if isinstance(estimate, DistinctOf) and estimate.measurement == index
        else estimate
        for estimate in measuring.estimates
    )
    measuring = replace(measuring, measurements=tuple(measurements), estimates=estimates)
    outlined = replace(level.outline, measuring=measuring)
    return replace(level, outline=outlined, priced=replace(priced, noises=tuple(noises)))


def _measured(measurement: Measurement, chosen: int) -> Measurement:
    """Return a count of distinct values as it was measured: of one unit, so many."""
    bounds, most = measurement.sensitivity, measurement.choices[-1]
    moved = Sensitivity(
        bounds.l1 // most * chosen,
        bounds.linf // most * chosen,
        bounds.l2_squared // most**2 * chosen**2,
    )
    return replace(measurement, sensitivity=moved, values_per_unit=chosen, choices=())
