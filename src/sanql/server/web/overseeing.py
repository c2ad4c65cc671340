"""The pages of owners and officers: the account as it is on record, and what its numbers mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.audit.ledger import RecordChoice, list_records, verify_account
from sanql.errors import Refused
from sanql.pictures import belief_chart, error_chart
from sanql.server.http.exchange import query_values, queued, switched, whole
from sanql.server.web.places import EVERYBODY, OVERSEERS
from sanql.server.web.rendering import page
from sanql.server.web.visits import Visit, for_roles
from sanql.theory.closed_forms import GuaranteedPair
from sanql.theory.errors import TheoryError
from sanql.theory.meaning import Meaning, meaning_of

_LISTED = 100
_LISTED_MAX = 1_000


@for_roles(*OVERSEERS)
async def ledger_page(http: HttpRequest, visit: Visit) -> Response:
    """List who asked what, when and at what price, checked; verify every balance where that is asked."""
    values = query_values(http, "analyst", "last", "verify")
    analyst = values.get("analyst", "").strip() or None
    last = whole(values, "last", _LISTED, _LISTED_MAX)
    choice = RecordChoice(questions=True, analyst=analyst, last=last)

    def listed() -> list[dict[str, Any]]:
        return list_records(visit.dataset.policy.ledger_place, choice)[::-1]

    def verified() -> dict[str, Any]:
        return verify_account(visit.dataset.policy).to_dict()

    records = await queued(http, visit.dataset, visit.person, listed)
    found = None
    if switched(values, "verify"):
        found = await queued(http, visit.dataset, visit.person, verified)
    shown: dict[str, Any] = {
        "records": records,
        "verified": found,
        "analyst": analyst or "",
        "last": last,
    }
    return page(visit, "ledger.html", **shown)


@dataclass(frozen=True)
class Supposed:
    """What is supposed of a guarantee and of somebody who attacks it, as it was typed."""

    epsilon: str = "1"
    delta: str = "0"
    prior: str = "0.1"


@for_roles(*EVERYBODY)
async def meaning_page(http: HttpRequest, visit: Visit) -> Response:
    """Show what an attacker can learn under an epsilon: beliefs before and after, and the best test."""
    typed = {
        name: text.strip() for name, text in query_values(http, "epsilon", "delta", "prior").items()
    }
    supposed = Supposed(**{name: text for name, text in typed.items() if text})
    pair, meaning = _meaning(supposed)
    charts = [belief_chart(pair, meaning), error_chart(pair)]
    return page(visit, "meaning.html", supposed=supposed, meaning=meaning, charts=charts)


def _meaning(supposed: Supposed) -> tuple[GuaranteedPair, Meaning]:
    """Return the worst pair that a guarantee allows, with its meaning but for ten deltas."""
    epsilon = _number("epsilon", supposed.epsilon, 20)
    delta, prior = _number("delta", supposed.delta, 1), _number("prior", supposed.prior, 1)
    try:
        pair = GuaranteedPair(epsilon, delta)
        return pair, meaning_of(pair, prior, failure=min(1.0, 10 * delta))
    except TheoryError:
        raise _no_number("delta", supposed.delta, 1) from None


def _number(name: str, typed: str, most: float) -> float:
    try:
        value = float(typed)
    except ValueError:
        raise _no_number(name, typed, most) from None
    if not typed.isascii() or not 0 <= value <= most:
        raise _no_number(name, typed, most)
    return value


def _no_number(name: str, typed: str, most: float) -> Refused:
    return Refused(
        "number_invalid",
        f"{name} = {typed[:40]!r} is no number from 0 to {most:g}",
        f"write one, for example {most / 20:g}",
    )
