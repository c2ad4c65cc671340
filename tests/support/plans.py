"""From the text of a question to its plan, as San would ask it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sanql.account import Balance
from sanql.answer import AS_THEY_ARE
from sanql.ask import plan_request, read_request
from sanql.ask.bounded_question import BoundedQuestion
from sanql.ask.explanation import explanation_of
from sanql.kernel import Statement
from sanql.parse import Question, QuestionText
from sanql.plan import Plan
from sanql.policy import Budget
from sanql.results import Explanation
from sanql.san import San


def plan_of(san: San, sql: str, **options: Any) -> Plan:
    """Return the priced plan of a question; nothing is read and nothing is spent."""
    return plan_request(san.session, read_request(QuestionText(sql), san.analyst, options))


def explained(plan: Plan, confidence: Fraction) -> Explanation:
    """Return the explanation of a plan that is not on record and fits an account with epsilon 1."""
    left = Budget(Fraction(1), Fraction(0))
    return explanation_of(
        plan,
        (Statement("SELECT 1", ()),),
        confidence,
        (Balance("h", "dataset", left, left, left, 0),),
        cached=False,
        fits=True,
        display=AS_THEY_ARE,
        question=BoundedQuestion(Question(plan.query), plan.outline.tables),
        after=None,
        raised=False,
        profiles={},
        rows_guessed=None,
    )
