"""Several questions asked together: one plan, one charge, one record, an answer to each.

What fails in one of them refuses all, before anything is charged. The charge is durable before any row is
read, and the same batch asked again is free, as is one whose questions are all on record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sanql.account import AskedQuestion
from sanql.answer import LevelCells
from sanql.ask.answer import Publicly, answer_publicly
from sanql.ask.batch import (
    BatchRequest,
    PlannedBatch,
    naming_question,
    plan_of_batch,
    plans_of_batch,
)
from sanql.ask.each_on_record import each_on_record
from sanql.ask.empty_lists import check_not_empty
from sanql.ask.measure import RecordedCells, measure, recorded
from sanql.ask.once import once
from sanql.ask.own_history import naming_what_changed, not_as_it_was
from sanql.ask.price import check_least_price
from sanql.ask.rehearse import rehearse
from sanql.ask.session import Session
from sanql.ask.shown_of_batch import shown_of_batch
from sanql.interrupts import noting_charges_on_interrupt
from sanql.results import Answer

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
        content, name = session.ledger.questions.answer(asked), session.name_of_data(note.version)
        for planned in plans_of_batch(session, batch):
            plan = planned.plan
            if plan is not None and plan.digest(name) == asked.question:
                break
        else:
            raise not_as_it_was(asked.number)
        if content is None:
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
        each = each_on_record(session, batch, planned)
        if each is not None:
            answers = [one.answer(session) for one in each]
            return dict(zip(planned.places, answers, strict=True))
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
    answers = shown_of_batch(
        session, [batch.requests[number] for number in planned.places], planned.plan, found
    )
    return dict(zip(planned.places, answers, strict=True))
