"""The pages that read: one's history and its answers, the schema, what is left. None of them spends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from markupsafe import Markup
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.ask import Session, history, read_again, schema_of
from sanql.profile import Profile
from sanql.results import HistoryEntry, Schema
from sanql.server.http.exchange import query_values, queued, whole
from sanql.server.http.forms import answer_bytes
from sanql.server.http.reading import question_number, shown_balances
from sanql.server.web.downloads import download_reply, form_named
from sanql.server.web.places import EVERYBODY
from sanql.server.web.profile_charts import profile_charts
from sanql.server.web.rendering import page
from sanql.server.web.shown_answers import ShownAnswer, shown_answer
from sanql.server.web.visits import Visit, for_roles

T = TypeVar("T")
_LISTED = 100


@for_roles("analyst")
async def history_page(http: HttpRequest, visit: Visit) -> Response:
    """List what the visitor has asked and paid for, newest first, a page at a time."""
    before = whole(query_values(http, "before"), "before", 0, 10**15)

    def listed() -> tuple[list[HistoryEntry], int]:
        session, name = visit.dataset.session, visit.person.name
        last = before - 1 if before else _newest(session, name)
        first = max(0, last - _LISTED)
        found = history(session, name, first, last - first)
        return [*reversed(found)], first

    entries, earlier = await _read(http, visit, listed)
    return page(visit, "history.html", entries=entries, earlier=earlier)


@for_roles("analyst")
async def answer_again(http: HttpRequest, visit: Visit) -> Response:
    """Show an answer of the visitor's once more; nothing is charged, and no row is read."""
    number = question_number(http)

    def read() -> tuple[HistoryEntry, ShownAnswer]:
        session, name = visit.dataset.session, visit.person.name
        answer = read_again(session, name, number, "web")
        [entry] = history(session, name, number - 1, 1)
        return entry, shown_answer(answer, f"/history/{number}")

    entry, answer = await _read(http, visit, read)
    shown: dict[str, Any] = {"sql": entry.sql or "", "passed": entry.parameters, "answer": answer}
    return page(visit, "answer.html", number=number, **shown)


@for_roles("analyst")
async def download_again(http: HttpRequest, visit: Visit) -> Response:
    """Return an answer of the visitor's as a file, for free."""
    number, form = question_number(http), form_named(http)

    def read() -> bytes:
        answer = read_again(visit.dataset.session, visit.person.name, number, "web")
        return answer_bytes(answer, form, {"dataset": visit.dataset.name, "question": number})

    return download_reply(await _read(http, visit, read), form)


@for_roles(*EVERYBODY)
async def schema_page(http: HttpRequest, visit: Visit) -> Response:
    """Show what can be asked about, as the owner declares it, and what is known of units."""

    def read() -> tuple[Schema, dict[str, tuple[Profile, list[Markup]]]]:
        session = visit.dataset.session
        known = session.profiles.now()
        drawn = {name: (each, profile_charts(each)) for name, each in known.items()}
        return schema_of(session), drawn

    schema, profiles = await _read(http, visit, read)
    return page(visit, "schema.html", schema=schema, profiles=profiles)


@for_roles(*EVERYBODY)
async def budgets_page(http: HttpRequest, visit: Visit) -> Response:
    """Show what is left: to analysts of the accounts they are shown, to others of all."""
    shown = await _read(http, visit, lambda: shown_balances(visit.dataset, visit.person))
    return page(visit, "budgets.html", accounts=shown)


def _newest(session: Session, analyst: str) -> int:
    """Return how many questions an analyst has: they are numbered from 1 on."""

    def has_more_than(number: int) -> bool:
        return bool(session.ledger.questions.of(analyst, number, 1))

    low, high = 0, 1
    while has_more_than(high):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if has_more_than(middle) else (low, middle)
    return low


async def _read(http: HttpRequest, visit: Visit, act: Callable[[], T]) -> T:
    return await queued(http, visit.dataset, visit.person, act)
