"""The plan, or the outline, of which a level is all there is."""

from __future__ import annotations

from sanql.plan.level import Level, LevelOutline
from sanql.plan.plan import Outline, Plan
from sanql.policy import Budget


def outline_of(level: LevelOutline) -> Outline:
    return Outline(level.query, (tuple(range(len(level.query.keys))),), (level,))


def plan_of(level: Level) -> Plan:
    within = Budget(level.charge.epsilon, level.charge.delta)
    return Plan(outline_of(level.outline), (level,), level.charge, within)
