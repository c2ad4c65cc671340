"""Rehearsals: a scratch account is charged as it would be, and never answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanql.account import Asked, rehearsed
from sanql.ask.session import Session
from sanql.errors import Refused
from sanql.plan import Measurable

SCRATCH_VERSION = 1  # a scratch account knows of no versions


def rehearse(
    session: Session,
    analyst: str,
    plans: Sequence[Measurable],
    asked: Asked,
    *,
    fresh: bool = False,
) -> Refused:
    """Charge a scratch account for questions; return the refusal to answer them."""
    name = session.name_of_data(SCRATCH_VERSION)
    charges = {plan.digest(name): plan.charge for plan in plans}
    asked = replace(asked, idempotency=None)  # nothing is answered that could be had again
    session.ledger.rehearse(analyst, charges, asked, afresh=list(charges)[-1] if fresh else "")
    return rehearsed(list(charges.values()))


def is_rehearsed(session: Session, analyst: str, plan: Measurable) -> bool:
    """Return whether a scratch account has been charged for a question, so that it is free now."""
    if not session.ledger.scratch:
        return False
    return session.ledger.is_rehearsed(analyst, plan.digest(session.name_of_data(SCRATCH_VERSION)))
