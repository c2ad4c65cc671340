"""What several grouping sets measure alike, so that their numbers can be made to add up."""

from __future__ import annotations

from sanql.measurements import Limits
from sanql.plan.grouping_sets import is_public
from sanql.plan.other_groups import adds_up
from sanql.plan.plan import Plan

Places = dict[int, int]  # level → the measurement there


def in_common(plan: Plan) -> list[Places]:
    """Return what several levels with public keys measure alike, and whose parts add up."""
    levels = [index for index, level in enumerate(plan.levels) if is_public(level.outline)]
    if any(_fewer_together(plan.levels[index].outline.limits) for index in levels):
        return []
    found: dict[object, Places] = {}
    for index in levels:
        level = plan.levels[index]
        for number, part in enumerate(level.measurements):
            if adds_up(part, level.outline.limits) and part.total is None:
                same = (part.kind, part.expression, part.grid, part.centre)
                found.setdefault(same, {})[index] = number
    noisy = (
        places
        for places in found.values()
        if len(places) > 1 and any(noise_variance(plan, level, places) for level in places)
    )
    return list(noisy)


def _fewer_together(limits: Limits) -> bool:
    """Return whether fewer rows of a unit count in one group than in several."""
    return limits.rows_per_group < limits.rows


def noise_variance(plan: Plan, level: int, places: Places) -> float:
    """Return the variance of a measurement's noise; of a level that has not measured it none."""
    return (
        plan.levels[level].noises[places[level]].standard_deviation ** 2 if level in places else 0.0
    )
