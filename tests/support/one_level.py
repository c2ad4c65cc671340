"""The plan, or the outline, of which a level is all there is."""

from __future__ import annotations

from sanql.plan.level import Level, LevelOutline
from sanql.plan.plan import Outline, Plan


def outline_of(level: LevelOutline) -> Outline:
    return Outline(level.query, (tuple(range(len(level.query.keys))),), (level,))


def plan_of(level: Level) -> Plan:
    return Plan(outline_of(level.outline), (level,), level.charge)
