"""The cells of a batch → the answers to its questions, each with a certificate that claims the batch."""

from __future__ import annotations

from collections.abc import Sequence

from sanql.answer import (
    MeasuredContent,
    QuestionCells,
    cells_of_questions,
    noise_by_column,
    show_levels,
)
from sanql.ask.measure import RecordedCells
from sanql.ask.nothing_told import nothing_told
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.within_batches import WithinBatch
from sanql.certificate import certify
from sanql.plan import BatchPlan, PlannedQuestion, as_chosen
from sanql.results import Answer


def shown_of_batch(
    session: Session, requests: Sequence[Request], batch: BatchPlan, found: RecordedCells
) -> list[Answer]:
    """Return the answers to all questions of a batch."""
    cells = cells_of_questions(batch, found.cells)
    parts = zip(requests, batch.questions, cells, strict=True)
    return [_shown(session, *part, batch, found) for part in parts]


def shown_within_batch(session: Session, request: Request, within: WithinBatch) -> Answer:
    """Return the answer to a question that is read from an earlier batch."""
    batch, question, found = within.batch, within.question, within.cells
    (cells,) = cells_of_questions(batch, found.cells, [question])
    return _shown(session, request, question, cells, batch, found, within.number)


def _shown(
    session: Session,
    request: Request,
    question: PlannedQuestion,
    cells: QuestionCells,
    batch: BatchPlan,
    found: RecordedCells,
    number: int | None = None,
) -> Answer:
    """Return the answer to one question, from its part of the noisy cells of a batch."""
    plan = as_chosen(question.plan, cells.measured.levels)
    confidence, display = request.options.confidence, request.display
    shown = show_levels(plan, cells.measured, confidence, display, adjusted=cells.shown)
    kept = found.remaining
    words = (
        *display.in_words(),
        *_in_words(batch, question, number),
        *session.chosen_looking,
    )
    return Answer(
        content=MeasuredContent(shown.table, shown.intervals),
        confidence=confidence,
        noise=noise_by_column(plan),
        charge=batch.charge,
        remaining=session.balances(request.analyst) if kept is None else kept,
        certificate=certify(plan, words, session.profiles.now()),
        cached=found.cached,
        without_interval=shown.without,
        nothing_told=nothing_told(plan, shown),
        version=found.version,
        batch=batch.answers,
        read_from=number,
    )


def _in_words(batch: BatchPlan, question: PlannedQuestion, number: int | None) -> list[str]:
    """Return how a question is part of a batch, whose claim is that of all its answers together."""
    words = [
        f"measured as one of {batch.answers} questions of a batch: epsilon and delta are those of all"
        " its answers together, and of each of them"
    ]
    if number is not None:
        words = [
            f"read from what a batch of {batch.answers} questions has measured, number {number} of the "
            "analyst's history: epsilon and delta are those of all its answers together, this one "
            "included, which costs nothing more"
        ]
    if any(reads.cells > 1 for reads in question.reads):
        words.append(
            "numbers are added up from the noisy cells of a finer grouping that another question of the "
            "batch asks for: the same rows of a unit count in both"
        )
    if any(reads.level in numbers for _, numbers in batch.families for reads in question.reads):
        words.append(
            "rows, values and sums that add up over questions of the batch are fitted to each other "
            "(weighted least squares); an interval is that of the number as measured, widened to hold "
            "the number shown"
        )
    return words
