"""Question → bounded, priced plan; touches no data."""

from sanql.plan.accuracy import Accuracy, least_epsilon
from sanql.plan.plan import Outline, Plan, outline, plan

__all__ = ["Accuracy", "Outline", "Plan", "least_epsilon", "outline", "plan"]
