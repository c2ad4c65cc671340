"""A private answer: the whole pipeline on one screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from sanql.account import Charge, packed, total_charge
from sanql.answer import MeasuredContent, check_plain, noise_by_column, show_levels
from sanql.ask.answer_exactly import answer_exactly
from sanql.ask.bounded_question import BoundedQuestion, whole_charge, with_bounds_certified
from sanql.ask.explain import explain_noisy
from sanql.ask.find_bounds import find_bounds, look_up_bounds, read_question
from sanql.ask.measure import RecordedCells, measure, recorded
from sanql.ask.price import check_least_price, is_at_least_price, price_question
from sanql.ask.rehearse import rehearse
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.teaching import teaching
from sanql.certificate import certify, certify_public
from sanql.compile import compile_public_query
from sanql.errors import Refused
from sanql.interrupts import noting_charges_on_interrupt
from sanql.mechanisms import ExactSampler, SymmetricNoise
from sanql.plan import ParsedQuestion, Plan
from sanql.question import PublicQuery
from sanql.results import Answer, Certificate

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
    with noting_charges_on_interrupt(), teaching(session, request.asked):
        if request.options.exact:
            return answer_exactly(session, request, partial(explain_noisy, session))
        return answer(session, request, publicly)


def answer(session: Session, request: Request, publicly: Publicly[T]) -> Answer | T:
    """Parse, find bounds, price, reserve (durably, before a row is read), run, add noise, spend, show."""
    parsed = read_question(session, request)
    if isinstance(parsed.question.query, PublicQuery):
        return publicly(session, request, parsed.question.query)
    if session.ledger.scratch:
        raise _rehearsal(session, request, parsed)
    question = find_bounds(session, request, parsed)
    plan = price_question(session, request, question)
    certifying = Certifying(plan, request, question)
    cells = recorded(session, request.analyst, plan, fresh=request.options.fresh)
    if cells is None:
        if not question.paid:
            check_least_price(session.policy, plan.charge, question.epsilon_of_found_bounds)
        fresh = request.options.fresh
        cells = measure(session, request.analyst, plan, request.said, certifying.make, fresh=fresh)
    return show(session, request, certifying, cells)


def answer_publicly(session: Session, request: Request, query: PublicQuery) -> Answer:
    """Return rows of public tables as they are: nothing is charged, and nothing needs noise."""
    check_plain(request.display)
    opened = session.data.open()
    sent = compile_public_query(query, opened.source, session.tables)
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


@dataclass(frozen=True)
class Certifying:
    """What an answer needs besides its cells, computed while the engine is busy."""

    plan: Plan
    request: Request
    question: BoundedQuestion

    @cached_property
    def certificate(self) -> Certificate:
        certificate = certify(self.plan, self.request.display.in_words())
        return with_bounds_certified(certificate, self.plan, self.question)

    def make(self) -> bytes:
        """Compute all of it; wheels and quantiles are remembered, draws made here thrown away.

        Returns the certificate as the ledger keeps it: it depends on the plan alone.
        """
        for noise in set(self.plan.noises):
            ExactSampler().sample(noise, 1)
            if isinstance(noise, SymmetricNoise):
                noise.half_width(self.request.options.confidence)
        return packed(self.certificate.to_dict())


def show(
    session: Session, request: Request, certifying: Certifying, cells: RecordedCells
) -> Answer:
    """Return the answer that noisy cells on record are, in the form that was asked for."""
    plan = certifying.plan
    shown = show_levels(plan, cells.cells, request.options.confidence, request.display)
    return Answer(
        content=MeasuredContent(shown.table, shown.intervals),
        confidence=request.options.confidence,
        noise=noise_by_column(plan),
        charge=total_charge([*certifying.question.paid, plan.charge]),
        remaining=session.balances(request.analyst),
        certificate=certifying.certificate,
        cached=cells.cached,
        without_interval=shown.without,
        version=cells.version,
        raised=is_at_least_price(session.policy, request, plan),
    )
