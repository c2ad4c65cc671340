"""Several questions asked together for one epsilon, read and planned as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import chain

from sanql.account import Asked, Door, IdempotencyKey
from sanql.answer import check_display, check_plain
from sanql.ask.bounded_question import BoundedQuestion
from sanql.ask.earlier_batches import BATCH
from sanql.ask.find_bounds import read_question
from sanql.ask.measure import recorded
from sanql.ask.price import outline_question, suited_to_known
from sanql.ask.request import Request, check_key, read_request
from sanql.ask.session import Session
from sanql.ask.teaching import teaching
from sanql.ask.typed_values import to_plain
from sanql.computed_once import computed_once
from sanql.errors import Refused
from sanql.options import AnswerOptions, read_options
from sanql.parse import Parameters, QuestionText
from sanql.plan import (
    BatchPlan,
    KnownUnits,
    Outline,
    check_selection_delta,
    default_delta,
    plan_batch,
)
from sanql.policy import Budget
from sanql.question import PublicQuery
from sanql.question_texts import joined_questions

QUESTIONS_MAX = 200
_OF_ALL = ("epsilon", "delta", "fresh")  # what is said once, of all questions

AskedText = str | tuple[str, Parameters | None]
"""A question's text, with its parameters where it has any."""


@dataclass(frozen=True)
class BatchRequest:
    """Several questions of one analyst, and what is asked of all of them; `price` has their epsilon."""

    requests: tuple[Request, ...]
    analyst: str
    price: AnswerOptions
    typed: Mapping[str, object] = field(default_factory=dict)
    door: Door = "python"
    idempotency_key: str | None = None

    @computed_once
    def said(self) -> Asked:
        """What was asked, as the ledger keeps it."""
        asked = [request.said for request in self.requests]
        parameters = [each.parameters for each in asked]
        options = {name: to_plain(value) for name, value in self.typed.items()}
        key, texts = self.idempotency_key, [each.text for each in asked]
        return Asked(
            joined_questions(each.text for each in asked),
            parameters if any(given is not None for given in parameters) else None,
            options,
            "; ".join(each.normalised for each in asked),
            self.door,
            purpose=f"{BATCH} {len(asked)} questions",
            idempotency=None
            if key is None
            else IdempotencyKey.of(self.analyst, key, [BATCH, texts, parameters, options]),
        )


@dataclass(frozen=True)
class PlannedBatch:
    """A batch that has been read: the questions over private tables with their plan, the others as rows.

    `places` are those of the planned questions among all, and `asked` the questions as they were read.
    """

    public: Mapping[int, PublicQuery]
    places: tuple[int, ...]
    plan: BatchPlan | None
    asked: Mapping[int, BoundedQuestion] = field(default_factory=dict)


def read_batch(
    questions: Sequence[AskedText],
    analyst: str,
    passed: Mapping[str, object] | None = None,
    *,
    door: Door = "python",
    idempotency_key: str | None = None,
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
    check_key(idempotency_key)
    return BatchRequest(tuple(requests), analyst, price, typed, door, idempotency_key)


def _check_options(options: AnswerOptions) -> None:
    """Refuse what a question of a batch cannot have of its own."""
    for name in ("epsilon", "delta", "accuracy", "min_privacy_units_per_group", "stage_weights"):
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


def plan_of_batch(session: Session, batch: BatchRequest) -> PlannedBatch:
    """Return the questions of a batch planned together; what can be refused is refused here.

    Where it is on record, it is planned as it was then.
    """
    plans = plans_of_batch(session, batch)
    first = next(plans)
    if batch.price.fresh or first.plan is None:
        return first
    for planned in chain([first], plans):
        if planned.plan and recorded(session, batch.analyst, planned.plan) is not None:
            return planned
    return first


def plans_of_batch(session: Session, batch: BatchRequest) -> Iterator[PlannedBatch]:
    """Yield the questions of a batch planned together by what is known now, and by what was before."""
    asked: dict[int, BoundedQuestion] = {}
    outlines: dict[int, Outline] = {}
    public: dict[int, PublicQuery] = {}
    for number, request in enumerate(batch.requests):
        with naming_question(number), teaching(session, request.asked):
            parsed = read_question(session, request)
            if isinstance(parsed.question.query, PublicQuery):
                check_plain(request.display)
                public[number] = parsed.question.query
                continue
            if parsed.bounds_needed:
                raise _bounds_needed(".".join(parsed.bounds_needed[0]))
            asked[number] = BoundedQuestion(parsed.question, parsed.tables)
            outlines[number] = outline_question(session, request, asked[number])
    if not outlines:
        yield PlannedBatch(public, (), None)
        return
    free = all(outlined.free for outlined in outlines.values())
    epsilon = Fraction(1) if free else _epsilon(batch)
    delta = _delta(session, batch, outlines, epsilon)
    now, *earlier = session.profiles.known_units()
    planned = partial(_planned, session, batch, public, asked, outlines, Budget(epsilon, delta))
    yield planned(now)
    for known in earlier:
        try:
            before = planned(known)
        except Refused:  # as it was planned then it may be too dear for an account by now
            continue
        yield before


def _planned(
    session: Session,
    batch: BatchRequest,
    public: Mapping[int, PublicQuery],
    asked: Mapping[int, BoundedQuestion],
    outlines: Mapping[int, Outline],
    within: Budget,
    known: Mapping[str, KnownUnits],
) -> PlannedBatch:
    """Return the questions of a batch planned together at a price, by what is known of units."""
    each_price = Budget(within.epsilon / len(outlines), within.delta)
    suited = [
        suited_to_known(session, batch.requests[number], asked[number], each, known, each_price)
        for number, each in outlines.items()
    ]
    plan = plan_batch(suited, within.epsilon, within.delta)
    for number, planned in zip(outlines, plan.questions, strict=True):
        with naming_question(number):
            check_display(planned.plan, batch.requests[number].display)
    return PlannedBatch(public, tuple(outlines), plan, asked)


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
