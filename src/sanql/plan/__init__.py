"""Question → bounded, priced plan; touches no data."""

from sanql.plan.accuracy import Accuracy, least_epsilon
from sanql.plan.levels import (
    LevelsOutline,
    LevelsPlan,
    Outlined,
    Planned,
    outline_question,
    plan_question,
)
from sanql.plan.plan import Outline, Plan, outline, plan

__all__ = [
    "Accuracy",
    "LevelsOutline",
    "LevelsPlan",
    "Outline",
    "Outlined",
    "Plan",
    "Planned",
    "least_epsilon",
    "outline",
    "outline_question",
    "plan",
    "plan_question",
]
