"""Refusals of a session's questions, each with the nearest question that would be answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial

from sanql.ask.session import Session
from sanql.compile import compile_plan, compile_public_query
from sanql.errors import Refused
from sanql.parse import Question, QuestionText
from sanql.plan import outline, price, with_guessed_bounds
from sanql.question import OverStatistics, PublicQuery
from sanql.teach import teach


@contextmanager
def teaching(
    session: Session, asked: QuestionText, epsilon: Fraction | None = None
) -> Iterator[None]:
    """Add to a refusal the nearest question that would be answered; where price decides, at this one."""
    try:
        yield
    except Refused as refused:
        decides = epsilon is not None and refused.code == "noise_too_large"
        accept = partial(_accept, session, epsilon if decides and epsilon else Fraction(1))
        raise teach(refused, asked, with_guessed_bounds(session.tables), accept) from None


def _accept(session: Session, epsilon: Fraction, question: Question) -> None:
    """Plan a question as if it had been asked; refuse what would be refused."""
    if isinstance(question.query, PublicQuery):
        compile_public_query(question.query, session.description, session.tables)
        return
    if isinstance(question.query, OverStatistics):
        tables = {**session.tables, **question.query.tables}
        for statistic in question.query.statistics:
            outline(statistic.query, tables, session.policy.neighbours)
        return
    outlined = outline(question.private, session.tables, session.policy.neighbours)
    for level in price(outlined, epsilon, Fraction(1, 10**9)).levels:
        compile_plan(level, session.description, secret=0)
