"""Several questions asked together: one plan, one charge, one record, an answer to each.

What fails in one of them refuses all, before anything is charged. The charge is durable before any row is
read, and the same batch asked again is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sanql.account import AskedQuestion
from sanql.answer import (
    LevelCells,
    MeasuredContent,
    QuestionCells,
    cells_of_questions,
    noise_by_column,
    show_levels,
)
from sanql.ask.answer import Publicly, answer_publicly
from sanql.ask.batch import BatchRequest, PlannedBatch, naming_question, plan_of_batch
from sanql.ask.empty_lists import check_not_empty
from sanql.ask.measure import RecordedCells, measure, recorded
from sanql.ask.once import once
from sanql.ask.own_history import naming_what_changed, not_as_it_was
from sanql.ask.price import check_least_price
from sanql.ask.rehearse import rehearse
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.certificate import certify
from sanql.interrupts import noting_charges_on_interrupt
from sanql.plan import BatchPlan, Plan, as_chosen
from sanql.results import Answer, Certificate

T = TypeVar("T")


def ask_batch(session: Session, batch: BatchRequest) -> tuple[Answer, ...]:
    """Return an answer to every question of a batch: plan, reserve, run, add noise, spend, show."""
    return ask_batch_with(session, batch, answer_publicly)


def ask_batch_with(
    session: Session, batch: BatchRequest, publicly: Publicly[T]
) -> tuple[Answer | T, ...]:
    """Return an answer to every question of a batch, and of rows of public tables what `publicly` makes.

    Those are free, and come first: what they refuse is refused before anything is charged.
    """
    session.check_open()
    with noting_charges_on_interrupt():
        asking = partial(_ask, session, batch, publicly)
        return once(session, batch, asking, partial(_rebuilt, session, batch, publicly))


def _ask(session: Session, batch: BatchRequest, publicly: Publicly[T]) -> tuple[Answer | T, ...]:
    planned = plan_of_batch(session, batch)
    public = _answered_publicly(session, batch, planned, publicly)
    private = _answer_privately(session, batch, planned)
    return _in_order(planned, public, private)


def _rebuilt(
    session: Session, batch: BatchRequest, publicly: Publicly[T], asked: AskedQuestion
) -> tuple[Answer | T, ...]:
    """Return the answers to a batch that has been charged, from the cells on record."""
    with naming_what_changed(asked.number):
        note = asked.note
        if note is None or note.version is None or note.within is None:
            raise not_as_it_was(asked.number)
        epsilon, delta = note.within.epsilon, note.within.delta
        price = replace(batch.price, epsilon=epsilon, delta=delta)
        batch = replace(batch, price=price)
        planned, content = plan_of_batch(session, batch), session.ledger.questions.answer(asked)
        plan, name = planned.plan, session.name_of_data(note.version)
        if plan is None or content is None or plan.digest(name) != asked.question:
            raise not_as_it_was(asked.number)
        found = RecordedCells(LevelCells.from_bytes(content, plan), note.version, cached=True)
        private = _all_shown(session, batch, planned, found)
    return _in_order(planned, _answered_publicly(session, batch, planned, publicly), private)


def _in_order(
    planned: PlannedBatch, public: Mapping[int, T], private: Mapping[int, Answer]
) -> tuple[Answer | T, ...]:
    count = len(planned.public) + len(planned.places)
    return tuple(public[number] if number in public else private[number] for number in range(count))


def _answered_publicly(
    session: Session, batch: BatchRequest, planned: PlannedBatch, publicly: Publicly[T]
) -> dict[int, T]:
    """Return rows of public tables, which are free."""
    answers = {}
    for number, query in planned.public.items():
        with naming_question(number):
            answers[number] = publicly(session, batch.requests[number], query)
    return answers


def _answer_privately(
    session: Session, batch: BatchRequest, planned: PlannedBatch
) -> dict[int, Answer]:
    plan = planned.plan
    if plan is None:
        return {}
    fresh = batch.price.fresh
    if session.ledger.scratch:
        check_least_price(session.policy, plan.charge)
        raise rehearse(session, batch.analyst, [plan], batch.said, fresh=fresh)
    found = recorded(session, batch.analyst, plan, fresh=fresh)
    if found is None:
        for number, question in zip(planned.places, plan.questions, strict=True):
            with naming_question(number):
                check_not_empty(session, batch.requests[number], question.plan)
        check_least_price(session.policy, plan.charge)
        found = measure(session, batch.analyst, plan, batch.said, fresh=fresh)
    return _all_shown(session, batch, planned, found)


def _all_shown(
    session: Session, batch: BatchRequest, planned: PlannedBatch, found: RecordedCells
) -> dict[int, Answer]:
    assert planned.plan is not None  # noqa: S101  (there are cells)
    cells = cells_of_questions(planned.plan, found.cells)
    return {
        number: _shown(session, batch, planned, place, found, cells[place])
        for place, number in enumerate(planned.places)
    }


def _shown(
    session: Session,
    batch: BatchRequest,
    planned: PlannedBatch,
    place: int,
    found: RecordedCells,
    cells: QuestionCells,
) -> Answer:
    """Return the answer to one question of a batch, from its part of the noisy cells."""
    assert planned.plan is not None  # noqa: S101  (there are cells)
    request = batch.requests[planned.places[place]]
    plan = as_chosen(planned.plan.questions[place].plan, cells.measured.levels)
    confidence, display = request.options.confidence, request.display
    shown = show_levels(plan, cells.measured, confidence, display, adjusted=cells.shown)
    kept = found.remaining
    return Answer(
        content=MeasuredContent(shown.table, shown.intervals),
        confidence=confidence,
        noise=noise_by_column(plan),
        charge=planned.plan.charge,
        remaining=session.balances(batch.analyst) if kept is None else kept,
        certificate=_certificate(session, planned.plan, place, request, plan),
        cached=found.cached,
        without_interval=shown.without,
        version=found.version,
        batch=planned.plan.answers,
    )


def _certificate(
    session: Session, plan: BatchPlan, place: int, request: Request, measured: Plan
) -> Certificate:
    """Return the certificate of one answer of a batch: its claim is that of all of them together.

    `measured` is the question's plan with what was chosen privately.
    """
    question = plan.questions[place]
    words = [
        *request.display.in_words(),
        f"measured as one of {plan.answers} questions of a batch: epsilon and delta are those of all its "
        "answers together, and of each of them",
    ]
    if any(reads.cells > 1 for reads in question.reads):
        words.append(
            "numbers are added up from the noisy cells of a finer grouping that another question of the "
            "batch asks for: the same rows of a unit count in both"
        )
    if any(reads.level in numbers for _, numbers in plan.families for reads in question.reads):
        words.append(
            "rows, values and sums that add up over questions of the batch are fitted to each other "
            "(weighted least squares); an interval is that of the number as measured, widened to hold "
            "the number shown"
        )
    return certify(measured, tuple(words), session.profiles.now())
