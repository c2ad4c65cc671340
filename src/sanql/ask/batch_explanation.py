"""What a batch would cost and how exact its answers would be: nothing is read and nothing is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sanql.account import Charge
from sanql.answer import Display
from sanql.ask.batch import BatchRequest, PlannedBatch, plan_of_batch
from sanql.ask.each_on_record import OnRecord, each_on_record
from sanql.ask.explanation import expected_of
from sanql.ask.measure import recorded
from sanql.ask.price import check_least_price
from sanql.ask.rehearse import is_rehearsed
from sanql.ask.session import Session
from sanql.certificate import is_of_noise_alone
from sanql.errors import BudgetExceeded
from sanql.plan import BatchPlan, Plan
from sanql.profile import Profile
from sanql.results import BatchExplanation, BatchQuestion, Expected


def explain_batch(session: Session, batch: BatchRequest) -> BatchExplanation:
    """Return price and exactness of a batch, beside those of its questions one by one."""
    session.check_open()
    planned = plan_of_batch(session, batch)
    plan, analyst = planned.plan, batch.analyst
    charge = Charge((), Fraction(0), Fraction(0)) if plan is None else plan.charge
    each: tuple[OnRecord, ...] | None = None
    cached = plan is not None and (
        recorded(session, analyst, plan, fresh=batch.price.fresh) is not None
        or is_rehearsed(session, analyst, plan)
    )
    if plan is not None and not cached:
        each = each_on_record(session, batch, planned)
        cached = each is not None
    if not cached:
        check_least_price(session.policy, charge)
    return BatchExplanation(
        charge=charge,
        remaining=session.balances(analyst),
        fits=cached or _fits(session, analyst, charge),
        cached=cached,
        confidence=batch.requests[0].options.confidence,
        questions=tuple(
            _question(batch, planned, each, n, session.profiles.now())
            for n in range(len(batch.requests))
        ),
        gain=1.0 if plan is None or not plan.error else math.sqrt(plan.error_apart / plan.error),
    )


def _question(
    batch: BatchRequest,
    planned: PlannedBatch,
    each: tuple[OnRecord, ...] | None,
    number: int,
    profiles: Mapping[str, Profile],
) -> BatchQuestion:
    request, plan = batch.requests[number], planned.plan
    if plan is None or number in planned.public:
        return BatchQuestion(request.asked.sql, "rows of public tables, free", (), ())
    place = planned.places.index(number)
    confidence, display = request.options.confidence, request.display
    guessed = request.options.rows_guessed
    return BatchQuestion(
        request.asked.sql,
        _in_words(planned, plan, place) if each is None else each[place].in_words,
        _expected(
            plan.questions[place].plan if each is None else each[place].plan,
            confidence,
            display,
            profiles,
            guessed,
        ),
        expected_of(plan.apart[place], confidence, display, profiles, guessed),
    )


def _expected(
    plan: Plan,
    confidence: Fraction,
    display: Display,
    profiles: Mapping[str, Profile],
    rows_guessed: int | None,
) -> tuple[Expected, ...]:
    """Return how exact each column will be, of noise alone where limits may cut."""
    expected = expected_of(plan, confidence, display, profiles, rows_guessed)
    if not is_of_noise_alone(plan):
        return expected
    return tuple(replace(each, note=f" of the noise alone{each.note}") for each in expected)


def _in_words(planned: PlannedBatch, plan: BatchPlan, place: int) -> str:
    """Return how a question is measured, naming others by their numbers from 1 on."""
    own = plan.questions[place].reads
    levels = {reads.level for reads in own}
    others = [
        str(planned.places[other] + 1)
        for other, question in enumerate(plan.questions)
        if other != place and any(reads.level in levels for reads in question.reads)
    ]
    if not others:
        return "measured by itself"
    listed = f"question{'s' if len(others) > 1 else ''} {', '.join(others)}"
    summed = any(reads.cells > 1 for reads in own)
    return f"added up from what is measured with {listed}" if summed else f"measured with {listed}"


def _fits(session: Session, analyst: str, charge: Charge) -> bool:
    try:
        session.ledger.would_fit(analyst, charge)
    except BudgetExceeded:
        return False
    return True
