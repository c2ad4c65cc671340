"""Exact answers: parse, plan, certify, reserve (durably), read the cells once, put them on record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from sanql.ask.data import OpenVersion
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.time_steps import time_in_steps
from sanql.compile import compile_exact_release
from sanql.engines import Lease
from sanql.errors import Refused
from sanql.exact import (
    ExactPlan,
    Released,
    cells_too_small,
    certificate_of,
    certified_claim,
    claim_of,
    differences_from_sql,
    exact_answer,
    exact_columns,
    plan_exact,
    recorded_cells,
    release_cells,
)
from sanql.kernel import Statement
from sanql.options import AnswerOptions
from sanql.parse import parse
from sanql.results import ExactAnswer, ExactExplanation, Explanation

if TYPE_CHECKING:
    import pyarrow

EPSILON_COMPARED = Fraction(1, 10)
"""At which a noisy answer is described where the owner has declared nothing to compare with."""

ExplainNoisy = Callable[[Request], Explanation]


def answer_exactly(session: Session, request: Request, explain_noisy: ExplainNoisy) -> ExactAnswer:
    """Return the exact answer; rows are read only for the first question about a release."""
    with _noise_instead(session, request, explain_noisy):
        plan = _plan(session, request)
        exact, ledger, analyst = plan.exact, session.ledger, request.analyst
        released = recorded_cells(exact, *session.data.known_as(), analyst, ledger)
        if released is None:
            opened = session.data.open()
            sent = compile_exact_release(exact, session.tables[exact.table], opened.source)
            version = opened.version.number, opened.version.formerly
            asked = replace(request.said, version=opened.version.number, idempotency=None)
            # a server is ready before anything is on record
            with time_in_steps(), opened.workers.lease() as lease:
                run = partial(_run, session, opened, lease, sent)
                released = release_cells(exact, *version, analyst, ledger, run, asked)
        return _shown(session, analyst, plan, released)


def columns_exactly(session: Session, request: Request) -> pyarrow.Schema:
    """Return names and types of the exact answer's columns; no row is read."""
    plan = _plan(session, request)
    return exact_columns(plan, session.tables[plan.exact.table])


def recorded_exactly(session: Session, request: Request) -> ExactAnswer | None:
    """Return the exact answer whose cells are on record, or None; no row is read."""
    plan = _plan(session, request)
    known_as = session.data.known_as()
    released = recorded_cells(plan.exact, *known_as, request.analyst, session.ledger)
    return None if released is None else _shown(session, request.analyst, plan, released)


def _shown(session: Session, analyst: str, plan: ExactPlan, released: Released) -> ExactAnswer:
    ledger, table = session.ledger, session.tables[plan.exact.table]
    as_of = ledger.exact.version_of(released.entry)
    balances = session.balances(analyst)
    certificate = certificate_of(
        released.entry.claim,
        ledger.exact.entries(),
        differences_from_sql(plan),
        session.policy.exact_together,
    )
    return exact_answer(plan, table, released, certificate, balances, as_of)


def explain_exactly(
    session: Session, request: Request, explain_noisy: ExplainNoisy
) -> ExactExplanation:
    """Return what the exact answer would guarantee; what would be refused is refused."""
    with _noise_instead(session, request, explain_noisy):
        plan = _plan(session, request)
        exact, ledger = plan.exact, session.ledger
        known_as = session.data.known_as()
        entry = ledger.exact.find(request.analyst, claim_of(exact, *known_as))
        if entry is not None and entry.refusal is not None:
            raise cells_too_small(exact)
        claim = entry.claim if entry is not None else certified_claim(exact, *known_as)
        ledger.exact.check_together(claim)
        return ExactExplanation(
            declaration=exact.name,
            cells=exact.cells.count,
            certificate=certificate_of(
                claim,
                ledger.exact.entries(),
                differences_from_sql(plan),
                session.policy.exact_together,
            ),
            cached=entry is not None and entry.answer is not None,
            statement=compile_exact_release(
                exact, session.tables[exact.table], session.description
            ),
            noise=_with_noise(request, exact.accept.epsilon or EPSILON_COMPARED, explain_noisy),
        )


def _plan(session: Session, request: Request) -> ExactPlan:
    """Return the plan of a question; everything the policy forbids is refused here."""
    return plan_exact(parse(request.asked, session.tables).private, session.policy.exact)


def _run(session: Session, opened: OpenVersion, lease: Lease, sent: Statement) -> pyarrow.Table:
    cells = lease.run(sent)
    session.data.check(opened)
    return cells


@contextmanager
def _noise_instead(
    session: Session, request: Request, explain_noisy: ExplainNoisy
) -> Iterator[None]:
    """Add to a refusal of an exact answer what a noisy one would be like."""
    try:
        yield
    except Refused as refused:
        if not refused.code.startswith("exact_"):
            raise
        accepted = [exact.accept.epsilon for exact in session.policy.exact.values()]
        epsilon = max(accepted, default=EPSILON_COMPARED) or EPSILON_COMPARED
        noise = _with_noise(request, epsilon, explain_noisy)
        raise (refused.adding(noise) if noise else refused) from None


def _with_noise(request: Request, epsilon: Fraction, explain_noisy: ExplainNoisy) -> str:
    """Return what the same question would be like with noise, or nothing where it is refused."""
    noisy = replace(request, options=AnswerOptions(epsilon=epsilon))
    try:
        explained = explain_noisy(noisy)
    except Refused:
        return ""
    of_noise = explained.certificate.of_noise
    widths = [f"{column.column} {column.in_words(of_noise)}" for column in explained.expected]
    what = f" gives {', '.join(widths)}" if widths else " answers it"
    return f"with noise, epsilon {float(epsilon):g}{what}, whatever the adversary knows"
