"""The pages of analysts who ask: a question with its price, its progress, its answer.

Nothing is spent by looking: what spends is a form that is sent. What was typed stays on the page,
whatever becomes of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response

from sanql.ask import Request, explain_request, schema_of
from sanql.errors import SanqlError
from sanql.results import answer_from_dict
from sanql.server.http.asking import begun, kept_in_form, kept_question
from sanql.server.http.bodies import read_question_request
from sanql.server.http.exchange import json_reply, queued, service_of
from sanql.server.http.reading import shown_balances
from sanql.server.questions import KeptQuestion, unknown_question
from sanql.server.telling import told_to_analysts
from sanql.server.web.downloads import download_reply, form_named
from sanql.server.web.rendering import page, told
from sanql.server.web.shown_answers import ShownExplanation, shown_answer, shown_explanation
from sanql.server.web.typed import filled
from sanql.server.web.visits import Visit, for_roles

OPTIONS = (
    "epsilon",
    "accuracy",
    "confidence",
    "max_groups_contributed",
    "max_rows_contributed",
    "units_guessed",
    "rows_guessed",
    "even_if_empty",
    "null_group",
    "exact",
)
TYPED = ("sql", *OPTIONS)
_QUICK_SECONDS = 1.5
_NOTHING: dict[str, Any] = {
    "explained": None,
    "answer": None,
    "state": None,
    "problem": None,
    "left": None,
}


@for_roles("analyst")
async def ask_page(http: HttpRequest, visit: Visit) -> Response:
    """Show where a question is typed, and what is left."""
    return await _ask_page(http, visit, {})


@for_roles("analyst")
async def ask(http: HttpRequest, visit: Visit) -> Response:
    """Explain a question, or ask it: then its own page has the answer, which can be looked at again."""
    http.scope["sanql.telling"] = partial(_told, visit, visit.form, "ask.html")
    request = _request(visit)
    if visit.form.get("action") != "run":
        explained = await queued(
            http, visit.dataset, visit.person, partial(_explained, visit, request)
        )
        return await _ask_page(http, visit, visit.form, explained=explained)
    kept = begun(http, visit.dataset, visit.person, request)
    service_of(http).web_sessions.remember(kept.id, _typed(visit.form))
    await _settled(kept)
    return RedirectResponse(f"/questions/{kept.id}", 303)


@for_roles("analyst")
async def price(http: HttpRequest, visit: Visit) -> Response:
    """Return what a question would cost, as a part of a page, while it is being typed."""
    http.scope["sanql.telling"] = partial(_told, visit, visit.form, "parts/price.html")
    request = _request(visit)
    explained = await queued(http, visit.dataset, visit.person, partial(_explained, visit, request))
    return page(visit, "parts/price.html", **_NOTHING | {"explained": explained})


@for_roles("analyst")
async def words(http: HttpRequest, visit: Visit) -> Response:
    """List tables and their columns, for an editor that completes them."""

    def listed() -> dict[str, list[str]]:
        tables = schema_of(visit.dataset.session).tables
        return {table.name: [column.name for column in table.columns] for table in tables}

    return json_reply(await queued(http, visit.dataset, visit.person, listed))


@for_roles("analyst")
async def question(http: HttpRequest, visit: Visit) -> Response:
    """Show how far a question has come; its answer, or why there is none, once it has ended."""
    kept = kept_question(http, visit.caller)
    state, typed = kept.state, service_of(http).web_sessions.typed(kept.id)
    if state.error is not None:
        http.scope["sanql.telling"] = partial(_told, visit, typed, "ask.html")
        raise told_to_analysts(state.error)
    if state.answer is None:
        return await _ask_page(http, visit, typed, state={"id": kept.id, **_progress(kept)})
    answer = await asyncio.to_thread(_read_and_shown, state.answer, kept)
    return await _ask_page(http, visit, typed, answer=answer)


@for_roles("analyst")
async def question_progress(http: HttpRequest, visit: Visit) -> Response:
    """Say how far a question has come, for a page that waits for it."""
    return json_reply(_progress(kept_question(http, visit.caller)))


@for_roles("analyst")
async def download(http: HttpRequest, visit: Visit) -> Response:
    """Return an answer as a file; it was paid for when it was asked."""
    kept, form = kept_question(http, visit.caller), form_named(http)
    answer = kept.state.answer
    if answer is None:
        return RedirectResponse(f"/questions/{kept.id}", 303)
    return download_reply(await asyncio.to_thread(kept_in_form, answer, form), form)


@for_roles("analyst")
async def cancel(http: HttpRequest, visit: Visit) -> Response:
    """End a question; what it was charged stays."""
    kept = kept_question(http, visit.caller)
    kept.cancel()
    await _settled(kept)
    return RedirectResponse(f"/questions/{kept.id}", 303)


async def _settled(kept: KeptQuestion) -> None:
    """Wait a moment for a question to end, so that most need no page that waits."""
    waiting = asyncio.wrap_future(kept.future)
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asyncio.wait([waiting], timeout=_QUICK_SECONDS)


def _request(visit: Visit) -> Request:
    """Return the request that a form describes, asked by whoever is signed in."""
    body: dict[str, Any] = {"sql": visit.form.get("sql", ""), **filled(visit.form, *OPTIONS)}
    return read_question_request(body, visit.person.name, None, "web")


def _explained(visit: Visit, request: Request) -> ShownExplanation:
    return shown_explanation(explain_request(visit.dataset.session, request))


def _read_and_shown(answer: bytes, kept: KeptQuestion) -> object:
    shape = json.loads(answer)
    if "answers" in shape:  # a batch, which was asked through another door, has no page
        raise unknown_question(kept.id)
    return shown_answer(answer_from_dict(shape), f"/questions/{kept.id}")


def _progress(kept: KeptQuestion) -> dict[str, str]:
    state = kept.state
    return {"status": state.status, "progress": state.progress or state.status}


async def _ask_page(
    http: HttpRequest, visit: Visit, typed: Mapping[str, str], **shown: Any
) -> Response:
    counted = partial(shown_balances, visit.dataset, visit.person)
    left = await queued(http, visit.dataset, visit.person, counted)
    return page(visit, "ask.html", **_NOTHING | {"typed": _typed(typed), "left": left} | shown)


def _told(
    visit: Visit, typed: Mapping[str, str], template: str, error: SanqlError
) -> tuple[int, dict[str, str], bytes]:
    """Return the page again with what was typed and what is wrong with it."""
    return told(visit, template, error, **_NOTHING | {"typed": _typed(typed)})


def _typed(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: fields.get(name, "") for name in TYPED}
