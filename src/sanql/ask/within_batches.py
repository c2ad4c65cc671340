"""Questions asked alone that a batch on record has measured: answered from its cells, for free.

A batch is taken where it was asked by the same analyst about the same version of the data, measures all
of the question (plan/part_of_batch.py), and is at least as exact as the question would be alone
(as_exact.py): within the same epsilon a batch seldom is, as each of its questions had a part. What is
kept of it beside the ledger only says where to look: it is planned anew, and its cells are those that
the ledger has under the digest of that plan, if any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sanql.account import Asked, AskedQuestion
from sanql.ask.as_exact import is_as_exact
from sanql.ask.batch import plan_of_batch, read_batch
from sanql.ask.bounded_question import BoundedQuestion
from sanql.ask.measure import RecordedCells, recorded
from sanql.ask.price import outline_question, suited_to_known
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.typed_values import NotReadable, from_plain
from sanql.errors import Refused
from sanql.plan import (
    BatchPlan,
    KnownUnits,
    Outline,
    Plan,
    PlannedQuestion,
    read_from_batch,
)
from sanql.policy import Budget
from sanql.question_texts import split_questions

TEXT_MAX = 50_000  # letters: longer ones would take long to plan


@dataclass(frozen=True)
class WithinBatch:
    """A question within a batch on record: the batch, its number in the history, and its cells."""

    batch: BatchPlan
    number: int
    question: PlannedQuestion
    cells: RecordedCells

    @property
    def plan(self) -> Plan:
        """The question as it was measured there."""
        return self.question.plan


def within_batch(
    session: Session, request: Request, question: BoundedQuestion, alone: Plan
) -> WithinBatch | None:
    """Return a question as an earlier batch of the same analyst has measured it, if any has.

    `alone` is what it would be measured as otherwise.
    """
    options = request.options
    needless = options.fresh or options.min_privacy_units_per_group is not None
    if needless or question.searches or session.ledger.scratch or alone.outline.free:
        return None
    for asked in session.earlier_batches.of(request.analyst):
        batch = _planned(session, request.analyst, asked)
        if batch is None:
            continue
        read = (
            read_from_batch(batch, _outlined(session, request, question, batch, known))
            for known in session.profiles.known_units()
        )
        found = next((each for each in read if each is not None), None)
        if found is None or not is_as_exact(found.plan, alone, request.options.confidence):
            continue
        cells = recorded(session, request.analyst, batch)
        if cells is not None:
            return WithinBatch(batch, asked.number, found, cells)
    return None


def _outlined(
    session: Session,
    request: Request,
    question: BoundedQuestion,
    batch: BatchPlan,
    known: Mapping[str, KnownUnits],
) -> Outline:
    """Return what a question measures, with the limits that it would have in a batch."""
    outlined = outline_question(session, request, question)
    each = Budget(batch.within.epsilon / batch.answers, batch.within.delta)
    return suited_to_known(session, request, question, outlined, known, each)


def _planned(session: Session, analyst: str, asked: AskedQuestion) -> BatchPlan | None:
    """Return what a batch on record would be planned as now, if it is about the data as they are."""
    note, (version, _) = asked.note, session.data.known_as()
    if note is None or note.asked is None or note.version != version:
        return None
    said, within = note.asked, note.within
    if within is None or len(said.text) > TEXT_MAX:
        return None
    about = analyst, asked.number, version, session.ledger.published.revision()
    return session.earlier_batches.planned(
        about, lambda: _planned_anew(session, analyst, said, within)
    )


def _planned_anew(session: Session, analyst: str, said: Asked, within: Budget) -> BatchPlan | None:
    try:
        typed = {name: from_plain(value) for name, value in said.options.items()}
        texts, given = split_questions(said.text), from_plain(said.parameters)
        parameters = [None] * len(texts) if given is None else given
        if len(parameters) != len(texts):
            return None
        batch = read_batch([*zip(texts, parameters, strict=True)], analyst, typed)
        price = replace(batch.price, epsilon=within.epsilon, delta=within.delta, fresh=False)
        return plan_of_batch(session, replace(batch, price=price)).plan
    except (Refused, NotReadable):
        return None
