"""The routes that ask several questions together, for one epsilon, and their answers in all forms."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.account import Person
from sanql.ask import (
    BatchRequest,
    Request,
    Session,
    ask_batch_with,
    explain_batch,
    spool_publicly,
)
from sanql.question import PublicQuery
from sanql.results import answer_from_dict
from sanql.server.datasets import Dataset
from sanql.server.http.bodies import read_batch_request
from sanql.server.http.exchange import json_reply, queued
from sanql.server.http.forms import (
    answer_bytes,
    answer_reply,
    batch_bytes,
    form_wanted,
    kept_bytes,
)
from sanql.server.http.once import asked_of, once_under_key


async def batch(http: HttpRequest) -> Response:
    """Answer several questions, measured together, and charge them once."""
    dataset, person, request = await _asked(http)
    form = form_wanted(http.headers.get("accept", ""))
    more = {"dataset": dataset.name}
    answered = partial(batch_answer, dataset, request, form, more)
    passed = [each.asked.parameters for each in request.requests]
    asked = request, repr(passed), form  # 1 and true are equal, and not the same
    content = await once_under_key(http, dataset, person, asked, answered)
    return answer_reply(content, form, more)


async def explain(http: HttpRequest) -> Response:
    """Say what a batch would cost, and what it is worth; nothing is read or spent."""
    dataset, person, request = await _asked(http)

    def explained() -> dict[str, Any]:
        explanation = explain_batch(dataset.session, request)
        return explanation.to_dict() | {"text": str(explanation), "dataset": dataset.name}

    return json_reply(await queued(http, dataset, person, explained))


def batch_answer(dataset: Dataset, request: BatchRequest, form: str, more: dict[str, Any]) -> bytes:
    """Return the answers to a batch in a form."""
    publicly = partial(_public_bytes, form, more)
    answers = ask_batch_with(dataset.session, request, publicly)
    written = [
        answer if isinstance(answer, bytes) else answer_bytes(answer, form, more)
        for answer in answers
    ]
    return batch_bytes(written, form, more)


def batch_in_form(shapes: list[dict[str, Any]], form: str) -> bytes:
    """Return answers that were kept as JSON in another form."""
    return batch_bytes(
        [answer_bytes(answer_from_dict(each), form, {}) for each in shapes], form, {}
    )


def _public_bytes(
    form: str, more: dict[str, Any], session: Session, request: Request, query: PublicQuery
) -> bytes:
    return kept_bytes(spool_publicly(session, request, query), more, form)


async def _asked(http: HttpRequest) -> tuple[Dataset, Person, BatchRequest]:
    return await asked_of(http, read_batch_request)
