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
def teaching(session: Session, asked: QuestionText) -> Iterator[None]:
    """Add to a refusal the nearest question that would be answered."""
    try:
        yield
    except Refused as refused:
        accept = partial(_accept, session)
        raise teach(refused, asked, with_guessed_bounds(session.tables), accept) from None


def _accept(session: Session, question: Question) -> None:
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
    for level in price(outlined, Fraction(1), Fraction(1, 10**9)).levels:
        compile_plan(level, session.description, secret=0)
