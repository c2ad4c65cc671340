"""Session + Request → Answer: the orchestrators, each of which reads like the sentence it is."""

from sanql.ask.answer import ask
from sanql.ask.explain import explain_request, plan_request
from sanql.ask.limit_suggestions import EPSILON_TYPICAL, suggest_limits
from sanql.ask.request import Request, read_request
from sanql.ask.session import Session, closed

__all__ = [
    "EPSILON_TYPICAL",
    "Request",
    "Session",
    "ask",
    "closed",
    "explain_request",
    "plan_request",
    "read_request",
    "suggest_limits",
]
