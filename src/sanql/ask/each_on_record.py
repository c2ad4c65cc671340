"""A batch of which every question is on record, asked alone or in other batches: free, as they are there.

A question counts as on record where it would be free if it were asked alone within the batch's epsilon
and delta, or where an earlier batch has it at least as exact as this one would. If any question is not,
the batch is measured anew as a whole: it has one price, which is what its epsilon says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sanql.ask.batch import BatchRequest, PlannedBatch
from sanql.ask.measure import RecordedCells, recorded
from sanql.ask.price import price_question
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.shown_answer import Certifying, show_recorded
from sanql.ask.shown_of_batch import shown_within_batch
from sanql.ask.within_batches import WithinBatch, within_batch
from sanql.plan import Plan
from sanql.results import Answer


@dataclass(frozen=True)
class OnRecord:
    """A question that has an answer on record: by itself, or within a batch."""

    request: Request
    found: Certifying | WithinBatch
    cells: RecordedCells

    @property
    def plan(self) -> Plan:
        """The question as it was measured."""
        return self.found.plan

    @property
    def in_words(self) -> str:
        """Where the answer comes from."""
        if isinstance(self.found, WithinBatch):
            return f"on record, as part of the batch that is number {self.found.number} of your history"
        return "on record, as it was asked by itself"

    def answer(self, session: Session) -> Answer:
        """Return the answer, as it was and would be again if the question were asked alone."""
        if isinstance(self.found, WithinBatch):
            return shown_within_batch(session, self.request, self.found)
        return show_recorded(session, self.request, self.found, self.cells)


def each_on_record(
    session: Session, batch: BatchRequest, planned: PlannedBatch
) -> tuple[OnRecord, ...] | None:
    """Return what is on record of every question of a batch; None where one of them is not."""
    if batch.price.fresh or session.ledger.scratch:
        return None
    found = []
    for place in range(len(planned.places)):
        one = _on_record(session, batch, planned, place)
        if one is None:
            return None
        found.append(one)
    return tuple(found)


def _on_record(
    session: Session, batch: BatchRequest, planned: PlannedBatch, place: int
) -> OnRecord | None:
    number, plan = planned.places[place], planned.plan
    assert plan is not None  # noqa: S101  (there is a place in it)
    request, question = batch.requests[number], planned.asked[number]
    epsilon, delta = plan.within.epsilon, batch.price.delta
    options = replace(request.options, epsilon=epsilon, delta=delta)
    request = replace(request, options=options)
    alone = price_question(session, request, question)
    cells = recorded(session, batch.analyst, alone)
    if cells is not None:
        certifying = Certifying(
            alone, request, question, session.profiles.now(), session.chosen_looking
        )
        return OnRecord(request, certifying, cells)
    within = within_batch(session, request, question, plan.questions[place].plan)
    return None if within is None else OnRecord(request, within, within.cells)
