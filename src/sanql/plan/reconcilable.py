"""Measurements that several grouping sets share, so that their totals can be made to add up."""

from __future__ import annotations

from sanql.measurements import ContributionLimits
from sanql.plan.grouping_sets import is_public
from sanql.plan.other_groups import adds_up
from sanql.plan.plan import Plan

Places = dict[int, int]  # level → the measurement there


def shared_measurements(plan: Plan) -> list[Places]:
    """Return the measurements that several levels with public keys share and that can be added up."""
    levels = [index for index, level in enumerate(plan.levels) if is_public(level.outline)]
    if any(_fewer_together(plan.levels[index].outline.limits) for index in levels):
        return []
    shared: dict[object, Places] = {}
    for index in levels:
        level = plan.levels[index]
        for number, measurement in enumerate(level.measurements):
            if adds_up(measurement, level.outline.limits) and measurement.total is None:
                same = (
                    measurement.kind,
                    measurement.expression,
                    measurement.value_grid,
                    measurement.centre * measurement.grid,
                )
                shared.setdefault(same, {})[index] = number
    noisy = (
        places
        for places in shared.values()
        if len(places) > 1 and any(noise_variance(plan, level, places) for level in places)
    )
    return list(noisy)


def _fewer_together(limits: ContributionLimits) -> bool:
    """Return whether fewer rows of a unit count in one group than in several."""
    return limits.rows_per_group < limits.rows


def noise_variance(plan: Plan, level: int, places: Places) -> float:
    """Return the variance of a measurement's noise at a level; 0 where the level has not measured it.

    It is in steps of the values, which levels share, whatever their cells count.
    """
    if level not in places:
        return 0.0
    chosen = plan.levels[level]
    steps = chosen.measurements[places[level]].steps_of_value
    return (chosen.noises[places[level]].standard_deviation / steps) ** 2
