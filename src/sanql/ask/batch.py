"""Several questions asked together for one epsilon: one plan, one charge, one record, an answer to each.

What fails in one of them refuses all, before anything is charged. The charge is durable before any row is
read, and the same batch asked again is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

from sanql.account import Asked, Door
from sanql.answer import (
    MeasuredContent,
    QuestionCells,
    cells_of_questions,
    check_display,
    noise_by_column,
    show_levels,
)
from sanql.ask.answer import answer_publicly
from sanql.ask.bounded_question import BoundedQuestion
from sanql.ask.find_bounds import read_question
from sanql.ask.measure import RecordedCells, measure, recorded
from sanql.ask.own_history import BATCH
from sanql.ask.price import check_least_price, known_norms, outline_question
from sanql.ask.rehearse import rehearse
from sanql.ask.request import Request, read_request
from sanql.ask.session import Session
from sanql.ask.teaching import teaching
from sanql.ask.typed_values import to_plain
from sanql.certificate import certify
from sanql.errors import Refused
from sanql.interrupts import noting_charges_on_interrupt
from sanql.options import AnswerOptions, read_options
from sanql.parse import Parameters, QuestionText
from sanql.plan import (
    BatchPlan,
    Outline,
    check_selection_delta,
    default_delta,
    plan_batch,
    with_known_norms,
)
from sanql.question import PublicQuery
from sanql.results import Answer, Certificate

QUESTIONS_MAX = 200
_OF_ALL = ("epsilon", "delta", "fresh")  # what is said once, of all questions

AskedText = str | tuple[str, Parameters]
"""A question's text, with its parameters where it has any."""


@dataclass(frozen=True)
class BatchRequest:
    """Several questions of one analyst, and what is asked of all of them; `price` has their epsilon."""

    requests: tuple[Request, ...]
    analyst: str
    price: AnswerOptions
    typed: Mapping[str, object] = field(default_factory=dict)
    door: Door = "python"

    @property
    def said(self) -> Asked:
        """What was asked, as the ledger keeps it."""
        asked = [request.said for request in self.requests]
        parameters = [each.parameters for each in asked]
        return Asked(
            ";\n".join(each.text.strip().rstrip(";") for each in asked),
            parameters if any(given is not None for given in parameters) else None,
            {name: to_plain(value) for name, value in self.typed.items()},
            "; ".join(each.normalised for each in asked),
            self.door,
            purpose=f"{BATCH} {len(asked)} questions",
        )


@dataclass(frozen=True)
class PlannedBatch:
    """A batch that has been read: the questions over private tables with their plan, the others as rows.

    `places` are those of the planned questions among all.
    """

    public: Mapping[int, PublicQuery]
    places: tuple[int, ...]
    plan: BatchPlan | None


def read_batch(
    questions: Sequence[AskedText],
    analyst: str,
    passed: Mapping[str, object] | None = None,
    *,
    door: Door = "python",
) -> BatchRequest:
    """Return a batch, its options read: epsilon, delta and fresh of all, the others of each question."""
    if isinstance(questions, str) or not 1 <= len(questions) <= QUESTIONS_MAX:
        raise Refused(
            "batch_size",
            f"a batch is a list of 1 to {QUESTIONS_MAX} questions",
            "pass a list of texts; ask one question by itself with query",
        )
    typed = {name: value for name, value in (passed or {}).items() if value is not None}
    price = read_options({}, {name: typed[name] for name in _OF_ALL if name in typed})
    each = {name: value for name, value in typed.items() if name not in _OF_ALL}
    requests = []
    for number, question in enumerate(questions):
        with naming_question(number):
            text = question if isinstance(question, str) else question[0]
            parameters = None if isinstance(question, str) else question[1]
            request = read_request(QuestionText(text, parameters), analyst, each, door=door)
            _check_options(request.options)
            requests.append(request)
    return BatchRequest(tuple(requests), analyst, price, typed, door)


def _check_options(options: AnswerOptions) -> None:
    """Refuse what a question of a batch cannot have of its own."""
    for name in ("epsilon", "delta", "accuracy", "min_privacy_units_per_group"):
        if getattr(options, name) is not None:
            raise _not_in_a_batch(name)
    if options.exact:
        raise _not_in_a_batch("exact")


def _not_in_a_batch(option: str) -> Refused:
    return Refused(
        "batch_option",
        f"{option} is asked for, and a batch has one epsilon and one delta for all its questions",
        f"leave {option} out of the question and pass epsilon with the batch; or ask the question alone",
    )


@contextmanager
def naming_question(number: int) -> Iterator[None]:
    """Say in a refusal which question of a batch it is about, counted from 1."""
    try:
        yield
    except Refused as refused:
        raise refused.about(f"question {number + 1}") from None


def ask_batch(session: Session, batch: BatchRequest) -> tuple[Answer, ...]:
    """Return an answer to every question of a batch: plan, reserve, run, add noise, spend, show."""
    session.check_open()
    with noting_charges_on_interrupt():
        planned = plan_of_batch(session, batch)
        answers = _answer_privately(session, batch, planned)
        for number, query in planned.public.items():
            with naming_question(number):
                answers[number] = answer_publicly(session, batch.requests[number], query)
        return tuple(answers[number] for number in sorted(answers))


def plan_of_batch(session: Session, batch: BatchRequest) -> PlannedBatch:
    """Return the questions of a batch planned together; what can be refused is refused here."""
    outlines: dict[int, Outline] = {}
    public: dict[int, PublicQuery] = {}
    for number, request in enumerate(batch.requests):
        with naming_question(number), teaching(session, request.asked):
            parsed = read_question(session, request)
            if isinstance(parsed.question.query, PublicQuery):
                public[number] = parsed.question.query
                continue
            if parsed.bounds_needed:
                raise _bounds_needed(".".join(parsed.bounds_needed[0]))
            question = BoundedQuestion(parsed.question, parsed.tables)
            outlines[number] = outline_question(session, request, question)
    if not outlines:
        return PlannedBatch(public, (), None)
    free = all(outlined.free for outlined in outlines.values())
    epsilon = Fraction(1) if free else _epsilon(batch)
    delta, known = _delta(session, batch, outlines, epsilon), known_norms(session)
    plan = plan_batch(list(outlines.values()), epsilon, delta)
    if known and (batch.price.fresh or recorded(session, batch.analyst, plan) is None):
        outlines = {n: with_known_norms(each, known) for n, each in outlines.items()}
        plan = plan_batch(list(outlines.values()), epsilon, delta)
    for number, planned in zip(outlines, plan.questions, strict=True):
        with naming_question(number):
            check_display(planned.plan, batch.requests[number].display)
    return PlannedBatch(public, tuple(outlines), plan)


def _bounds_needed(column: str) -> Refused:
    return Refused(
        "batch_bounds",
        f"the bounds of {column} are not declared, and in a batch none are looked for",
        "state bounds in the question, such as GREATEST(0, LEAST(100, x)), or ask it by itself",
    )


def _epsilon(batch: BatchRequest) -> Fraction:
    if batch.price.epsilon is None:
        raise Refused(
            "epsilon_needed",
            "the batch does not say what it may cost",
            "pass epsilon=1, say: it is for all questions together",
        )
    return batch.price.epsilon


def _delta(
    session: Session, batch: BatchRequest, outlines: Mapping[int, Outline], epsilon: Fraction
) -> Fraction:
    """Return the delta that was asked for, or what suits the epsilon where a question selects keys."""
    if batch.price.delta is not None:
        return batch.price.delta
    selecting = [number for number, outlined in outlines.items() if outlined.selects_keys]
    if not selecting:
        return Fraction(0)
    if session.policy.delta_per_query is not None:
        return session.policy.delta_per_query
    budgets = session.budgets(batch.analyst)
    with naming_question(selecting[0]):
        check_selection_delta(budgets)
    return default_delta(epsilon, budgets, session.policy.accounting)


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
        check_least_price(session.policy, plan.charge)
        found = measure(session, batch.analyst, plan, batch.said, fresh=fresh)
    cells = cells_of_questions(plan, found.cells)
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
    plan, request = planned.plan.questions[place].plan, batch.requests[planned.places[place]]
    confidence, display = request.options.confidence, request.display
    shown = show_levels(plan, cells.measured, confidence, display, adjusted=cells.shown)
    kept = found.remaining
    return Answer(
        content=MeasuredContent(shown.table, shown.intervals),
        confidence=confidence,
        noise=noise_by_column(plan),
        charge=planned.plan.charge,
        remaining=session.balances(batch.analyst) if kept is None else kept,
        certificate=certificate_of(planned.plan, place, request),
        cached=found.cached,
        without_interval=shown.without,
        version=found.version,
        batch=planned.plan.answers,
    )


def certificate_of(plan: BatchPlan, place: int, request: Request) -> Certificate:
    """Return the certificate of one answer of a batch: its claim is that of all of them together."""
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
    return certify(question.plan, tuple(words))
