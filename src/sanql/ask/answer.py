"""A private answer: the whole pipeline on one screen."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sanql.account import Charge
from sanql.answer import MeasuredContent, check_plain
from sanql.ask.answer_exactly import answer_exactly
from sanql.ask.bounded_question import whole_charge
from sanql.ask.empty_lists import check_not_empty
from sanql.ask.explain import explain_noisy
from sanql.ask.find_bounds import find_bounds, look_up_bounds, read_question
from sanql.ask.measure import RecordedCells, measure, recorded
from sanql.ask.once import once
from sanql.ask.over_statistics import answer_over_statistics, refuse_missing_bounds
from sanql.ask.own_history import rebuilt_as
from sanql.ask.price import check_least_price, price_question
from sanql.ask.rehearse import rehearse
from sanql.ask.repeats import RepeatedAnswer
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.shown_answer import Certifying, show_recorded
from sanql.ask.shown_of_batch import shown_within_batch
from sanql.ask.teaching import teaching
from sanql.ask.time_steps import time_in_steps
from sanql.ask.within_batches import within_batch
from sanql.certificate import certify_public
from sanql.compile import compile_public_query
from sanql.errors import Refused
from sanql.interrupts import noting_charges_on_interrupt
from sanql.plan import Measurable, ParsedQuestion, Plan
from sanql.question import OverStatistics, PublicQuery
from sanql.results import Answer

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")

Publicly = Callable[[Session, Request, PublicQuery], T]
"""What answers a question that reads only public tables."""


def ask(session: Session, request: Request) -> Answer:
    """Return the answer to a request, noisy or exact; a refusal names a question that would pass."""
    return ask_with(session, request, answer_publicly)


def ask_with(session: Session, request: Request, publicly: Publicly[T]) -> Answer | T:
    """Return the answer to a request, and of rows of public tables what somebody else makes of them."""
    session.check_open()
    teaching_it = teaching(session, request.asked, request.options.epsilon)
    with noting_charges_on_interrupt(), teaching_it:
        asking = partial(_ask, session, request, publicly)
        return once(session, request, asking, partial(rebuilt_as, session, request))


def repeated_at_hand(
    session: Session, request: Request, form: str, write: Callable[[Answer], bytes]
) -> bytes | None:
    """Return at once, in a form, the answer to what was repeated lately; None where `ask` must look."""
    session.check_open()
    plain = request.idempotency_key is None and not session.ledger.scratch
    return session.repeats.at_hand(request, form, write) if plain else None


def _ask(session: Session, request: Request, publicly: Publicly[T]) -> Answer | T:
    if request.options.exact:
        return answer_exactly(session, request, partial(explain_noisy, session))
    return answer(session, request, publicly)


def answer(session: Session, request: Request, publicly: Publicly[T]) -> Answer | T:
    """Parse, find bounds, price, reserve (durably, before a row is read), run, add noise, spend, show."""
    repeated, published = session.repeats.find(request), session.ledger.published.revision()
    if repeated is not None:
        return repeated
    parsed = read_question(session, request)
    if isinstance(parsed.question.query, PublicQuery):
        return publicly(session, request, parsed.question.query)
    if isinstance(parsed.question.query, OverStatistics):
        refuse_missing_bounds(parsed)
        return answer_over_statistics(session, request, parsed.question.query)
    if session.ledger.scratch:
        raise _rehearsal(session, request, parsed)
    question = find_bounds(session, request, parsed)
    plan = price_question(session, request, question)
    certifying = Certifying(plan, request, question, session.profiles.now(), session.chosen_looking)
    cells = recorded(session, request.analyst, plan, fresh=request.options.fresh)
    within = None if cells is not None else within_batch(session, request, question, plan)
    if within is not None:
        shown = shown_within_batch(session, request, within)
        _keep(session, request, within.batch, within.cells, shown, published)
        return shown
    if cells is None:
        check_not_empty(session, request, plan)
        if not question.paid:
            check_least_price(session.policy, plan.charge, question.epsilon_of_found_bounds)
        fresh = request.options.fresh
        cells = measure(session, request.analyst, plan, request.said, certifying.make, fresh=fresh)
    shown = show_recorded(session, request, certifying, cells)
    if not question.searches:
        _keep(session, request, plan, cells, shown, published)
    return shown


def _keep(
    session: Session,
    request: Request,
    plan: Measurable,
    cells: RecordedCells,
    shown: Answer,
    published: int,
) -> None:
    """Remember an answer that was on record, so that the next repeat is looked up."""
    if cells.content is not None:
        digest = plan.digest(session.name_of_data(cells.version))
        kept = RepeatedAnswer(digest, cells.version, cells.content, shown, published)
        session.repeats.keep(request, kept)


def answer_publicly(session: Session, request: Request, query: PublicQuery) -> Answer:
    """Return rows of public tables as they are: nothing is charged, and nothing needs noise."""
    check_plain(request.display)
    opened = session.data.open()
    sent = compile_public_query(query, opened.source, session.tables)
    with time_in_steps():  # it may wait for others
        rows = opened.workers.run(sent)
    session.data.check(opened)
    table = rows.rename_columns([field.name for field in query.shown])
    return public_answer(session, request, query, table, opened.version.number)


def public_answer(
    session: Session, request: Request, query: PublicQuery, table: pyarrow.Table, version: int
) -> Answer:
    """Return rows of public tables as an answer."""
    return Answer(
        content=MeasuredContent(table, {}),
        confidence=request.options.confidence,
        noise={},
        charge=Charge((), Fraction(0), Fraction(0)),
        remaining=session.balances(request.analyst),
        certificate=certify_public(query, session.policy.neighbours),
        cached=False,
        version=version,
    )


def _rehearsal(session: Session, request: Request, parsed: ParsedQuestion) -> Refused:
    """Charge a scratch account as the answer would be charged; return the refusal to give it."""
    question = look_up_bounds(session, request, parsed)
    plan = price_question(session, request, question)
    check_least_price(
        session.policy, whole_charge(question, plan), question.epsilon_of_found_bounds
    )
    plans: list[Plan] = [*(search.plan for search in question.missing_bounds), plan]
    return rehearse(session, request.analyst, plans, request.said, fresh=request.options.fresh)
