"""The columns that an answer will have, known before it is asked for.

Nothing private is read for it and nothing is spent: the question decides. Of public tables, whose values
may have types of their own, the engine is asked for no rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sanql.answer import arrow_type, columns_with_intervals
from sanql.ask.answer_exactly import columns_exactly
from sanql.ask.find_bounds import look_up_bounds, read_question
from sanql.ask.over_statistics import names_with_intervals
from sanql.ask.price import price_question
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.teaching import teaching
from sanql.compile import compile_public_query
from sanql.plan import ParsedQuestion
from sanql.question import OverStatistics, PublicQuery

if TYPE_CHECKING:
    import pyarrow


def answer_columns(session: Session, request: Request) -> pyarrow.Schema:
    """Return names and types of an answer's columns; what cannot be asked is refused."""
    import pyarrow as pa

    session.check_open()
    with teaching(session, request.asked):
        if request.options.exact:
            return columns_exactly(session, request)
        query = read_question(session, request).question.query
        if isinstance(query, PublicQuery):
            return _public_columns(session, query)
        if isinstance(query, OverStatistics):
            fields = [
                (f.name, f.value.facts.type) for f in query.outer.shown if f.value is not None
            ]
            return pa.schema([(name, arrow_type(kind)) for name, kind in fields])
        return pa.schema([(o.name, arrow_type(o.expression.facts.type)) for o in query.outputs])


def interval_columns(session: Session, request: Request) -> frozenset[str]:
    """Return which columns of an answer will have intervals; its price must be known for that."""
    session.check_open()
    with teaching(session, request.asked):
        parsed: ParsedQuestion = read_question(session, request)
        if request.options.exact or isinstance(parsed.question.query, PublicQuery):
            return frozenset()
        if isinstance(parsed.question.query, OverStatistics):
            return names_with_intervals(session, request, parsed.question.query)
        plan = price_question(session, request, look_up_bounds(session, request, parsed))
        return columns_with_intervals(plan, request.options.confidence, request.display)


def _public_columns(session: Session, query: PublicQuery) -> pyarrow.Schema:
    import pyarrow as pa

    opened = session.data.open()
    no_rows = replace(query, limit=0)
    found = opened.workers.run(compile_public_query(no_rows, opened.source, session.tables))
    names = [field.name for field in query.shown]
    return pa.schema([(n, field.type) for n, field in zip(names, found.schema, strict=True)])
