"""What an answer would cost and how exact it would be: nothing is read and nothing is spent."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sanql.account import Balance, Charge
from sanql.answer import check_plain
from sanql.ask.answer_exactly import explain_exactly
from sanql.ask.before_bounds import WIDTHS, before_bounds
from sanql.ask.bounded_question import BoundedQuestion, whole_charge
from sanql.ask.empty_lists import check_not_empty
from sanql.ask.explanation import explanation_of, explanation_of_public
from sanql.ask.find_bounds import look_up_bounds, read_question
from sanql.ask.measure import recorded
from sanql.ask.over_statistics import refuse_missing_bounds
from sanql.ask.over_statistics_explained import explain_over_statistics
from sanql.ask.price import check_least_price, is_at_least_price, price_question
from sanql.ask.rehearse import is_rehearsed
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.teaching import teaching
from sanql.ask.within_batches import within_batch
from sanql.certificate import told_to_attacker
from sanql.compile import compile_plan, compile_public_query
from sanql.errors import BudgetExceeded
from sanql.plan import Plan
from sanql.question import OverStatistics, PublicQuery
from sanql.results import ExactExplanation, Explanation


def explain_request(session: Session, request: Request) -> Explanation | ExactExplanation:
    """Return the explanation of a noisy or exact answer; a refusal names a question that would pass."""
    session.check_open()
    with teaching(session, request.asked, request.options.epsilon):
        if request.options.exact:
            return explain_exactly(session, request, partial(explain_noisy, session))
        return explain_noisy(session, request)


def explain_noisy(session: Session, request: Request) -> Explanation:
    """Return price, noise and guarantee of an answer; what rests on bounds not yet found is left out."""
    parsed = read_question(session, request)
    if isinstance(parsed.question.query, PublicQuery):
        return _explain_publicly(session, request, parsed.question.query)
    if isinstance(parsed.question.query, OverStatistics):
        refuse_missing_bounds(parsed)
        return explain_over_statistics(session, request, parsed.question.query)
    question = look_up_bounds(session, request, parsed, width=WIDTHS[0])
    explanation = _explain(session, request, question)
    if not question.missing_bounds:
        return explanation
    wider = _explain(session, request, look_up_bounds(session, request, parsed, width=WIDTHS[1]))
    search = compile_plan(question.missing_bounds[0].plan.levels[0], session.description, secret=0)
    return before_bounds(explanation, wider, search)


def plan_request(session: Session, request: Request) -> Plan:
    """Return the plan that a request would be measured by; bounds that are not on record are guessed."""
    parsed = read_question(session, request)
    return price_question(session, request, look_up_bounds(session, request, parsed))


def _explain_publicly(session: Session, request: Request, query: PublicQuery) -> Explanation:
    check_plain(request.display)
    sent = compile_public_query(query, session.description, session.tables)
    remaining = session.balances(request.analyst)
    return explanation_of_public(
        query, sent, request.options.confidence, remaining, session.policy.neighbours
    )


def _explain(session: Session, request: Request, question: BoundedQuestion) -> Explanation:
    plan, analyst = price_question(session, request, question), request.analyst
    whole = whole_charge(question, plan)
    cached = recorded(session, analyst, plan, fresh=request.options.fresh) is not None
    cached = cached or is_rehearsed(session, analyst, plan)
    within = None if cached else within_batch(session, request, question, plan)
    if within is not None:
        plan, whole, cached = within.plan, within.plan.charge, True
    if not cached:
        check_not_empty(session, request, plan)
        check_least_price(session.policy, whole, question.epsilon_of_found_bounds)
    after = session.ledger.balances_after(analyst, whole)
    explained = explanation_of(
        plan,
        tuple(compile_plan(level, session.description, secret=0) for level in plan.levels),
        request.options.confidence,
        session.balances(analyst),
        cached=cached,
        fits=cached or _fits(session, analyst, whole),
        display=request.display,
        question=question,
        after=after,
        raised=is_at_least_price(session.policy, request, plan),
        profiles=session.profiles.now(),
        rows_guessed=request.options.rows_guessed,
        chosen=session.chosen_looking,
    )
    return replace(explained, attackers=_told_to_attackers(session, analyst, whole, after))


def _told_to_attackers(
    session: Session, analyst: str, charge: Charge, after: tuple[Balance, ...] | None
) -> tuple[str, ...]:
    """Return what the attackers are told whom the policy states budgets as."""
    policy = session.policy
    found = []
    for balance in session.balances(analyst) if after is None else after:
        place = balance.kind if balance.kind == "dataset" else f"{balance.kind} {balance.account}"
        if place in policy.attackers:
            told = told_to_attacker(
                policy.attackers[place], charge, balance.spent_upper, policy.neighbours
            )
            found.append(f"{balance.named}: {told}")
    return tuple(found)


def _fits(session: Session, analyst: str, charge: Charge) -> bool:
    try:
        session.ledger.would_fit(analyst, charge)
    except BudgetExceeded:
        return False
    return True
