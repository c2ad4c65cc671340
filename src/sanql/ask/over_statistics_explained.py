"""What an answer over statistics would cost, and how exact its statistics would be; nothing is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sanql.account import epsilon_upper
from sanql.ask.empty_lists import check_not_empty
from sanql.ask.explanation import all_statements, expected_of, hidden_groups
from sanql.ask.measure import recorded
from sanql.ask.over_statistics import certificate_of_statistics, plan_statistics, stages_read
from sanql.ask.price import check_least_price
from sanql.ask.rehearse import is_rehearsed
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.compile import compile_plan
from sanql.errors import BudgetExceeded
from sanql.plan import Plan, StagedPlan
from sanql.profile import Profile
from sanql.question import AggregateRef, OverStatistics
from sanql.results import Expected, Explanation, LevelExplained


def explain_over_statistics(
    session: Session, request: Request, query: OverStatistics
) -> Explanation:
    """Return price, noise and guarantee of an answer that is computed from several statistics."""
    plan, analyst = plan_statistics(session, request, query), request.analyst
    cached = recorded(session, analyst, plan, fresh=request.options.fresh) is not None
    cached = cached or is_rehearsed(session, analyst, plan)
    if not cached:
        for _, question in plan.questions:
            check_not_empty(session, request, question.plan)
        check_least_price(session.policy, plan.charge)
    certificate = certificate_of_statistics(session, request, plan)
    reading = stages_read(query, plan)
    sent = tuple(
        compile_plan(level, session.description, 0, reading(number, None))
        for number, level in enumerate(plan.levels)
    )
    levels = tuple(
        LevelExplained(
            f"measurement {number + 1}",
            epsilon_upper(level.charge.events, plan.charge.delta),
            tuple(hidden_groups(level)),
            sent[number],
        )
        for number, level in enumerate(plan.levels)
    )
    notes = certificate.assumptions[-3:] if len(plan.stages) > 1 else certificate.assumptions[-2:]
    return Explanation(
        charge=plan.charge,
        remaining=session.balances(analyst),
        fits=cached or _fits(session, analyst, plan),
        cached=cached,
        confidence=request.options.confidence,
        expected=tuple(_expected(plan, request, session.profiles.now())),
        hidden=levels[0].hidden if len(levels) == 1 else (),
        certificate=certificate,
        statement=all_statements(sent),
        notes=(*request.display.in_words(), *certificate.rows_left_out, *notes),
        levels=levels if len(levels) > 1 else (),
        after=session.ledger.balances_after(analyst, plan.charge),
    )


def _expected(
    plan: StagedPlan, request: Request, profiles: Mapping[str, Profile]
) -> Iterator[Expected]:
    """Yield how exact each statistic will be, by what it is: the SQL around them comes after."""
    confidence, guessed = request.options.confidence, request.options.rows_guessed
    for number, (_, question) in enumerate(plan.questions, 1):
        called = _texts(question.plan)
        which = f" in statistic {number}" if plan.answers > 1 else ""
        for each in expected_of(question.plan, confidence, request.display, profiles, guessed):
            yield replace(each, column=f"{called.get(each.column, each.column)}{which}")


def _texts(plan: Plan) -> dict[str, str]:
    """Return what columns are, where they are a statistic by itself."""
    return {
        output.name: plan.query.aggregates[output.expression.index].text
        for output in plan.query.outputs
        if isinstance(output.expression, AggregateRef)
    }


def _fits(session: Session, analyst: str, plan: StagedPlan) -> bool:
    try:
        session.ledger.would_fit(analyst, plan.charge)
    except BudgetExceeded:
        return False
    return True
