"""A question over noisy statistics: measured together for one price, and answered from what was measured.

The statistics are a batch (batch.py), or several where some read the answers of others: one plan, one
charge, one record. The SQL around them runs on their noisy answers (answer/outer.py); asked anew in
another form, it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING

from sanql.account import packed
from sanql.answer import (
    AS_THEY_ARE,
    Display,
    LevelCells,
    MeasuredContent,
    QuestionCells,
    Shown,
    cells_of_questions,
    check_display,
    check_outer,
    columns_with_intervals,
    outer_names_with_intervals,
    show_levels,
    show_outer,
)
from sanql.ask.bounded_question import BoundedQuestion
from sanql.ask.empty_lists import check_not_empty
from sanql.ask.measure import Reading, RecordedCells, measure, recorded
from sanql.ask.price import check_least_price, outline_question, stages_differ
from sanql.ask.rehearse import rehearse
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.time_steps import time_in_steps
from sanql.certificate import certify_together
from sanql.compile import (
    PUBLIC_ROWS_MAX,
    ReleasedAnswer,
    compile_public_query,
    public_reads,
)
from sanql.errors import Refused
from sanql.numbers import show_upper
from sanql.parse import Question
from sanql.plan import (
    Outline,
    ParsedQuestion,
    StagedPlan,
    as_chosen,
    check_selection_delta,
    default_delta,
    plan_stages,
)
from sanql.question import OverStatistics, tables_read
from sanql.results import Answer, Certificate

if TYPE_CHECKING:
    import pyarrow

    from sanql.measurements import NoisyCells


def answer_over_statistics(session: Session, request: Request, query: OverStatistics) -> Answer:
    """Plan, reserve (durably, before a row is read), measure stage by stage, spend, show."""
    plan = plan_statistics(session, request, query)
    fresh = request.options.fresh
    if session.ledger.scratch:
        check_least_price(session.policy, plan.charge)
        raise rehearse(session, request.analyst, [plan], request.said, fresh=fresh)
    found = recorded(session, request.analyst, plan, fresh=fresh)
    public, version = public_tables(session, query)  # what fails here is not charged
    if found is None:
        for _, question in plan.questions:
            check_not_empty(session, request, question.plan)
        check_least_price(session.policy, plan.charge)
        certify = partial(_certified, session, request, plan)
        reading = stages_read(query, plan)
        found = measure(
            session, request.analyst, plan, request.said, certify, fresh=fresh, reading=reading
        )
    if public and version != found.version:  # a version was opened meanwhile
        public, _ = public_tables(session, query)
    return show_over_statistics(session, request, query, plan, found, public)


def plan_statistics(
    session: Session,
    request: Request,
    query: OverStatistics,
    within: tuple[Fraction, Fraction] | None = None,
) -> StagedPlan:
    """Return the statistics of a question planned together; what can be refused is refused here."""
    _check_options(request)
    tables = {**session.tables, **query.tables}
    check_outer(query, session.tables)
    # what is shown of all is said once, and rounded as it is shown: a later stage reads them as they are
    outlines = [
        [
            outline_question(session, request, BoundedQuestion(Question(each.query), tables))
            for each in stage
        ]
        for stage in query.stages
    ]
    every = [each for stage in outlines for each in stage]
    free = all(each.free for each in every)
    epsilon = Fraction(1) if free else _epsilon(request)
    delta = _delta(session, request, every, epsilon)
    weights = _stage_weights(request, len(outlines))
    plan = plan_stages(query.stages, outlines, epsilon, delta, weights)
    for _, question in plan.questions:
        check_display(question.plan, request.display)
    return plan


def refuse_missing_bounds(parsed: ParsedQuestion) -> None:
    """Refuse a question over statistics whose bounds must be found first."""
    if parsed.bounds_needed:
        raise Refused(
            "batch_bounds",
            f"the bounds of {'.'.join(parsed.bounds_needed[0])} are not declared, and where several "
            "statistics are measured together none are looked for",
            "state bounds in the question, such as GREATEST(0, LEAST(100, x)), or ask its statistics "
            "one by one",
        )


def show_over_statistics(
    session: Session,
    request: Request,
    query: OverStatistics,
    plan: StagedPlan,
    found: RecordedCells,
    public: Mapping[str, pyarrow.Table],
) -> Answer:
    """Return the answer that noisy cells on record are."""
    confidence = request.options.confidence
    shown_at = _shown_at(plan, found.levels, request.display)
    seconds = session.policy.engine.deadline_seconds
    shown = show_outer(query, shown_at, public, session.tables, confidence, seconds)
    return Answer(
        content=MeasuredContent(shown.table, shown.intervals),
        confidence=confidence,
        noise={},
        charge=plan.charge,
        remaining=session.balances(request.analyst) if found.remaining is None else found.remaining,
        certificate=certificate_of_statistics(session, request, plan),
        cached=found.cached,
        without_interval=shown.without,
        version=found.version,
    )


def certificate_of_statistics(session: Session, request: Request, plan: StagedPlan) -> Certificate:
    """Return the one certificate of all statistics of a question."""
    several, stages = plan.answers, len(plan.stages)
    words = [*request.display.in_words(), *session.chosen_looking]
    words.append(
        f"computed from {several} noisy statistic{'s' if several > 1 else ''}, which the analyst might "
        "have asked for as they are: epsilon and delta are those of all together"
    )
    if stages > 1:
        words.append(
            f"measured in {stages} stages, at epsilon {_shares_in_words(plan)}, each of which reads the "
            "noisy answers of those before it as public numbers; limits, noise and price of all were "
            "fixed before the first"
        )
    words.append(
        "an interval holds for a number in a row that is shown; which rows are shown is computed from "
        "noisy numbers"
    )
    plans = [question.plan for _, question in plan.questions]
    return certify_together(plans, plan.charge, tuple(words), session.profiles.now())


def _shares_in_words(plan: StagedPlan) -> str:
    shares = [show_upper(stage.charge.epsilon) for stage in plan.stages]
    return f"{', '.join(shares[:-1])} and {shares[-1]}"


def names_with_intervals(
    session: Session, request: Request, query: OverStatistics
) -> frozenset[str]:
    """Return which columns of an answer will have intervals."""
    plan = plan_statistics(session, request, query)
    confidence = request.options.confidence
    own = {
        statistic.name: columns_with_intervals(question.plan, confidence, request.display)
        for statistic, question in plan.questions
    }
    return outer_names_with_intervals(query, own, session.tables)


def public_tables(
    session: Session, query: OverStatistics
) -> tuple[dict[str, pyarrow.Table], int | None]:
    """Return the public tables that a question over answers reads, and of which version they are."""
    reads = public_reads(query, session.tables)
    if not reads:
        return {}, None
    opened = session.data.open()
    found = {}
    for name, read in reads.items():
        sent = compile_public_query(read, opened.source, session.tables)
        with time_in_steps():
            rows = opened.workers.run(sent)
        if rows.num_rows > PUBLIC_ROWS_MAX:
            raise Refused(
                "query_too_complex",
                f"SQL around statistics reads {name}, which has more than {PUBLIC_ROWS_MAX:,} rows",
                "ask about that table in a question of its own, or join it inside a statistic",
            )
        found[name] = rows.rename_columns([field.name for field in read.shown])
    session.data.check(opened)
    return found, opened.version.number


def stages_read(query: OverStatistics, plan: StagedPlan) -> Reading:
    """Return what each level reads of earlier stages' answers, without rows until they are there."""
    names = {
        level: sorted(tables_read(plan.levels[level].query) & query.tables.keys())
        for level in range(len(plan.levels))
    }
    stage_of = {each.name: each.stage for each in query.statistics}

    def reading(level: int, cells: Sequence[NoisyCells] | None) -> Sequence[ReleasedAnswer]:
        if cells is None:
            return [ReleasedAnswer(query.tables[name]) for name in names[level]]
        found = []
        for name in names[level]:
            last = plan.firsts[stage_of[name] + 1]
            shown = _shown_at(plan, cells[:last], AS_THEY_ARE)(name, Fraction(1, 2))
            rows = zip(*(column.to_pylist() for column in shown.table.columns), strict=True)
            found.append(ReleasedAnswer(query.tables[name], tuple(rows)))
        return found

    return reading


def _certified(session: Session, request: Request, plan: StagedPlan) -> bytes:
    return packed(certificate_of_statistics(session, request, plan).to_dict())


def _shown_at(
    plan: StagedPlan, cells: Sequence[NoisyCells], display: Display
) -> Callable[[str, Fraction], Shown]:
    """Return what shows the answer to a statistic, of the stages whose cells are there."""

    @cache
    def of_stage(number: int) -> tuple[QuestionCells, ...]:
        own = tuple(cells[plan.firsts[number] : plan.firsts[number + 1]])
        return cells_of_questions(plan.stages[number], LevelCells(own))

    @cache
    def shown(name: str, confidence: Fraction) -> Shown:
        for number, own in enumerate(plan.statistics):
            for place, statistic in enumerate(own):
                if statistic.name == name:
                    read = of_stage(number)[place]
                    asked = plan.stages[number].questions[place].plan
                    chosen = as_chosen(asked, read.measured.levels)
                    return show_levels(
                        chosen, read.measured, confidence, display, adjusted=read.shown
                    )
        raise AssertionError(f"{name} is no statistic of the question")

    return shown


def _check_options(request: Request) -> None:
    """Refuse what questions over statistics cannot have."""
    for name in ("accuracy", "min_privacy_units_per_group", "other"):
        if getattr(request.options, name, None) is not None:
            raise Refused(
                "over_statistics_option",
                f"{name} is asked for, and the question computes with the answers to several statistics",
                f"leave {name} out, or ask for its statistics one by one",
            )


def _stage_weights(request: Request, stages: int) -> tuple[Fraction, ...] | None:
    """Return how stages share epsilon; refuse weights of others than there are."""
    weights = request.options.stage_weights
    if weights is not None and len(weights) != stages:
        raise stages_differ(len(weights), stages)
    return weights


def _epsilon(request: Request) -> Fraction:
    if request.options.epsilon is None:
        raise Refused(
            "epsilon_needed",
            "the question does not say what it may cost",
            'pass --epsilon 0.1, epsilon=0.1 or "epsilon": 0.1, say: it is for all its statistics '
            "together",
        )
    return request.options.epsilon


def _delta(
    session: Session, request: Request, outlines: Sequence[Outline], epsilon: Fraction
) -> Fraction:
    """Return the delta that was asked for, or what suits the epsilon where a statistic selects keys."""
    if request.options.delta is not None:
        return request.options.delta
    if not any(each.selects_keys for each in outlines):
        return Fraction(0)
    if session.policy.delta_per_query is not None:
        return session.policy.delta_per_query
    budgets = session.budgets(request.analyst)
    check_selection_delta(budgets)
    return default_delta(epsilon, budgets, session.policy.accounting)
